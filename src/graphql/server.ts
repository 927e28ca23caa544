import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { DocumentNode, ExecutionArgs, ExecutionResult, GraphQLError, GraphQLSchema } from 'graphql'
import { createYoga, type Plugin } from 'graphql-yoga'
import { LRUCache } from 'lru-cache'

import type { App, Ctx } from '../core/context.ts'
import { ServiceError } from '../core/errors.ts'
import { hasGraphiQL, hasIntrospection } from '../core/settings.ts'
import { costErrors } from './cost.ts'
import { createEventStreamHandler } from './event-stream.ts'
import { useCompiledQueries } from './jit.ts'
import { notAcceptable } from './limits.ts'
import { maskContextOf, maskResult, maskResults } from './mask.ts'
import { answerMutation, isMutation, type Once } from './once.ts'
import { checkParams } from './params.ts'
import { beginStream, pump } from './pump.ts'
import { documentErrors } from './rules.ts'
import { schema } from './schema.ts'

const PATH = '/graphql'
const STREAM_PATH = '/graphql/stream'

/** Mounts Yoga at `/graphql` and graphql-sse at `/graphql/stream`. */
export function registerGraphQL(server: FastifyInstance, app: App, once: Once): void {
  const answer = createYogaHandler(app, once)
  server.addHook('preHandler', (request, _reply, done) => {
    const { url } = request.routeOptions
    if (request.method === 'POST' && (url === PATH || url === STREAM_PATH)) checkParams(request.body)
    done()
  })
  server.route({ method: 'POST', url: PATH, handler: answer })
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
    handler: createEventStreamHandler(app),
  })
}

/** Characters of all documents kept. Parsed, a document takes some fifty times its text. */
const MAX_KEPT_CHARACTERS = 1_000_000
const MAX_DOCUMENT_CHARACTERS = 20_000

/** Documents by their text. The server's own cache counts entries, and would keep a thousand of 256 KiB. */
const keptByLength = <Value extends object>() =>
  new LRUCache<string, Value>({
    maxSize: MAX_KEPT_CHARACTERS,
    maxEntrySize: MAX_DOCUMENT_CHARACTERS,
    sizeCalculation: (_value, text) => text.length + 1,
  })

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

function createYogaHandler(app: App, once: Once): Handler {
  const yoga = createYoga<ServerContext, Ctx>({
    schema,
    graphqlEndpoint: PATH,
    graphiql: hasGraphiQL(app.settings) && { title: 'Engagement Service', subscriptionsProtocol: 'SSE' },
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
  const onError = (err: unknown): void => app.log.warn({ err }, 'a GraphQL stream ended')
  return async (request, reply) => {
    const errors: GraphQLError[] = []
    const respond = async (ctx: Ctx) => {
      const answered = await yoga.handleNodeRequestAndResponse(request, reply, { ctx, errors })
      if (answered.status === 406) throw notAcceptable()
      return answered
    }
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
    const context = maskContextOf(ctx)
    if (Array.isArray(result)) setResult(result.map((one) => maskResult(one, context)))
    else if (Symbol.asyncIterator in result) setResult(maskResults(result, context))
    else {
      const masked = maskResult(result, context)
      setResult(masked)
      errors.push(...(masked.errors ?? []))
    }
  },
}

/** What a query and a subscription have in common before they begin. */
interface Execution {
  args: Pick<ExecutionArgs, 'document' | 'variableValues'>
  setResultAndStopExecution(result: ExecutionResult): void
}

/** Refuses what a document must not ask for: by its text once, as Yoga keeps that; by its variables each time. */
function limitDocuments(app: App): Plugin {
  const options = { introspection: hasIntrospection(app.settings) }
  const refuseCostly = ({ args, setResultAndStopExecution }: Execution): void => {
    const errors = costErrors(schema, args.document, args.variableValues ?? {})
    if (errors.length > 0) setResultAndStopExecution({ errors })
  }
  return {
    onValidate: ({ setValidationFn }) =>
      setValidationFn((of: GraphQLSchema, document: DocumentNode) => documentErrors(of, document, options)),
    onExecute: refuseCostly,
    onSubscribe: refuseCostly,
  }
}
