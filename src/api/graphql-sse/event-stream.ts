import type { FastifyReply, FastifyRequest } from 'fastify'
import { type ExecutionArgs, type ExecutionResult, OperationTypeNode } from 'graphql'
import { createHandler, type RequestParams, type Response } from 'graphql-sse'

import type { App } from '../../core/app.ts'
import type { Ctx } from '../../core/context.ts'
import { invalid, ServiceError } from '../../core/errors.ts'
import { troubleOf } from '../../core/outage.ts'
import { admitConnection } from '../../live/admission.ts'
import { hubOf } from '../../live/hub.ts'
import { headersOf, STREAM_HEADERS } from '../../live/streams/outlet.ts'
import { SourceStream } from '../../live/source-stream.ts'
import { maskResult, toServiceError } from '../execution/errors.ts'
import { asksFor } from '../execution/params.ts'
import { isSubscription, prepare, type Prepared } from '../yoga/operations.ts'
import { beginStream, pump } from './pump.ts'
import { resultsOf } from './results.ts'
import type { Answer } from './far-messages.ts'
import { farStreamsOf } from './far-streams.ts'
import { claimStream, reservationOf, reserveStream } from './reservations.ts'
import { BrokenOff, SharedConnection } from './shared-connection.ts'
import {
  EVENT_STREAM,
  noStream,
  notFree,
  type OperationRequest,
  operationIn,
  ownPlace,
  refusalOf,
  type SseContext,
  type SseRequest,
  sseRequest,
  tokenIn,
} from './sse-request.ts'
import { Subscriber } from './subscriber.ts'
import { subscriptionsOf } from './subscriptions.ts'

/** The most characters of a subscription's document and variables together. */
const MAX_SUBSCRIPTION_LENGTH = 16_384

/** An operation's id is kept with it, and sent with each of its results. */
const MAX_OPERATION_ID = 255

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

/**
 * Handlers of the graphql-sse protocol: one for both of its modes, one for distinct connections
 * only.
 */
export interface EventStreams {
  answer: Handler
  answerDistinct: Handler
}

/** The answer of `onSubscribe` when a subscriber takes over the response. */
const TAKEN: Response = [null, { status: 200, statusText: 'OK' }]

/**
 * Handles the graphql-sse protocol. The library does everything except subscriptions on their own
 * connections, of which there are many: those write to their sockets directly
 * (docs/decisions/0004).
 */
export function createEventStreams(app: App): EventStreams {
  /** The shared connections that this process has, by their tokens. */
  const connections = new Map<string, SharedConnection>()
  const far = farStreamsOf(app)
  const onError = (err: unknown): void => app.log.warn({ err }, 'a GraphQL stream ended')
  const onStall = (): void => hubOf(app).metrics.cut('stalled')

  const handle = createHandler<FastifyRequest | null, SseContext, Record<PropertyKey, unknown>>({
    authenticate: ({ context: { token } }) => token,
    context: ({ context: { ctx } }) => ({ ...ctx }),
    onSubscribe: async ({ context: place }, params) => {
      const prepared = prepareFor(place, params)
      if (place.token !== null || !isSubscription(prepared)) return prepared
      const source = await prepared.subscribe(prepared)
      // The library recognises a result by its data.
      if (!(source instanceof SourceStream)) return { data: null, ...requireFinal(place.ctx, source) }
      place.begun = { source, subscription: join(place.ctx, prepared, source) }
      return TAKEN
    },
    // `prepare` has validated the document.
    validate: () => [],
    execute: (args) => preparedOf(args).execute(args),
    // `onOperation` turns it into answers.
    subscribe: async (args) => {
      const source = await preparedOf(args).subscribe(args)
      if (source instanceof SourceStream) return source as AsyncIterable<never>
      return requireFinal(args.contextValue as unknown as Ctx, source)
    },
    onOperation: (_ctx, { context: { ctx, shared } }, args, result) => {
      if (!(result instanceof SourceStream)) return undefined
      shared.add(result)
      return resultsOf(result, join(ctx, preparedOf(args), result), shared)
    },
    onNext: async (_ctx, { context: { ctx, shared } }, result) => {
      await shared.gate.enter()
      return maskResult(result, ctx)
    },
  })

  const join = (ctx: Ctx, operation: Prepared, source: SourceStream) =>
    subscriptionsOf(app).join(ctx, operation, source)

  /** Runs an operation of a shared connection of this process, or ends one. */
  const perform = async (
    token: string,
    shared: SharedConnection,
    ctx: Ctx,
    operation: OperationRequest,
  ): Promise<Answer> => {
    const place = { ctx, token, shared, begun: null }
    const request = sseRequest(operation, place)
    const isNew = operation.method === 'POST'
    const run = () => handle(request)
    const operationId = idOf(operation)
    if (operation.method === 'DELETE') shared.giveUp(operationId)
    const turn = { operationId, isGone: ctx.app.isGone }
    const running = isNew ? shared.runInTurn(turn, run) : shared.run(run)
    const answer = await running.catch(async (error: unknown) => {
      // The library would keep its id, and refuse a second try.
      if (isNew) await handle(sseRequest(endingOf(operation), place))
      throw error
    })
    // As the library answers an operation that is ended while it begins.
    if (answer === null) return { status: 204, headers: {}, body: null }
    const [body, { status, headers = {}, ...init }] = answer
    if (status >= 400) throw refusalOf(request, { status, headers, ...init })
    return { status, headers, body: typeof body === 'string' ? body : null }
  }

  /** Opens a shared connection. From then on every process can run operations on it. */
  const openShared = async (ctx: Ctx, token: string, reply: FastifyReply): Promise<FastifyReply> => {
    const shared = new SharedConnection()
    let body: AsyncGenerator<string> | undefined
    let isEnded = false
    const endings = [() => shared.close()]
    const end = (): void => {
      isEnded = true
      void shared.settled().then(() => body?.throw(new BrokenOff()))
    }
    const close = (): void => {
      if (connections.get(token) === shared) connections.delete(token)
      for (const ending of endings.splice(0)) ending()
    }
    try {
      endings.push(await admitConnection(ctx, { end }))
      const leave = await claimStream(ctx, token)
      if (leave === null) throw notFree()
      endings.push(leave)
      connections.set(token, shared)
      const place = { ctx, token, shared, begun: null }
      const opening = { url: '', body: null }
      await handle(sseRequest({ ...opening, method: 'PUT', accept: null }, place))
      const request = sseRequest({ ...opening, method: 'GET', accept: EVENT_STREAM }, place)
      const [opened, init] = await handle(request)
      if (opened === null || typeof opened === 'string') throw refusalOf(request, init)
      body = opened
      endings.push(await far.serve(token, (caller, operation) => perform(token, shared, caller, operation)))
      if (isEnded) throw new ServiceError('unavailable', { retryAfterSeconds: 1 })
      const onTaken = (chunk: string | Uint8Array): void => {
        if (isResult(chunk)) shared.gate.leave()
      }
      const response = beginStream(reply, init.status, init.headers ?? {})
      void pump(response, opened, { onTaken, onStall, onError }).finally(close)
      return reply
    } catch (error) {
      await body?.return(undefined)
      close()
      throw error
    }
  }

  const answerShared = async (request: FastifyRequest, reply: FastifyReply, token: string): Promise<FastifyReply> => {
    const { ctx } = request
    const reservation = reservationOf(ctx, token)
    if (reservation === null) throw noStream()
    const operation = operationIn(request)
    if (operation.method === 'POST') operationIdOf(request.body as RequestParams)
    const shared = connections.get(token)
    if (operation.accept === EVENT_STREAM) {
      if (shared !== undefined) throw notFree()
      if (reservation.until < Date.now()) throw noStream()
      return openShared(ctx, token, reply)
    }
    // What is refused anyhow is not sent to another process.
    if (shared === undefined && operation.method === 'POST') prepareFor({ ctx, token }, request.body as RequestParams)
    const answer =
      shared === undefined ? await far.ask(token, ctx, operation) : await perform(token, shared, ctx, operation)
    if (answer === null) throw noStream()
    return reply.code(answer.status).headers(answer.headers).send(answer.body)
  }

  const answerAlone = async (request: SseRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const place = request.context
    const [body, init] = await handle(request)
    if (place.begun !== null) return openSubscriber(app, reply, place.begun)
    if (init.status >= 400) throw refusalOf(request, init)
    if (body === null || typeof body === 'string') {
      return reply
        .code(init.status)
        .headers(init.headers ?? {})
        .send(body)
    }
    // One result, with the bounds of other answers: those of streams are for what goes on.
    let frames = ''
    for await (const chunk of body) frames += chunk
    return reply.code(init.status).headers(STREAM_HEADERS).send(Buffer.from(frames))
  }

  return {
    async answer(request, reply) {
      const token = tokenIn(request)
      if (request.method !== 'PUT') {
        if (token !== null) return answerShared(request, reply, token)
        return answerAlone(sseRequest(operationIn(request), ownPlace(request.ctx)), reply)
      }
      // A token that comes with it does not count: the library's client sends the one of the
      // connection that it has lost.
      if (!['*/*', 'text/plain'].includes(request.headers.accept ?? '*/*')) throw new ServiceError('not_acceptable')
      return reply.code(201).type('text/plain; charset=utf-8').send(reserveStream(request.ctx))
    },
    answerDistinct: (request, reply) =>
      // Whatever its `Accept`.
      answerAlone(sseRequest({ ...operationIn(request), accept: EVENT_STREAM }, ownPlace(request.ctx)), reply),
  }
}

/** The library hands on what `onSubscribe` has returned. */
const preparedOf = (args: ExecutionArgs): Prepared => args as Prepared

/** Statuses after which trying again can help: with other credentials, or later. */
const RETRYABLE: ReadonlySet<number> = new Set([401, 429, 503])

/**
 * Throws the error with which a subscription could not start if trying again can help: clients
 * retry after an HTTP status, and never after `complete`.
 */
function requireFinal(ctx: Ctx, result: unknown): ExecutionResult {
  const refused = result as ExecutionResult
  for (const error of refused.errors ?? []) {
    const { originalError } = error
    const isRetryable =
      originalError instanceof ServiceError ? RETRYABLE.has(originalError.status) : troubleOf(originalError) !== null
    if (isRetryable) throw toServiceError(error, ctx.app.log, ctx)
  }
  return refused
}

/** Prepares an operation. Throws for one that its connection does not take. */
function prepareFor({ ctx, token }: Pick<SseContext, 'ctx' | 'token'>, params: RequestParams) {
  const prepared = prepare(ctx, params)
  if (isSubscription(prepared)) requireShort(params)
  // Its answer comes on the stream, and the cookie comes in the headers of an answer.
  else if (token !== null && ctx.setCookie !== undefined && asksFor(ctx, params, OperationTypeNode.MUTATION)) {
    throw invalid('/query', 'not_here', 'must be no mutation: the console sends those to /graphql')
  }
  return prepared
}

/** The library makes a text of the id, whatever it is. */
function operationIdOf({ extensions }: RequestParams): string {
  const id = extensions?.operationId ?? ''
  if (typeof id !== 'string' && typeof id !== 'number') {
    throw invalid('/extensions/operationId', 'wrong_type', 'must be a string')
  }
  const text = String(id)
  if (text.length > MAX_OPERATION_ID) {
    throw invalid('/extensions/operationId', 'too_long', `must have at most ${MAX_OPERATION_ID} characters`)
  }
  return text
}

/** The id of an operation that begins or ends. */
function idOf({ method, url, body }: OperationRequest): string {
  if (method !== 'POST') return new URL(url, 'http://localhost/').searchParams.get('operationId') ?? ''
  return operationIdOf(body as unknown as RequestParams)
}

/** The request that ends an operation. */
function endingOf(operation: OperationRequest): OperationRequest {
  const query = new URLSearchParams({ operationId: idOf(operation) })
  return { method: 'DELETE', url: `?${query.toString()}`, accept: null, body: null }
}

/** A document and its variables stay in memory as long as their subscription. */
function requireShort({ query, variables }: RequestParams): void {
  const length = query.length + JSON.stringify(variables ?? {}).length
  if (length > MAX_SUBSCRIPTION_LENGTH) {
    throw invalid(
      '/variables',
      'too_long',
      `must have at most ${MAX_SUBSCRIPTION_LENGTH} characters together with the document`,
    )
  }
}

const isResult = (chunk: string | Uint8Array): boolean => typeof chunk === 'string' && chunk.startsWith('event: next')

/** Takes over the response from Fastify. */
function openSubscriber(app: App, reply: FastifyReply, begun: NonNullable<SseContext['begun']>): FastifyReply {
  const headers = headersOf(reply.getHeaders())
  const heartbeatMs = app.settings.STREAM_HEARTBEAT_SECONDS * 1000
  reply.hijack()
  new Subscriber(reply.raw, begun, { heartbeatMs, onCut: hubOf(app).onCut }).open(headers)
  return reply
}
