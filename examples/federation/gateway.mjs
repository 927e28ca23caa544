// One graph of two subgraphs: the publisher's articles, and the comments of the Engagement Service.
import { createServer } from 'node:http'
import { json } from 'node:stream/consumers'

import { ApolloGateway, RemoteGraphQLDataSource } from '@apollo/gateway'
import { composeServices } from '@theguild/federation-composition'
import { parse } from 'graphql'

import { serveArticles, TYPES } from './articles.mjs'

const { BASE, ENGAGEMENT_API_KEY: API_KEY, GATEWAY_PORT = 4002, ARTICLES_PORT = 4001 } = process.env

serveArticles(ARTICLES_PORT)

const LINK = 'extend schema @link(url: "https://specs.apollo.dev/federation/v2.0", import: ["@key"])'

/** The schema of both. */
async function compose() {
  const answer = await fetch(`${BASE}/graphql/sdl`, { headers: { 'X-API-Key': API_KEY } })
  if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`)
  const { supergraphSdl, errors } = composeServices([
    { name: 'engagement', url: `${BASE}/graphql`, typeDefs: parse(await answer.text()) },
    { name: 'articles', url: `http://127.0.0.1:${ARTICLES_PORT}`, typeDefs: parse(LINK + TYPES) },
  ])
  if (errors) throw new Error(errors.map(({ message }) => message).join('\n'))
  return supergraphSdl
}

/** The gateway has the key; the identity of the reader comes with each request. */
class Engagement extends RemoteGraphQLDataSource {
  willSendRequest({ request, context }) {
    request.http.headers.set('X-API-Key', API_KEY)
    if (context.identity) request.http.headers.set('X-Service-Identity', context.identity)
  }
}

const gateway = new ApolloGateway({
  supergraphSdl: await compose(),
  buildService: ({ name, url }) =>
    name === 'engagement' ? new Engagement({ url }) : new RemoteGraphQLDataSource({ url }),
})
const { schema, executor } = await gateway.load()

async function answer(request) {
  const { query, variables, operationName } = await json(request)
  return executor({
    schema,
    document: parse(query),
    request: { query, variables, operationName },
    operationName,
    queryHash: query,
    // Your backend signs it for the reader who is signed in.
    context: { identity: request.headers['x-service-identity'] },
    logger: console,
    metrics: {},
  })
}

createServer((request, response) => {
  answer(request)
    .catch((error) => ({ errors: [{ message: error.message }] }))
    .then((result) => response.setHeader('content-type', 'application/json').end(JSON.stringify(result)))
}).listen(GATEWAY_PORT, '127.0.0.1', () => console.log(`The graph is at http://127.0.0.1:${GATEWAY_PORT}`))
