// Comments in the HTML of a Fastify site.
import Fastify from 'fastify'

import { fastifyPlugin } from '../../dist/clients/backend/backend.js'
import { engagement, headersOf, port, renderPage } from './site.mjs'

const site = Fastify()
await site.register(fastifyPlugin(engagement))
site.get('/', async (request, reply) => {
  const { comments: cursor } = request.query
  const rendered = await renderPage({ request, cursor: typeof cursor === 'string' ? cursor : null })
  reply.headers(headersOf(rendered, 'private, no-cache'))
  const isKnown = rendered.etag !== null && request.headers['if-none-match'] === rendered.etag
  return isKnown ? reply.code(304).send() : rendered.page
})
site.get('/login', (_request, reply) =>
  reply.header('set-cookie', 'reader=ann; Path=/; HttpOnly; SameSite=Lax').redirect('/'),
)
console.log(await site.listen({ port, host: '127.0.0.1' }))
