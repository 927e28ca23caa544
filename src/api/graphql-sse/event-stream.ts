import type { FastifyReply, FastifyRequest } from 'fastify'
import { createSourceEventStream, execute, type ExecutionArgs, type ExecutionResult } from 'graphql'
import { createHandler, type RequestParams, type Response } from 'graphql-sse'

import type { App, Ctx } from '../../core/context.ts'
import { invalid, ServiceError } from '../../core/errors.ts'
import type { Id } from '../../core/ids.ts'
import { troubleOf } from '../../core/outage.ts'
import { admitConnection } from '../../live/admission.ts'
import { hubOf } from '../../live/hub.ts'
import { headersOf, requireTurn } from '../../live/streams/outlet.ts'
import { SourceStream } from '../../live/source-stream.ts'
import { toServiceError } from '../execution/errors.ts'
import { maskResult } from '../execution/mask.ts'
import { isSubscription, prepare } from '../execution/prepare.ts'
import { beginStream, pump } from './pump.ts'
import { resultsOf } from './results.ts'
import { BrokenOff, type SharedConnection } from './shared-connection.ts'
import {
  acceptEventStream,
  anyRequest,
  distinctRequest,
  isOfTenant,
  ownerOf,
  type SseContext,
  refusalOf,
  type SseRequest,
} from './sse-request.ts'
import { Subscriber } from './subscriber.ts'
import { subscriptionsOf } from './subscriptions.ts'

/** The most characters of a subscription's document and variables together. */
const MAX_SUBSCRIPTION_LENGTH = 16_384
/** A reserved stream that is not opened within this time is dropped. */
const RESERVATION_MS = 30_000

/** A stream in single-connection mode. It counts as open from its reservation on. */
interface Reservation {
  readonly owner: Id
  readonly shared: SharedConnection
  leave(): void
  /** Ends it, reserved or open. */
  end(): void
}

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
const NOT_FOUND = { status: 404, statusText: 'Not Found' } as const

/**
 * Handles the graphql-sse protocol. The library does everything except subscriptions on their own
 * connections, of which there are many: those write to their sockets directly
 * (docs/decisions/0004).
 */
export function createEventStreams(app: App): EventStreams {
  const reservations = new Map<string, Reservation>()
  const onError = (err: unknown): void => app.log.warn({ err }, 'a GraphQL stream ended')
  const onStall = (): void => hubOf(app).metrics.cut('stalled')

  const handle = createHandler<FastifyRequest, SseContext, Record<PropertyKey, unknown>>({
    authenticate: ({ context: { ctx, token } }) => (token === null || mayUse(ctx, token) ? token : [null, NOT_FOUND]),
    context: ({ context: { ctx } }) => ({ ...ctx }),
    onSubscribe: async ({ context: place }, params) => {
      const prepared = prepare(place.ctx, params)
      if (!isSubscription(prepared)) return prepared
      requireShort(params)
      if (place.token !== null) return prepared
      const source = await createSourceEventStream(prepared)
      // The library recognises a result by its data.
      if (!(source instanceof SourceStream)) return { data: null, ...requireFinal(place.ctx, source) }
      place.begun = { source, subscription: join(place.ctx, prepared, source) }
      return TAKEN
    },
    // `prepare` has validated the document.
    validate: () => [],
    execute,
    // `onOperation` turns it into answers.
    subscribe: async (args) => {
      const source: unknown = await createSourceEventStream(args)
      if (source instanceof SourceStream) return source as AsyncIterable<never>
      return requireFinal(args.contextValue as unknown as Ctx, source)
    },
    onOperation: (_ctx, { context: { ctx, shared } }, args, result) => {
      if (!(result instanceof SourceStream)) return undefined
      shared.add(result)
      return resultsOf(result, join(ctx, args, result), shared)
    },
    onNext: async (_ctx, { context: { ctx, shared } }, result) => {
      await shared.gate.enter()
      return maskResult(result, ctx)
    },
  })

  const mayUse = (ctx: Ctx, token: string): boolean => {
    const owner = reservations.get(token)?.owner
    return isOfTenant(ctx, token) && (owner === undefined || owner === ownerOf(ctx))
  }

  const join = (ctx: Ctx, operation: ExecutionArgs, source: SourceStream) =>
    subscriptionsOf(app).join(ctx, operation, source)

  const forget = (token: string | null): void => {
    const reservation = token === null ? undefined : reservations.get(token)
    if (token !== null) reservations.delete(token)
    reservation?.shared.close()
    reservation?.leave()
  }

  /**
   * Drops a reservation that was not opened. Otherwise only the client of the stream could end it.
   */
  const release = async (request: SseRequest): Promise<void> => {
    const [body] = await handle({ ...request, method: 'GET', headers: { get: acceptEventStream } })
    // Refused: the client has opened the stream meanwhile, and its end cleans up.
    if (body === null || typeof body === 'string') return
    await body.return()
    forget(request.context.token)
  }

  const reserve = async (request: SseRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const { ctx, shared, token } = request.context
    const end = (): void => void release(request).catch(onError)
    const reservation: Reservation = { owner: ownerOf(ctx), shared, leave: () => undefined, end }
    const leave = await admitConnection(ctx, { end: () => reservation.end() })
    const late = setTimeout(end, RESERVATION_MS).unref()
    reservation.leave = () => {
      clearTimeout(late)
      leave()
    }
    const [body, init] = await handle(request)
    if (token === null || typeof body !== 'string' || init.status !== 201) {
      reservation.leave()
      throw refusalOf(request, init)
    }
    reservations.set(token, reservation)
    return reply
      .code(init.status)
      .headers(init.headers ?? {})
      .send(body)
  }

  const answerRequest = async (request: SseRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const place = request.context
    const [body, init] = await place.shared.run(() => handle(request))
    if (place.begun !== null) return openSubscriber(app, reply, place.begun)
    if (init.status >= 400) throw refusalOf(request, init)
    if (body === null || typeof body === 'string') {
      return reply
        .code(init.status)
        .headers(init.headers ?? {})
        .send(body)
    }
    const { token, shared } = place
    const reservation = token === null ? undefined : reservations.get(token)
    if (reservation !== undefined) {
      reservation.end = () => void shared.settled().then(() => body.throw(new BrokenOff()))
    }
    const onTaken = (chunk: string | Uint8Array): void => {
      if (isResult(chunk)) shared.gate.leave()
    }
    const end = (): void => {
      shared.close()
      forget(token)
    }
    try {
      requireTurn(reply.raw)
    } catch (error) {
      await body.return()
      end()
      throw error
    }
    const response = beginStream(reply, init.status, init.headers ?? {})
    void pump(response, body, { onTaken, onStall, onError }).finally(end)
    return reply
  }

  return {
    async answer(fastifyRequest, reply) {
      const request = anyRequest(fastifyRequest, (token) => reservations.get(token)?.shared)
      return request.method === 'PUT' ? reserve(request, reply) : answerRequest(request, reply)
    },
    answerDistinct: (request, reply) => answerRequest(distinctRequest(request), reply),
  }
}

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
  try {
    requireTurn(reply.raw)
  } catch (error) {
    begun.source.leave()
    throw error
  }
  reply.hijack()
  new Subscriber(reply.raw, begun, { heartbeatMs, onCut: hubOf(app).onCut }).open(headers)
  return reply
}
