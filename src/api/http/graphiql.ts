import { promisify } from 'node:util'
import { gzip } from 'node:zlib'

import type { FastifyReply, FastifyRequest } from 'fastify'

import { type Asset, assetOf, sendAsset } from './assets.ts'

/** GraphiQL's first content. It works without any discussions. */
const FIRST_QUERY = `# 1. Put an API key into the Headers below.
#    (An admin: "Authorization": "Bearer ...")
#    What a reader does needs "X-Service-Identity" too.
# 2. Run this query with Ctrl-Enter.

query Discussions {
  discussions(first: 10) {
    nodes {
      id
      externalId
      title
      state
      commentCount
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
`

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
  const page = renderGraphiQL({
    title: 'Engagement Service',
    defaultQuery: FIRST_QUERY,
    subscriptionsProtocol: 'SSE',
    // Subscriptions would come by GET.
    method: 'POST',
    defaultEditorToolsVisibility: 'headers',
    headers: JSON.stringify({ 'X-API-Key': '' }, null, 2),
  })
  // Each browser takes gzip.
  const bytes = await compress(Buffer.from(page))
  return assetOf('text/html; charset=utf-8', bytes, { ...HEADERS, 'content-encoding': 'gzip' })
}
