// Comments in plain HTML, without a framework. The page is the same for all readers, so a cache may
// keep it; the widget asks who is signed in.
import { createServer } from 'node:http'

import { nodeHandler } from '../../dist/clients/backend/backend.js'
import { engagement, headersOf, port, renderPage } from './site.mjs'

const serve = nodeHandler(engagement)

async function answer({ url, headers }, response) {
  const { pathname, searchParams } = new URL(url, 'http://site')
  if (pathname === '/login') {
    response.writeHead(303, { location: '/', 'set-cookie': 'reader=ann; Path=/; HttpOnly; SameSite=Lax' }).end()
  } else if (pathname === '/') {
    const rendered = await renderPage({ cursor: searchParams.get('comments') })
    const isKnown = rendered.etag !== null && headers['if-none-match'] === rendered.etag
    response.writeHead(isKnown ? 304 : 200, headersOf(rendered, 'public, max-age=0, s-maxage=5'))
    response.end(isKnown ? undefined : rendered.page)
  } else {
    response.writeHead(404).end()
  }
}

createServer((request, response) => {
  serve(request, response, () => {
    answer(request, response).catch(() => response.destroy())
  })
}).listen(port, '127.0.0.1', () => console.log(`http://127.0.0.1:${port}/`))
