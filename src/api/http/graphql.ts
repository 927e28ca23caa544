import type { FastifyInstance, FastifyReply, FastifyRequest, preHandlerHookHandler } from 'fastify'
import {
  type DocumentNode,
  type ExecutionResult,
  getOperationAST,
  type GraphQLError,
  type GraphQLSchema,
  OperationTypeNode,
} from 'graphql'
import { createYoga, type Plugin } from 'graphql-yoga'

import type { App, Ctx } from '../../core/context.ts'
import { invalid } from '../../core/errors.ts'
import { hasGraphiQL, hasIntrospection } from '../../core/settings.ts'
import { keptByLength, requestErrors } from '../graphql/prepare.ts'
import { createEventStreams } from '../graphql-sse/event-stream.ts'
import { useCompiledQueries } from '../graphql/jit.ts'
import { GRAPHQL_RESPONSE, notAcceptable } from '../graphql/errors.ts'
import { maskResult, statusOf } from '../graphql/mask.ts'
import { answerMutation, type Once, type Responded } from '../graphql/once.ts'
import { asksFor, checkParams, checkQuery, countMutations } from '../graphql/params.ts'
import { documentErrors } from '../graphql/document-rules.ts'
import { schema } from '../graphql/schema.ts'
import { includesType, mediaRanges } from './encoding.ts'
import { serveGraphiQL } from './graphiql.ts'

const PATH = '/graphql'
const STREAM_PATH = '/graphql/stream'

/** The parts of the HTTP server that GraphQL uses. */
interface HttpSide extends Once {
  /** Takes further tokens of the caller's bucket for one request. Throws `rate_limited`. */
  takeTokens(request: FastifyRequest, reply: FastifyReply, tokens: number): void
}

/**
 * Mounts Yoga at `/graphql`, and graphql-sse at `/graphql/stream`, which also serves the
 * subscriptions of `/graphql`.
 */
export function registerGraphQL(server: FastifyInstance, app: App, http: HttpSide): void {
  // Yoga loads Node's fetch, which is 3 % of a start: the first request opens it.
  let opened: Handler | undefined
  const answer: Handler = (request, reply) => (opened ??= createYogaHandler(app, http))(request, reply)
  const streams = createEventStreams(app)
  // Only for these routes: as a hook of the server it would run for every request of REST too.
  const preHandler: preHandlerHookHandler = (request, reply, done) => {
    const { method, routeOptions } = request
    const isStream = routeOptions.url === STREAM_PATH
    if (method === 'POST') {
      checkParams(request.body)
      // The request itself has taken one.
      const furtherMutations = countMutations(request.body) - 1
      if (furtherMutations > 0) http.takeTokens(request, reply, furtherMutations)
    }
    if (isStream && method === 'GET') checkQuery(request.query)
    if (isStream && http.hasIdempotencyKey(request) && asksFor(request.body, OperationTypeNode.MUTATION)) {
      throw invalid('/Idempotency-Key', 'not_here', `is accepted only for mutations at ${PATH}`)
    }
    done()
  }
  server.route({
    method: 'POST',
    url: PATH,
    preHandler,
    handler: async (request, reply) => {
      const isSubscription = asksFor(request.body, OperationTypeNode.SUBSCRIPTION)
      const ranges = mediaRanges(request.headers.accept)
      // Yoga would find out after a mutation.
      if (!(isSubscription ? EVENTS : ANSWERS).some((type) => includesType(ranges, type))) throw notAcceptable()
      return isSubscription ? streams.answerDistinct(request, reply) : answer(request, reply)
    },
  })
  if (hasGraphiQL(app.settings)) {
    server.route({ method: 'GET', url: PATH, exposeHeadRoute: false, handler: serveGraphiQL() })
  }
  server.route({
    method: ['GET', 'POST', 'PUT', 'DELETE'],
    url: STREAM_PATH,
    exposeHeadRoute: false,
    preHandler,
    handler: streams.answer,
  })
}

const EVENTS = ['text/event-stream']
/** What Yoga answers with. */
const ANSWERS = ['application/json', GRAPHQL_RESPONSE, 'multipart/mixed', ...EVENTS]

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

function createYogaHandler(app: App, once: Once): Handler {
  const yoga = createYoga<ServerContext, Ctx>({
    schema,
    graphqlEndpoint: PATH,
    graphiql: false,
    context: ({ ctx }) => ctx,
    // Limits first: refused documents are not worth compiling.
    plugins: [limitDocuments(app), useCompiledQueries(schema), maskErrors, traceOperations],
    // Yoga's own masking knows no codes; ours is applied to every result.
    maskedErrors: false,
    batching: false,
    cors: false,
    landingPage: false,
    logging: false,
    parserAndValidationCache: { documentCache: keptByLength(), errorCache: keptByLength() },
    multipart: false,
  })
  return async (request, reply) => {
    const respond = async (ctx: Ctx): Promise<Responded> => {
      // Each run adds listeners to the response: a request with an Idempotency-Key runs again if
      // it could not get a lock.
      reply.raw.setMaxListeners(100)
      const context: ServerContext = { ctx, result: null }
      const response = await yoga.handleNodeRequestAndResponse(request, reply, context)
      const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true
      const status = context.result === null || isStream ? response.status : statusOf(context.result)
      return { response, status, errors: context.result?.errors ?? [] }
    }
    if (once.hasIdempotencyKey(request) && asksFor(request.body, OperationTypeNode.MUTATION)) {
      return once.answerOnce(request, reply, async (ctx) => answerMutation(await respond(ctx)))
    }
    const { response, status, errors } = await respond(request.ctx)
    // Yoga keeps the case of header names; ours must not appear a second time.
    const headers = Object.fromEntries([...response.headers].map(([name, value]) => [name.toLowerCase(), value]))
    return reply
      .code(status)
      .headers({ ...headers, ...retryHeader(errors) })
      .send(await response.text())
  }
}

/** The longest `Retry-After` of the errors; none if no error has one. */
function retryHeader(errors: readonly GraphQLError[]): Record<string, string> {
  const seconds = errors.map(({ extensions }) => Number(extensions.retryAfterSeconds ?? 0))
  const longest = Math.max(0, ...seconds)
  return longest === 0 ? {} : { 'retry-after': String(longest) }
}

interface ServerContext {
  ctx: Ctx
  /** The result as the caller sees it; null before it is known, and if no operation has run. */
  result: ExecutionResult | null
}

const maskErrors: Plugin<object, ServerContext> = {
  onResultProcess({ result, setResult, serverContext }) {
    // Batches and subscriptions do not come here.
    if (Array.isArray(result) || Symbol.asyncIterator in result) return
    const masked = maskResult(result, serverContext.ctx)
    serverContext.result = masked
    setResult(masked)
  },
}

/** An operation is a span of its request's trace, named by its kind and name. */
const traceOperations: Plugin<Ctx> = {
  onExecute({ args }) {
    const { span } = args.contextValue.app
    const operation = span && getOperationAST(args.document, args.operationName)
    if (span === undefined || operation == null) return undefined
    const { operation: kind, name } = operation
    const named = name === undefined ? {} : { 'graphql.operation.name': name.value.slice(0, MAX_NAME) }
    const part = span.enter(kind, { attributes: { 'graphql.operation.type': kind, ...named } })
    return {
      onExecuteDone: ({ result }) => part.end('errors' in result && result.errors !== undefined ? 'errors' : undefined),
    }
  },
}

/** The most characters of an operation's name in a trace. */
const MAX_NAME = 64

/**
 * Refuses documents over the limits: by their text once, because Yoga caches that; by their
 * variables each time.
 */
function limitDocuments(app: App): Plugin {
  const options = { introspection: hasIntrospection(app.settings) }
  return {
    onValidate: ({ setValidationFn }) =>
      setValidationFn((of: GraphQLSchema, document: DocumentNode) => documentErrors(of, document, options)),
    onExecute: ({ args, setResultAndStopExecution }) => {
      const errors = requestErrors(args.document, args.operationName, args.variableValues ?? {})
      if (errors.length > 0) setResultAndStopExecution({ errors })
    },
  }
}
