import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type DocumentNode, GraphQLError, type GraphQLSchema, OperationTypeNode } from 'graphql'
import { createYoga, type Plugin } from 'graphql-yoga'

import type { App, Ctx } from '../core/context.ts'
import { invalid, ServiceError } from '../core/errors.ts'
import { hasGraphiQL, hasIntrospection } from '../core/settings.ts'
import { costErrors } from './cost.ts'
import { keptByLength } from './documents.ts'
import { createEventStreams } from './event-stream.ts'
import { useCompiledQueries } from './jit.ts'
import { notAcceptable } from './limits.ts'
import { maskContextOf, maskResult } from './mask.ts'
import { answerMutation, type Once } from './once.ts'
import { asksFor, checkParams } from './params.ts'
import { documentErrors } from './rules.ts'
import { schema } from './schema.ts'

const PATH = '/graphql'
const STREAM_PATH = '/graphql/stream'

/** Mounts Yoga at `/graphql` and graphql-sse at `/graphql/stream`, which has the subscriptions of both. */
export function registerGraphQL(server: FastifyInstance, app: App, once: Once): void {
  const answer = createYogaHandler(app, once)
  const streams = createEventStreams(app)
  server.addHook('preHandler', (request, _reply, done) => {
    const { url } = request.routeOptions
    if (request.method === 'POST' && (url === PATH || url === STREAM_PATH)) checkParams(request.body)
    if (url === STREAM_PATH && once.hasIdempotencyKey(request) && asksFor(request.body, OperationTypeNode.MUTATION)) {
      throw invalid('/Idempotency-Key', 'not_here', `is honoured for mutations at ${PATH} alone`)
    }
    done()
  })
  server.route({
    method: 'POST',
    url: PATH,
    handler: (request, reply) =>
      acceptsEvents(request) && asksFor(request.body, OperationTypeNode.SUBSCRIPTION)
        ? streams.answerDistinct(request, reply)
        : answer(request, reply),
  })
  if (hasGraphiQL(app.settings)) {
    server.route({
      method: 'GET',
      url: PATH,
      exposeHeadRoute: false,
      handler: async (request, reply) => {
        const wantsPage = request.headers.accept?.includes('text/html') === true
        if (!wantsPage) throw new ServiceError('method_not_allowed', { allow: ['POST'] })
        return answer(request, reply)
      },
    })
  }
  server.route({
    method: ['GET', 'POST', 'PUT', 'DELETE'],
    url: STREAM_PATH,
    exposeHeadRoute: false,
    handler: streams.answer,
  })
}

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

function createYogaHandler(app: App, once: Once): Handler {
  const yoga = createYoga<ServerContext, Ctx>({
    schema,
    graphqlEndpoint: PATH,
    graphiql: hasGraphiQL(app.settings) && {
      title: 'Engagement Service',
      subscriptionsProtocol: 'SSE',
      defaultEditorToolsVisibility: 'headers',
      headers: JSON.stringify({ 'X-API-Key': '' }, null, 2),
    },
    // All in one page, where Yoga's own comes from a third party. 9 MB, which only a process that shows it holds.
    renderGraphiQL: async (options) => (await import('@graphql-yoga/render-graphiql')).renderGraphiQL(options),
    context: ({ ctx }) => ctx,
    // What is refused is not worth compiling.
    plugins: [limitDocuments(app), useCompiledQueries(schema), maskErrors],
    // Its own mask knows no codes; the one above is put over every result.
    maskedErrors: false,
    batching: false,
    cors: false,
    landingPage: false,
    logging: false,
    parserAndValidationCache: { documentCache: keptByLength(), errorCache: keptByLength() },
    multipart: false,
  })
  return async (request, reply) => {
    const errors: GraphQLError[] = []
    const respond = async (ctx: Ctx) => {
      const answered = await yoga.handleNodeRequestAndResponse(request, reply, { ctx, errors })
      if (answered.status === 406) throw notAcceptable()
      return answered
    }
    if (once.hasIdempotencyKey(request) && asksFor(request.body, OperationTypeNode.MUTATION)) {
      return once.answerOnce(request, reply, async (ctx) => answerMutation(await respond(ctx), errors))
    }
    const response = await respond(request.ctx)
    // Its Headers keep the case in which a name was set; ours must not stand beside it a second time.
    const headers = Object.fromEntries([...response.headers].map(([name, value]) => [name.toLowerCase(), value]))
    return reply
      .code(response.status)
      .headers({ ...headers, ...retryHeader(errors) })
      .send(await response.text())
  }
}

/** `Retry-After` of what is to be asked again last, as REST has it; none where no error says so. */
function retryHeader(errors: readonly GraphQLError[]): Record<string, string> {
  const seconds = errors.map(({ extensions }) => Number(extensions.retryAfterSeconds ?? 0))
  const longest = Math.max(0, ...seconds)
  return longest === 0 ? {} : { 'retry-after': String(longest) }
}

interface ServerContext {
  ctx: Ctx
  /** Filled with the errors of the answer, as the caller sees them. */
  errors: GraphQLError[]
}

const maskErrors: Plugin<object, ServerContext> = {
  onResultProcess({ result, setResult, serverContext: { ctx, errors } }) {
    const context = maskContextOf(ctx)
    if (Array.isArray(result)) setResult(result.map((one) => maskResult(one, context)))
    else if (!(Symbol.asyncIterator in result)) {
      const masked = maskResult(result, context)
      setResult(masked)
      errors.push(...(masked.errors ?? []))
    }
  },
}

/** Refuses what a document must not ask for: by its text once, as Yoga keeps that; by its variables each time. */
function limitDocuments(app: App): Plugin {
  const options = { introspection: hasIntrospection(app.settings) }
  return {
    onValidate: ({ setValidationFn }) =>
      setValidationFn((of: GraphQLSchema, document: DocumentNode) => documentErrors(of, document, options)),
    onExecute: ({ args, setResultAndStopExecution }) => {
      const errors = costErrors(schema, args.document, args.variableValues ?? {})
      if (errors.length > 0) setResultAndStopExecution({ errors })
    },
    // Whoever accepts events has not come here.
    onSubscribe: ({ setResultAndStopExecution }) => setResultAndStopExecution({ errors: [NOT_ACCEPTABLE] }),
  }
}

const NOT_ACCEPTABLE = new GraphQLError('', { extensions: { http: { status: 406 } } })

/** Whether `Accept` admits an event stream. */
function acceptsEvents({ headers: { accept = '*/*' } }: FastifyRequest): boolean {
  return accept.split(',').some((range) => EVENTS.has(range.split(';', 1)[0]?.trim().toLowerCase() ?? ''))
}

const EVENTS: ReadonlySet<string> = new Set(['text/event-stream', 'text/*', '*/*'])
