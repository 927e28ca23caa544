/** The surroundings that a guide assumes for a program. */
interface Program {
  before: string
  after: string
}

const EXPRESS = `import express from 'express'\nconst app = express()`
const LISTEN = 'app.listen(process.env.PORT)'

/** What a page has in a browser, and what the publisher's own code does. */
const PAGE = `import { EventSource } from 'eventsource'
const { SITE } = process.env
const overNetwork = globalThis.fetch
const visible = Object.assign(new EventTarget(), { baseURI: SITE, visibilityState: 'visible' })
const fetch = (path, options) => overNetwork(new URL(path, SITE), options)
Object.assign(globalThis, { EventSource, window: new EventTarget(), document: visible })
const page = { lastEventId: '0' }
const badge = { toggleAttribute: () => undefined }
const show = ({ body }) => {
  console.log(body)
  process.exit()
}`

const BACKEND = `import { createBackend } from 'engagement-service/backend'
const { ENGAGEMENT_URL: url, ENGAGEMENT_API_KEY: apiKey, ENGAGEMENT_TENANT: tenant } = process.env
const identitySecret = process.env.ENGAGEMENT_IDENTITY_SECRET
const engagement = createBackend({ url, apiKey, tenant, identitySecret, reader: () => ({ id: 'ann', name: 'Ann' }) })`

/** A page that follows several discussions: its backend mints the tickets. */
const SEVERAL = `import { EventSource } from 'eventsource'
const { BASE, KEY, ID } = process.env
const overNetwork = globalThis.fetch
const fetch = () => {
  const headers = { 'X-API-Key': KEY, 'Content-Type': 'application/json' }
  const body = JSON.stringify({ externalIds: ['article-1'] })
  return overNetwork(BASE + '/api/v1/stream/ticket', { method: 'POST', headers, body })
}
const visible = Object.assign(new EventTarget(), { baseURI: BASE, visibilityState: 'visible' })
Object.assign(globalThis, { EventSource, window: new EventTarget(), document: visible })
const discussion = { id: ID, lastEventId: '0' }
const count = (id) => {
  console.log(id)
  process.exit()
}`

/** A page's fetch: paths are those of its site. */
const TOKENS = `const { SITE } = process.env
const overNetwork = globalThis.fetch
globalThis.fetch = (path, options) => overNetwork(new URL(path, SITE), options)
const badge = { toggleAttribute: () => undefined }`

/**
 * How each program of the guides is run, by its place: its page, and its number among the page's
 * blocks in a programming language. Null is not run.
 */
export const PROGRAMS: Readonly<Record<string, Program | null>> = {
  // That of backend:1, shorter.
  '../../README:1': null,
  'backend:1': {
    before: `const app = express()
const articles = new Map([['article-1', {}]])
app.use((request, _response, next) => {
  request.user = { id: 7, name: 'Ann', picture: 'https://www.example.com/ann.png' }
  next()
})`,
    after: LISTEN,
  },
  // The sites of examples/server-rendered do the same, and are run.
  'rendering:1': null,
  // Clients of GraphQL in a page. The compiler checks them, also those with a framework.
  'graphql/client:1': {
    before: `${EXPRESS}\n${BACKEND}\nconst articles = new Map([['article-1', {}]])`,
    after: LISTEN,
  },
  // The configuration of a site's Vite.
  'graphql/client:2': null,
  // The module `token.js`, which the programs that follow import.
  'graphql/client:3': null,
  'graphql/client:4': { before: TOKENS, after: 'console.log(JSON.stringify({ data, errors }))' },
  'graphql/site:1': {
    before: `const overNetwork = globalThis.fetch
globalThis.fetch = (path, options) => {
  options.headers.set('Origin', 'https://www.example.com')
  return overNetwork(path, options)
}`,
    after: 'console.log(JSON.stringify(data))',
  },
  'graphql/subscriptions:1': {
    before: `${TOKENS}\nconst page = { id: process.env.ID, lastEventId: '0' }`,
    after: '',
  },
  'graphql/subscriptions:2': { before: `const { BASE, KEY, ID } = process.env`, after: '' },
  'graphql/apollo:1': null,
  'graphql/apollo:2': null,
  'graphql/apollo:3': null,
  'graphql/apollo:4': null,
  'graphql/apollo:5': null,
  'graphql/apollo:6': null,
  'graphql/errors:1': null,
  'graphql/urql:1': null,
  'graphql/urql:2': null,
  'graphql/urql:3': null,
  'graphql/urql:4': null,
  'graphql/native:1': null,
  'graphql/relay:1': null,
  'graphql/relay:2': null,
  'graphql/relay:3': null,
  'graphql/relay:4': null,
  'graphql/relay:5': null,
  'graphql/relay:6': null,
  // test/docs/codegen runs them.
  'graphql/codegen:1': null,
  'graphql/codegen:2': null,
  'graphql/codegen:3': null,
  'stream:1': { before: `${EXPRESS}\nconst { BASE } = process.env`, after: LISTEN },
  'stream:2': { before: PAGE, after: '' },
  'stream:3': {
    before: `${PAGE}
const user = null
// The guide follows from now on, this one from the first event on.
const ticket = async () => {
  const answer = await fetch('/comments/article-1/ticket', { method: 'POST' })
  return { ...(await answer.json()), lastEventId: '0' }
}
const onEvent = (event) => event.type === 'comment_created' && show(event.data.comment)
const onReload = undefined`,
    after: '',
  },
  'stream:4': {
    before: `${PAGE}\nconst { streamUrl } = await (await fetch('/comments/article-1/ticket', { method: 'POST' })).json()`,
    after: '',
  },
  'stream:5': { before: SEVERAL, after: '' },
  'stream:6': {
    before: `${SEVERAL}\nconst ticket = await (await fetch()).json()`,
    after: `source.addEventListener('connected', () => count(ID))`,
  },
  'webhook-signatures:1': {
    before: `${EXPRESS}
import Fastify from 'fastify'
import { createServer } from 'node:http'
const fastify = Fastify()
const { PORT, SECRET } = process.env
const secrets = [SECRET]`,
    after: `${LISTEN}
await fastify.listen({ port: Number(PORT) + 1 })
createServer(async (request, response) => {
  const body = Buffer.concat(await request.toArray())
  const answer = await POST(new Request('http://site', { method: 'POST', headers: request.headers, body }))
  response.writeHead(answer.status).end(await answer.text())
}).listen(Number(PORT) + 2)`,
  },
  'webhook-signatures:2': {
    before: '',
    after: `import json, sys
print(json.dumps([is_genuine(each["headers"], each["body"].encode(), each["secrets"]) for each in json.load(sys.stdin)]))`,
  },
  // Needs Go, which is not installed where the tests run.
  'webhook-signatures:3': null,
  'widget:1': { before: '', after: '' },
  'issuer-for-development:1': { before: '', after: '' },
  // They need accounts at issuers. test/browser/widget-site signs in at an issuer of its own.
  'issuers:1': null,
  'issuers:2': null,
  'issuers:3': null,
  'issuers:4': null,
  'issuers:5': null,
  // They need the widget in a browser: test/browser/widget-refusals replaces `sign-in`, and
  // test/unit/widget-languages adds texts.
  'widget-options:1': null,
  'widget-options:2': null,
  // test/browser/components shows what they do, and test/cluster/packages what is installed.
  'react:1': null,
  'react:2': null,
  'react:3': null,
  'react:4': null,
  'react:5': null,
  'vue:1': null,
  'vue:2': null,
  'vue:3': null,
  'vue:4': null,
  'react:6': null,
  // Files of examples/nextjs, which test/browser/framework-sites runs.
  'nextjs:1': null,
  'nextjs:2': null,
  'nextjs:3': null,
}

/** The declarations that the guides assume, for the compiler. */
export const GLOBALS = `import type { Express } from 'express'
import type { FastifyInstance } from 'fastify'
import type { Backend } from 'engagement-service/backend'
import type { Comment, StreamEvent, StreamTicket } from 'engagement-service/client'

declare global {
  const app: Express
  const fastify: FastifyInstance
  const express: typeof import('express')
  const articles: Map<string, { id: string; title: string; url: string; author: string; date: string }>
  const BASE: string
  const KEY: string
  const ID: string
  const engagement: Backend<import('express').Request>
  function pageOf(article: object, thread: { html: string; head: string }): string
  const secrets: string[]
  const streamUrl: string
  const user: { id: string } | null
  const discussion: { id: string; lastEventId: string }
  const ticket: (() => Promise<StreamTicket>) & { streamUrl: string; lastEventId: string }
  const onEvent: (event: StreamEvent) => unknown
  const onReload: () => Promise<string>
  function count(discussionId: string): void
  function remove(discussionId: string): void
  function reloadDiscussion(id: string): Promise<string>
  function reloadDiscussions(ids: string[]): Promise<Record<string, string>>
  const page: { id: string; lastEventId?: string }
  const badge: Element
  function show(comment: Comment): void
  function reloadPage(): Promise<{ lastEventId: string }>
  function reloadThePage(): void
  function openWithNewTicket(): void
  function openLogin(): Promise<void>
  /** Of a site: the widget, and what the issuers' libraries have. */
  const thread: Element & {
    reload(): void
    setIdentity(identity: (isRefused: boolean) => Token | Promise<Token>): void
  }
  type Token = string | null | undefined
  const supabase: any
  const clerk: any
  interface WindowEventMap {
    'engagement-sign-in': Event & { target: { reload(): Promise<void> } }
  }
}
declare module 'http' {
  interface IncomingMessage {
    user?: { id: number; name: string; picture: string }
  }
}
`

/** What a site's own build has, for the compiler. */
export const MODULES = `declare module '*.json'
// Of the issuers.
declare module '@auth0/auth0-spa-js' {
  export const createAuth0Client: (options: object) => Promise<any>
}
declare module 'firebase/auth' {
  type User = { getIdToken(forceRefresh?: boolean): Promise<string> }
  export const getAuth: () => object
  export const onAuthStateChanged: (auth: object, next: (user: User | null) => void) => unknown
}
declare module 'keycloak-js' {
  export default class Keycloak {
    constructor(options: object)
    readonly authenticated?: boolean
    readonly idToken?: string
    init(options: object): Promise<boolean>
    updateToken(minValidity: number): Promise<boolean>
  }
}
// What Relay's compiler makes.
declare module '*.graphql' {
  export type Comments_comment$key = any
  export type Comments_discussion$key = any
  export type CommentsCreateMutation = any
  export type CommentsEventsSubscription = any
  export type CommentsLikeMutation = any
  export type CommentsPageQuery = any
  export type CommentsPaginationQuery = any
  export type CommentsRepliesQuery = any
}
declare module '*/Comments' {
  export const PAGE_QUERY: import('relay-runtime').GraphQLTaggedNode
}
declare module '@rolldown/plugin-babel' {
  export default function babel(options: { plugins: string[] }): import('vite').Plugin
}
declare module 'expo/fetch' {
  export const fetch: typeof globalThis.fetch
}
declare module '@graphql-codegen/cli' {
  export type CodegenConfig = object
}
declare module '@graphql-codegen/client-preset' {
  export const addTypenameSelectionDocumentTransform: object
}
// The hooks that the guide has of it.
declare module 'urql' {
  import type { AnyVariables, CombinedError, OperationContext, OperationResult, TypedDocumentNode } from '@urql/core'
  type State<Data> = { data?: Data; error?: CombinedError; fetching: boolean }
  type Asked<Data, Variables> = { query: TypedDocumentNode<Data, Variables>; variables: Variables; pause?: boolean }
  export function useQuery<Data, Variables extends AnyVariables>(asked: Asked<Data, Variables>): [State<Data>]
  export function useSubscription<Data, Variables extends AnyVariables>(asked: Asked<Data, Variables>): [State<Data>]
  export function useMutation<Data, Variables extends AnyVariables>(
    document: TypedDocumentNode<Data, Variables>,
  ): [
    State<Data>,
    (variables: Variables, context?: Partial<OperationContext>) => Promise<OperationResult<Data, Variables>>,
  ]
}
declare module '@urql/exchange-persisted' {
  export function persistedExchange(options: object): import('@urql/core').Exchange
}
// Of a site of Next.js.
declare module 'next/headers' {
  export const headers: () => Promise<Headers>
}
declare module 'next/navigation' {
  export function notFound(): never
}
declare module 'next/server' {
  export const connection: () => Promise<void>
}
declare module '*/articles' {
  type Article = { id: string; title: string; author: { name: string }; datePublished: string; text: string }
  export const articles: Article[]
}
declare module '*/engagement' {
  export const service: () => string
  export const engagement: () => import('engagement-service/backend').Backend<Request>
}
declare module '*/login' {
  export function openLogin(): Promise<void>
}
declare module '*/token.js' {
  export function token(externalId: string): Promise<{ token: string; expiresAt: string }>
}
declare module '*/run' {
  export function idOf(document: object): string
}
declare module '@apollo/persisted-query-lists' {
  import type { DocumentNode } from 'graphql'
  export function generatePersistedQueryIdsFromManifest(options: { loadManifest: () => Promise<unknown> }): {
    generateHash: (document: DocumentNode) => Promise<string>
  }
}
`
