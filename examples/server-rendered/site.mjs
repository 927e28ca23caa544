// What the sites of this folder have in common: one article, its readers, and its page.
import { createHash } from 'node:crypto'

// A site of its own installs the package: `import … from 'engagement-service/backend'`.
import { createBackend } from '../../dist/clients/backend/backend.js'

const {
  ENGAGEMENT_URL: url,
  ENGAGEMENT_API_KEY: apiKey,
  ENGAGEMENT_TENANT: tenant = 'demo',
  ENGAGEMENT_IDENTITY_SECRET: identitySecret,
  SITE_PORT = '3000',
} = process.env

export const port = Number(SITE_PORT)

/** The site's own user table. */
const readers = { ann: { id: 'ann', name: 'Ann Okafor' }, bob: { id: 'bob', name: 'Bob Lindqvist' } }

const article = {
  id: 'night-trains',
  title: 'The night train is back',
  url: `http://localhost:${port}/`,
  author: { name: 'Eva Lund' },
  datePublished: '2026-11-20T06:00:00Z',
  text: 'At 21:47 the platform is quiet, and then it is not.',
}

export const engagement = createBackend({
  url,
  apiKey,
  tenant,
  identitySecret,
  // By your own session.
  reader: ({ headers }) => readers[/reader=(ann|bob)/.exec(headers.cookie ?? '')?.[1]],
  isPage: (id) => id === article.id && article,
})

/**
 * The whole page, and its ETag if it may be kept. With `request`, it is that of its reader, signed
 * in or not; without, the page is the same for all. `cursor` is of a reader without JavaScript.
 */
export async function renderPage({ request, cursor }) {
  const { html, head, etag } = await engagement.renderThread({
    externalId: article.id,
    page: article,
    request,
    cursor,
    hrefOf: (next) => `/?comments=${encodeURIComponent(next)}`,
    attributes: { 'sign-in': '/login' },
  })
  const page = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width">
    <title>${article.title}</title>
    <script type="module" src="${url}/widget.js"></script>
    ${head}
  </head>
  <body>
    <h1>${article.title}</h1>
    <p>${article.text}</p>
    ${html}
  </body>
</html>
`
  // Null while the service does not answer: then nobody keeps the page.
  return { page, etag: etag && `"${createHash('sha256').update(page).digest('base64url')}"` }
}

/** The headers of a page: with an ETag a cache may keep it, and asks whether it has changed. */
export const headersOf = ({ etag }, cacheControl) => ({
  'content-type': 'text/html; charset=utf-8',
  ...(etag ? { etag, 'cache-control': cacheControl } : { 'cache-control': 'no-store' }),
})
