import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type ExecutionResult, type GraphQLError, OperationTypeNode } from 'graphql'
import { TOKEN_HEADER_KEY, TOKEN_QUERY_KEY } from 'graphql-sse'

import { requireAccess } from '../../core/access.ts'
import type { App } from '../../core/app.ts'
import type { Ctx } from '../../core/context.ts'
import { invalid, ServiceError } from '../../core/errors.ts'
import { hasGraphiQL } from '../../core/settings/settings.ts'
import { KEYS } from '../../domains/federation/entities.ts'
import { subgraphOf } from '../../graphql/subgraph.ts'
import { isHashUnknown, withDocument } from '../execution/documents.ts'
import { GRAPHQL_RESPONSE, maskResult } from '../execution/errors.ts'
import { answerMutation, type Once, type Responded } from '../execution/once.ts'
import { asksFor, checkParams, checkQuery, furtherTokens, type Params, paramsInQuery } from '../execution/params.ts'
import { schema } from '../execution/schema.ts'
import { type Result, run } from '../yoga/operations.ts'
import { createEventStreams } from '../graphql-sse/event-stream.ts'
import { JSON_TYPE } from './body.ts'
import { sendDocumentPage } from './pages/document-pages.ts'
import { preferredType } from './pages/encoding.ts'
import { sendTagged } from './pages/etags.ts'
import { serveGraphiQL } from './site/graphiql.ts'

const PATH = '/graphql'
const STREAM_PATH = '/graphql/stream'
const SDL_PATH = '/graphql/sdl'

/** The parts of the HTTP server that GraphQL uses. */
interface HttpSide extends Once {
  /** Takes further tokens of the caller's bucket for one request. Throws `rate_limited`. */
  takeTokens(request: FastifyRequest, reply: FastifyReply, tokens: number): void
}

/**
 * Mounts GraphQL over HTTP (the standard of September 2026) at `/graphql`, graphql-sse at
 * `/graphql/stream`, which also serves the subscriptions of `/graphql`, and the schema of the
 * subgraph at `/graphql/sdl`.
 */
export function registerGraphQL(server: FastifyInstance, app: App, http: HttpSide): void {
  const costHeader = `${app.settings.HEADER_PREFIX}Cost`.toLowerCase()
  const streams = createEventStreams(app)
  const payFor = (request: FastifyRequest, reply: FastifyReply, params: Params): void => {
    const tokens = furtherTokens(request.ctx, params)
    if (tokens > 0) http.takeTokens(request, reply, tokens)
  }
  // Only for these routes: as a hook of the server it would run for every request of REST too.
  const preHandler = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const { method, routeOptions } = request
    const isStream = routeOptions.url === STREAM_PATH
    if (method === 'POST') {
      checkParams(request.body)
      const params = await withDocument(request.ctx, request.body)
      request.body = params
      payFor(request, reply, params)
    }
    if (isStream && method === 'GET') {
      const given = request.query as Record<string, unknown>
      checkQuery(given)
      // The library knows no documents: their text comes to it as in a POST, but for mutations.
      if (given.query !== undefined || given.documentId !== undefined || hasHash(given.extensions)) {
        const params = await withDocument(request.ctx, paramsInQuery(given))
        request.body = params
        if (asksFor(request.ctx, params, OperationTypeNode.MUTATION)) throw mutationByGet()
        payFor(request, reply, params)
      }
    }
    if (isStream && http.hasIdempotencyKey(request) && asksFor(request.ctx, request.body, OperationTypeNode.MUTATION)) {
      throw invalid('/Idempotency-Key', 'not_here', `is accepted only for mutations at ${PATH}`)
    }
  }
  /** Answers with the type that `Accept` prefers. What it does not accept is not executed. */
  const answer = async (
    request: FastifyRequest,
    reply: FastifyReply,
    params: Params,
    isKept = false,
  ): Promise<FastifyReply> => {
    const isOnce =
      http.hasIdempotencyKey(request) &&
      !isNobody(request.ctx) &&
      asksFor(request.ctx, params, OperationTypeNode.MUTATION)
    const streamed = request.method === 'HEAD' ? [] : [EVENTS]
    const isStreamed = asksFor(request.ctx, params, OperationTypeNode.SUBSCRIPTION)
    const possible = isStreamed ? streamed : isOnce ? ANSWERS : [...ANSWERS, ...streamed]
    const type = preferredType(request.headers.accept, possible)
    if (type === undefined) throw new ServiceError('not_acceptable')
    if (type === EVENTS) return streams.answerDistinct(request, reply)
    const isCostAsked = request.headers[costHeader] === '1'
    const respond = async (ctx: Ctx): Promise<Responded> => responseOf(await run(ctx, params, { isCostAsked }), type)
    if (isOnce) {
      return http.answerOnce(request, reply, async (ctx) => answerMutation(await respond(ctx)))
    }
    // An answer that tells its cost is for this request alone.
    const isPage = isKept && !isCostAsked
    const page = isPage ? await sendDocumentPage(request, reply, params, { type, vary: VARY, respond }) : null
    if (page !== null) return page
    const { status, contentType, body, errors } = await respond(request.ctx)
    if (isPage && errors.length === 0) return sendTagged(request, reply, { text: body, type: contentType, vary: VARY })
    // Bytes: Fastify would write the type in its own way.
    return reply
      .code(status)
      .headers({ 'content-type': contentType, ...retryHeader(errors) })
      .send(Buffer.from(body))
  }
  server.route({
    method: 'POST',
    url: PATH,
    preHandler,
    errorHandler: answerUnknownHash,
    handler: (request, reply) => answer(request, reply, request.body as Params),
  })
  const graphiql = hasGraphiQL(app.settings) ? serveGraphiQL() : null
  server.route({
    method: 'GET',
    url: PATH,
    errorHandler: answerUnknownHash,
    handler: async (request, reply) => {
      const given = request.query as Record<string, unknown>
      if (graphiql !== null && given.query === undefined && isFromBrowser(request)) return graphiql(request, reply)
      const sent = paramsInQuery(given)
      const params = await withDocument(request.ctx, sent)
      if (asksFor(request.ctx, params, OperationTypeNode.MUTATION)) throw mutationByGet()
      payFor(request, reply, params)
      request.body = params
      return answer(request, reply, params, sent.query == null)
    },
  })
  server.route({
    method: ['GET', 'POST', 'PUT', 'DELETE'],
    url: STREAM_PATH,
    exposeHeadRoute: false,
    preHandler,
    errorHandler: (error, request, reply) => {
      if (!isHashUnknown(error) || !acceptsEvents(request)) throw error
      // The links of Apollo and urql for persisted queries read results, and then send the text.
      const result = maskResult({ errors: [error as unknown as GraphQLError] }, request.ctx)
      const frames = `event: next\ndata: ${JSON.stringify(result)}\n\nevent: complete\ndata: \n\n`
      void reply.code(200).header('content-type', EVENTS).send(frames)
    },
    handler: streams.answer,
  })
  server.route({
    method: 'GET',
    url: SDL_PATH,
    handler: (request, reply) => {
      requireAccess(request.ctx, 'key')
      return sendTagged(request, reply, { text: subgraphOf(schema, KEYS), type: 'text/plain; charset=utf-8' })
    },
  })
}

/**
 * An unknown hash is 200 to who prefers JSON: Apollo's clients for iOS and Kotlin read no other
 * status, and then send the text.
 */
function answerUnknownHash(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  if (!isHashUnknown(error) || preferredType(request.headers.accept, ANSWERS) !== JSON_TYPE) throw error
  const { errors } = maskResult({ errors: [error as GraphQLError] }, request.ctx)
  void reply
    .code(200)
    .header('content-type', JSON_TYPE)
    .send(Buffer.from(JSON.stringify({ errors })))
}

/** Whether nobody asks by a site: what they are answered is not remembered. */
const isNobody = ({ caller }: Ctx): boolean => caller?.actor.kind === 'site' && caller.identity === null

const mutationByGet = (): ServiceError =>
  new ServiceError('method_not_allowed', { allow: ['POST'], detail: 'A mutation comes by POST.' })

/** Whether the JSON of `extensions` has Apollo's hash of a document. */
const hasHash = (extensions: unknown): boolean =>
  typeof extensions === 'string' && extensions.includes('"persistedQuery"')

/** Whether a request at the event stream gets its result as events of its own. */
const acceptsEvents = ({ headers, query }: FastifyRequest): boolean =>
  headers[TOKEN_HEADER_KEY] === undefined &&
  (query as Record<string, unknown>)[TOKEN_QUERY_KEY] === undefined &&
  preferredType(headers.accept, [EVENTS, JSON_TYPE, GRAPHQL_RESPONSE]) === EVENTS

/** What answers depend on, beside the credentials. */
const VARY = 'Origin, Accept'
const EVENTS = 'text/event-stream; charset=utf-8'
const ANSWERS = [JSON_TYPE, GRAPHQL_RESPONSE]
const PAGE = 'text/html; charset=utf-8'

const isFromBrowser = ({ headers }: FastifyRequest): boolean =>
  preferredType(headers.accept, [JSON_TYPE, PAGE]) === PAGE

/**
 * The answer by "GraphQL over HTTP". Who accepts JSON alone gets 200 for every request that is well
 * formed; else a partial answer is 294, and one without data has the status of its errors, the
 * greatest of several.
 */
function responseOf({ isParsed, isUnnamed = false, ...result }: Result, type: string): Responded {
  const errors = result.errors ?? []
  const status = type === JSON_TYPE || errors.length === 0 ? 200 : statusOf(result, errors, isParsed)
  const { data, extensions } = result
  const body = JSON.stringify({ errors: result.errors, data, extensions })
  return { status, contentType: type, body, errors, isUnnamed }
}

function statusOf(result: ExecutionResult, errors: readonly GraphQLError[], isParsed: boolean): number {
  if (!isParsed) return 400
  return result.data != null ? 294 : Math.max(...errors.map(({ extensions }) => Number(extensions.status)))
}

/** The longest `Retry-After` of the errors; none if no error has one. */
function retryHeader(errors: readonly GraphQLError[]): Record<string, string> {
  const seconds = errors.map(({ extensions }) => Number(extensions.retryAfterSeconds ?? 0))
  const longest = Math.max(0, ...seconds)
  return longest === 0 ? {} : { 'retry-after': String(longest) }
}
