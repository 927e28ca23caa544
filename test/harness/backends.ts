import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'

import express from 'express'
import Fastify, { type FastifyRequest } from 'fastify'

import {
  type Backend,
  type BackendOptions,
  createBackend,
  fastifyPlugin,
  nodeHandler,
  type Page,
  type SignedInReader,
} from '../../src/clients/backend/backend.ts'
import { freePort } from './ports.ts'
import type { TestResponse, TestService } from './service.ts'

/** A publisher's site with the backend mounted. Its sessions are cookies that name the reader. */
export interface BackendSite {
  url: string
  /** Asks as a page of the site does: a write brings the header of writes. */
  ask(method: string, path: string, options?: AskOptions): Promise<TestResponse>
  close(): Promise<void>
}

interface AskOptions {
  /** Who is signed in. */
  as?: string
  body?: unknown
  headers?: Record<string, string>
}

type Options = Partial<Omit<BackendOptions<unknown>, 'reader' | 'isPage'>> & {
  isPage?: (externalId: string) => boolean | Page | undefined
}

/** The readers of the site's own user table. */
const READERS: Record<string, SignedInReader> = {
  ann: { id: 'ann', name: 'Ann', avatarUrl: 'https://www.example.com/ann.png' },
  bob: { id: 'bob', name: 'Bob', profileUrl: '/users/bob' },
  long: { id: 'long', name: `${'n'.repeat(79)}🙂`, avatarUrl: 'http://www.example.com/long.png' },
}

function readerOf(cookie: string | undefined | null): SignedInReader | null {
  const name = /reader=(\w+)/.exec(cookie ?? '')?.[1] ?? ''
  if (name === 'broken') throw new Error('the session store is down')
  if (name === 'nameless') return { id: '' }
  return READERS[name] ?? null
}

const optionsFor = (service: TestService, options: Options) => ({
  url: service.url,
  apiKey: service.apiKey,
  tenant: service.tenant.slug,
  identitySecret: service.identitySecret.secret,
  onError: () => undefined,
  ...options,
})

/** The backend as a fetch handler, without a server. */
export function fetchSite(service: TestService, options: Options = {}): BackendSite & { backend: Backend<Request> } {
  const backend = createBackend({
    ...optionsFor(service, options),
    reader: ({ headers }) => readerOf(headers.get('cookie')),
  })
  const url = 'https://www.example.com'
  return {
    backend,
    url,
    ask: asker(url, (address, init) => backend.fetch(new Request(address, init))),
    close: async () => undefined,
  }
}

const nodeSite = (service: TestService, options: Options = {}): Promise<BackendSite> =>
  listen(
    nodeHandler(
      createBackend({
        ...optionsFor(service, options),
        reader: ({ headers }: IncomingMessage) => readerOf(headers.cookie),
      }),
    ),
  )

/**
 * Express as it is mostly set up: a JSON parser in front, other routes behind, mounted at a path.
 */
function expressSite(service: TestService, options: Options = {}): Promise<BackendSite> {
  const app = express()
  app.use((_request, response, next) => {
    response.vary('Origin')
    next()
  })
  app.use(express.json())
  const backend = createBackend({
    ...optionsFor(service, options),
    reader: (request: express.Request) => readerOf(request.get('cookie')),
  })
  app.use('/engagement', nodeHandler(backend))
  app.use((_request, response) => void response.status(404).send('the site'))
  return listen(app as RequestListener)
}

async function fastifySite(service: TestService, options: Options = {}): Promise<BackendSite> {
  const fastify = Fastify({ forceCloseConnections: true })
  fastify.addHook('onRequest', async (_request, reply) => void reply.header('vary', 'Origin'))
  const backend = createBackend({
    ...optionsFor(service, options),
    reader: ({ headers }: FastifyRequest) => readerOf(headers.cookie),
  })
  await fastify.register(fastifyPlugin(backend))
  fastify.post('/elsewhere', (request, reply) => reply.send(request.body))
  const url = await fastify.listen({ host: '127.0.0.1', port: await freePort() })
  return { url, ask: asker(url, fetch), close: async () => fastify.close() }
}

/** Every way to mount it. */
export const SITES = {
  fetch: async (service: TestService, options?: Options): Promise<BackendSite> => fetchSite(service, options),
  node: nodeSite,
  express: expressSite,
  fastify: fastifySite,
}

async function listen(listener: RequestListener): Promise<BackendSite> {
  const server = createServer(listener)
  const url = await open(server)
  return { url, ask: asker(url, fetch), close: () => shut(server) }
}

export async function open(server: Server): Promise<string> {
  const port = await freePort()
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return `http://127.0.0.1:${port}`
}

export async function shut(server: Server): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve))
  server.closeAllConnections()
  await closed
}

function asker(url: string, send: (address: string, init: RequestInit) => Promise<Response>): BackendSite['ask'] {
  return async (method, path, { as, body, headers = {} } = {}) => {
    const response = await send(`${url}/engagement${path}`, {
      method,
      headers: {
        ...(as === undefined ? {} : { cookie: `theme=dark; reader=${as}` }),
        ...(method === 'GET' ? {} : { 'x-requested-with': 'engagement' }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    const isJson = /json/.test(response.headers.get('content-type') ?? '')
    return { status: response.status, headers: response.headers, text, json: isJson ? JSON.parse(text) : undefined }
  }
}

/** The parameter of a page, and further ones. */
export const at = (externalId: string, query = ''): string => `?externalId=${encodeURIComponent(externalId)}${query}`

/** Every write of a page and of a comment. */
export const writesOf = (page: string, id: string): [method: string, path: string, body?: object][] => [
  ['POST', `/comments${at(page)}`, { body: 'Hello' }],
  ['PATCH', `/comments/${id}`, { body: 'Hello again' }],
  ['PUT', `/comments/${id}/reaction`, { type: 'like' }],
  ['POST', `/comments/${id}/report`, { reason: 'spam' }],
  ['DELETE', `/comments/${id}/reaction`],
  ['DELETE', `/comments/${id}`],
]
