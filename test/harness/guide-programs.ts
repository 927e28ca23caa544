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

/**
 * How each program of the guides is run, by its place: its page, and its number among the page's
 * blocks in a programming language. Null is not run.
 */
export const PROGRAMS: Readonly<Record<string, Program | null>> = {
  'backend:1': {
    before: `const app = express()
const articles = new Map([['article-1', {}]])
app.use((request, _response, next) => {
  request.user = { id: 7, name: 'Ann', picture: 'https://www.example.com/ann.png' }
  next()
})`,
    after: LISTEN,
  },
  'graphql:1': { before: `const { BASE, KEY, ID } = process.env`, after: '' },
  'stream:1': { before: `${EXPRESS}\nconst { BASE } = process.env`, after: LISTEN },
  'stream:2': { before: PAGE, after: '' },
  'stream:3': {
    before: `${PAGE}\nconst { streamUrl } = await (await fetch('/comments/article-1/ticket', { method: 'POST' })).json()`,
    after: '',
  },
  'webhooks:1': {
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
  'webhooks:2': {
    before: '',
    after: `import json, sys
print(json.dumps([is_genuine(each["headers"], each["body"].encode(), each["secrets"]) for each in json.load(sys.stdin)]))`,
  },
  // Needs Go, which is not installed where the tests run.
  'webhooks:3': null,
  'widget:1': { before: '', after: '' },
  // They need the widget in a browser: test/browser/widget-pages does what they do.
  'widget:2': null,
  'widget:3': null,
}

/** The declarations that the guides assume, for the compiler. */
export const GLOBALS = `import type { Express } from 'express'
import type { FastifyInstance } from 'fastify'
import type { Comment } from 'engagement-service/client'

declare global {
  const app: Express
  const fastify: FastifyInstance
  const express: typeof import('express')
  const articles: Map<string, { title: string }>
  const BASE: string
  const KEY: string
  const ID: string
  const secrets: string[]
  const streamUrl: string
  const page: { lastEventId?: string }
  const badge: Element
  function show(comment: Comment): void
  function reloadPage(): Promise<{ lastEventId: string }>
  function reloadThePage(): void
  function openWithNewTicket(): void
  function openLogin(): Promise<void>
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
