import { promisify } from 'node:util'
import { gzip } from 'node:zlib'

import type { FastifyReply, FastifyRequest } from 'fastify'

import { type Asset, assetOf, sendAsset } from './assets.ts'

/**
 * GraphiQL's first content: a page of comments. It also tells which pages there are. At a width of
 * 1280 pixels its editor shows some 30 characters of a line.
 */
const FIRST_QUERY = `# 1. Put an API key into the
#    Headers below. An admin
#    has "Authorization":
#    "Bearer <a login token>"
#    A reader also needs
#    "X-Service-Identity":
#    "<a signed JWT>"
# 2. Name one of your pages.
#    Run it by Ctrl-Enter.

query Page {
  discussion(by: { externalId: "article-1" }) {
    id
    title
    state
    commentCount
    lastEventId
    comments(first: 5, sort: newest) {
      nodes {
        id
        author {
          name
        }
        bodyHtml
        createdAt
        replyCount
        reactionGroups {
          type
          count
        }
      }
      pageInfo {
        hasNextPage
        endCursor
      }
    }
  }
  discussions(first: 10) {
    nodes {
      externalId
      commentCount
    }
  }
}
`

// The explorer focuses each input that it makes, and its pane would open at the last one. From the
// first key or click on it may.
const CALM = `<script>
{
  const { focus } = HTMLElement.prototype
  HTMLElement.prototype.focus = function (...options) {
    if (this.closest('.graphiql-explorer-root') === null) focus.apply(this, options)
  }
  for (const name of ['keydown', 'pointerdown'])
    addEventListener(name, () => (HTMLElement.prototype.focus = focus), { once: true, capture: true })
}
</script>`

const HEADERS = {
  'content-security-policy': "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
}

/** Answers with the page of GraphiQL. */
export function serveGraphiQL(): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> {
  let page: Promise<Asset> | undefined
  return async (request, reply) => {
    page ??= makePage().catch((error: unknown) => {
      page = undefined
      throw error
    })
    return sendAsset(request, reply, await page)
  }
}

const compress: (bytes: Buffer) => Promise<Buffer> = promisify(gzip)

/** Without third parties, unlike Yoga's own page. 9 MB, loaded only by a process that shows it. */
async function makePage(): Promise<Asset> {
  const { renderGraphiQL } = await import('@graphql-yoga/render-graphiql')
  const options = {
    title: 'Engagement Service',
    defaultQuery: FIRST_QUERY,
    subscriptionsProtocol: 'SSE' as const,
    // Subscriptions would come by GET.
    method: 'POST' as const,
    defaultEditorToolsVisibility: 'headers' as const,
    headers: JSON.stringify({ 'X-API-Key': '' }, null, 2),
    // A property of GraphiQL itself that the types of Yoga's page lack: the explorer of fields is
    // open until a person closes it.
    visiblePlugin: 'GraphiQL Explorer',
  }
  const page = renderGraphiQL(options).replace('<head>', () => `<head>${CALM}`)
  // Each browser takes gzip.
  const bytes = await compress(Buffer.from(page))
  return assetOf('text/html; charset=utf-8', bytes, { ...HEADERS, 'content-encoding': 'gzip' })
}
