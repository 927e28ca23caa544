import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { GraphQLError } from 'graphql'
import { createYoga, type Plugin } from 'graphql-yoga'

import type { App, Ctx } from '../core/context.ts'
import { ServiceError } from '../core/errors.ts'
import { isOriginAllowed } from '../domains/stream/origins.ts'
import { createEventStreamHandler } from './event-stream.ts'
import { answerMutation, isMutation, type Once } from './once.ts'
import { checkDocument } from './limits.ts'
import { useCompiledQueries } from './jit.ts'
import { maskResult, maskResults } from './mask.ts'
import { beginStream, pump } from './pump.ts'
import { schema } from './schema.ts'

const PATH = '/graphql'
const STREAM_PATH = '/graphql/stream'

/** Mounts Yoga at `/graphql` and graphql-sse at `/graphql/stream`. */
export function registerGraphQL(server: FastifyInstance, app: App, once: Once): void {
  const { GRAPHIQL, NODE_ENV } = app.settings
  const hasGraphiQL = GRAPHIQL ?? NODE_ENV !== 'production'
  const answer = createYogaHandler(app, hasGraphiQL, once)

  server.addHook('onRequest', async (request, reply) => {
    if (request.routeOptions.url === PATH || request.routeOptions.url === STREAM_PATH) allowOrigin(request, reply)
  })
  server.addHook('preHandler', (request, _reply, done) => {
    const { url } = request.routeOptions
    if (url === PATH || url === STREAM_PATH) checkDocuments(request)
    done()
  })
  server.route({ method: 'POST', url: PATH, handler: answer })
  server.route({
    method: ['GET', 'PUT', 'PATCH', 'DELETE'],
    url: PATH,
    exposeHeadRoute: false,
    handler: async (request, reply) => {
      const wantsPage = request.method === 'GET' && request.headers.accept?.includes('text/html') === true
      if (!hasGraphiQL || !wantsPage) throw new ServiceError('method_not_allowed', { allow: ['POST'] })
      return answer(request, reply)
    },
  })
  server.route({
    method: ['GET', 'POST', 'PUT', 'DELETE'],
    url: STREAM_PATH,
    exposeHeadRoute: false,
    handler: createEventStreamHandler(app),
  })
  for (const url of [PATH, STREAM_PATH]) {
    server.route({ method: 'OPTIONS', url, handler: (request, reply) => answerPreflight(app, request, reply) })
  }
}

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

function createYogaHandler(app: App, graphiql: boolean, once: Once): Handler {
  const yoga = createYoga<ServerContext, Ctx>({
    schema,
    graphqlEndpoint: PATH,
    graphiql: graphiql && { title: 'Engagement Service', subscriptionsProtocol: 'SSE' },
    context: ({ ctx }) => ctx,
    plugins: [useCompiledQueries(schema), maskErrors],
    // Its own mask knows no codes; the one above is put over every result.
    maskedErrors: false,
    batching: false,
    cors: false,
    landingPage: false,
    logging: false,
    multipart: false,
  })
  const onError = (err: unknown): void => app.log.warn({ err }, 'a GraphQL stream ended')
  return async (request, reply) => {
    const errors: GraphQLError[] = []
    const respond = (ctx: Ctx) => yoga.handleNodeRequestAndResponse(request, reply, { ctx, errors })
    if (once.hasIdempotencyKey(request) && isMutation(request.body)) {
      return once.answerOnce(request, reply, async (ctx) => answerMutation(await respond(ctx), errors))
    }
    const response = await respond(request.ctx)
    // Its Headers keep the case in which a name was set; ours must not stand beside it a second time.
    const headers = Object.fromEntries([...response.headers].map(([name, value]) => [name.toLowerCase(), value]))
    if (response.body === null || response.headers.get('content-type')?.startsWith('text/event-stream') !== true) {
      return reply
        .code(response.status)
        .headers(headers)
        .send(await response.text())
    }
    const chunks = response.body as unknown as AsyncIterable<Uint8Array>
    void pump(beginStream(reply, response.status, headers), chunks, { onError })
    return reply
  }
}

interface ServerContext {
  ctx: Ctx
  /** Filled with the errors of the answer, as the caller sees them. */
  errors: GraphQLError[]
}

const maskErrors: Plugin<object, ServerContext> = {
  onResultProcess({ result, setResult, serverContext: { ctx, errors } }) {
    const context = { log: ctx.app.log, requestId: ctx.requestId }
    if (Array.isArray(result)) setResult(result.map((one) => maskResult(one, context)))
    else if (Symbol.asyncIterator in result) setResult(maskResults(result, context))
    else {
      const masked = maskResult(result, context)
      setResult(masked)
      errors.push(...(masked.errors ?? []))
    }
  },
}

/** graphql-sse takes a document in the address as well. */
function checkDocuments({ body, query: parameters }: FastifyRequest): void {
  for (const params of [body, parameters]) {
    const { query } = (params ?? {}) as { query?: unknown }
    if (typeof query === 'string') checkDocument(query)
  }
}

/** A page may read the answer where the caller's tenant allows its origin. */
function allowOrigin(request: FastifyRequest, reply: FastifyReply): void {
  const { origin } = request.headers
  void reply.header('vary', 'Origin')
  const allowed = request.ctx.caller?.tenant.settings.allowedOrigins
  if (origin !== undefined && allowed?.includes(origin) === true)
    void reply.header('access-control-allow-origin', origin)
}

/** A preflight carries no credentials: it is granted where any tenant allows the origin. */
async function answerPreflight(app: App, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { origin } = request.headers
  if (origin === undefined || !(await isOriginAllowed(app, origin))) throw new ServiceError('origin_not_allowed')
  return reply
    .code(204)
    .headers({
      'access-control-allow-origin': origin,
      'access-control-allow-methods': 'GET, POST, PUT, DELETE',
      'access-control-allow-headers': request.headers['access-control-request-headers'] ?? 'Content-Type',
      'access-control-max-age': '600',
    })
    .send()
}
