// The publisher's own subgraph: articles, whose comments the Engagement Service has.
import { createServer } from 'node:http'
import { json } from 'node:stream/consumers'

import { buildSchema, graphql } from 'graphql'

// It names a discussion and a reader by the keys that it has, and resolves nothing of them.
export const TYPES = `
  type Query {
    articles: [Article!]!
  }

  type Article {
    path: String!
    title: String!
    author: Reader
    discussion: Discussion
  }

  type Discussion @key(fields: "externalId", resolvable: false) {
    externalId: String!
  }

  type Reader @key(fields: "externalId", resolvable: false) {
    externalId: String!
  }
`
const FEDERATION = 'directive @key(fields: String!, resolvable: Boolean) repeatable on OBJECT'

const ARTICLES = [
  { path: 'article-1', title: 'The first', author: 'reader-1' },
  { path: 'article-2', title: 'The second', author: 'reader-2' },
  { path: 'never-commented', title: 'The third', author: 'reader-nobody-knows' },
]

const articles = ARTICLES.map(({ path, title, author }) => ({
  path,
  title,
  author: { externalId: author },
  discussion: { externalId: path },
}))

/** Serves the subgraph. */
export function serveArticles(port) {
  const schema = buildSchema(`${FEDERATION} ${TYPES}`)
  const server = createServer(async (request, response) => {
    const { query, variables } = await json(request)
    const result = await graphql({ schema, source: query, variableValues: variables, rootValue: { articles } })
    response.setHeader('content-type', 'application/json').end(JSON.stringify(result))
  })
  return server.listen(port, '127.0.0.1')
}
