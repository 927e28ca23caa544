// Comments in the HTML of an Express site.
import express from 'express'

import { nodeHandler } from '../../dist/clients/backend/backend.js'
import { engagement, headersOf, port, renderPage } from './site.mjs'

const app = express()
app.use(nodeHandler(engagement))
app.get('/', async (request, response) => {
  const { comments: cursor } = request.query
  const rendered = await renderPage({ request, cursor: typeof cursor === 'string' ? cursor : null })
  // Express answers 304 by the ETag.
  response.set(headersOf(rendered, 'private, no-cache')).send(rendered.page)
})
app.get('/login', (_request, response) => {
  response.cookie('reader', 'ann', { httpOnly: true, sameSite: 'lax' }).redirect('/')
})
app.listen(port, '127.0.0.1', () => console.log(`http://127.0.0.1:${port}/`))
