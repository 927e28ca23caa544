import { randomUUID } from 'node:crypto'

import type { FastifyReply, FastifyRequest } from 'fastify'
import { execute, subscribe } from 'graphql'
import {
  createHandler,
  type Request,
  type Response,
  type ResponseInit,
  TOKEN_HEADER_KEY,
  TOKEN_QUERY_KEY,
} from 'graphql-sse'

import { type App, type Ctx, requireCaller } from '../core/context.ts'
import { ServiceError } from '../core/errors.ts'
import { admitConnection } from '../domains/stream/admission.ts'
import { Gate } from './gate.ts'
import { notAcceptable } from './limits.ts'
import { maskContextOf, maskResult, maskResults } from './mask.ts'
import { prepare } from './prepare.ts'
import { beginStream, pump } from './pump.ts'

/** A reserved stream that nobody has opened by then is given up. */
const RESERVATION_MS = 30_000
interface Place {
  ctx: Ctx
  token: string | null
  gate: Gate
}

type SseRequest = Request<FastifyRequest, Place>

/** A stream in single-connection mode, from its reservation on: it counts as an open one. */
interface Reservation {
  readonly gate: Gate
  leave(): void
  /** Ends it, reserved or open. */
  end(): void
}

/** Answers `/graphql/stream`: the graphql-sse protocol in its distinct-connections and single-connection modes. */
export function createEventStreamHandler(
  app: App,
): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> {
  const reservations = new Map<string, Reservation>()
  const onError = (err: unknown): void => app.log.warn({ err }, 'a GraphQL stream ended')

  const handle = createHandler<FastifyRequest, Place, Record<PropertyKey, unknown>>({
    authenticate: ({ context: { ctx, token } }) =>
      token === null || ownsToken(ctx, token) ? token : [null, NOT_FOUND],
    context: ({ context: { ctx } }) => ({ ...ctx }),
    onSubscribe: ({ context: { ctx } }, params) => prepare(ctx, params),
    // `prepare` has done it.
    validate: () => [],
    execute,
    subscribe: async (args) => {
      const result = await subscribe(args)
      return Symbol.asyncIterator in result
        ? maskResults(result, maskContextOf(args.contextValue as unknown as Ctx))
        : result
    },
    onNext: async (_ctx, { context: { ctx, gate } }, result) => {
      await gate.enter()
      return maskResult(result, maskContextOf(ctx))
    },
  })

  const forget = (token: string | null): void => {
    const reservation = token === null ? undefined : reservations.get(token)
    if (token !== null) reservations.delete(token)
    reservation?.gate.close()
    reservation?.leave()
  }

  /** Gives up a reservation that nobody has opened. Only who opens a stream can end it. */
  const release = async (request: SseRequest): Promise<void> => {
    const [body] = await handle({ ...request, method: 'GET', headers: { get: acceptEventStream } })
    // Refused: the client has opened it meanwhile. Then its end tidies up.
    if (body === null || typeof body === 'string') return
    await body.return()
    forget(request.context.token)
  }

  const reserve = async (request: SseRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const { ctx, gate, token } = request.context
    const reservation: Reservation = {
      gate,
      leave: admitConnection(ctx, () => reservation.end()),
      end: () => void release(request).catch(onError),
    }
    const [body, init] = await handle(request)
    if (token === null || typeof body !== 'string' || init.status !== 201) {
      reservation.leave()
      throw refusalOf(body, init)
    }
    reservations.set(token, reservation)
    setTimeout(() => void release(request).catch(onError), RESERVATION_MS).unref()
    return reply
      .code(init.status)
      .headers(init.headers ?? {})
      .send(body)
  }

  return async (fastifyRequest, reply) => {
    const request = toSseRequest(fastifyRequest, reservations)
    if (request.method === 'PUT') return reserve(request, reply)
    const { token, gate } = request.context
    const [body, init]: Response = await handle(request)
    if (init.status >= 400) throw refusalOf(body, init)
    if (body === null || typeof body === 'string') {
      return reply
        .code(init.status)
        .headers(init.headers ?? {})
        .send(body)
    }
    const reservation = token === null ? undefined : reservations.get(token)
    if (reservation !== undefined) reservation.end = () => void body.return().catch(onError)
    const onTaken = (chunk: string | Uint8Array): void => {
      if (isResult(chunk)) gate.leave()
    }
    void pump(beginStream(reply, init.status, init.headers ?? {}), body, { onTaken, onError }).finally(() => {
      gate.close()
      forget(token)
    })
    return reply
  }
}

const NOT_FOUND = { status: 404, statusText: 'Not Found' } as const

const acceptEventStream = (name: string): string | null => (name === 'accept' ? 'text/event-stream' : null)

const isResult = (chunk: string | Uint8Array): boolean => typeof chunk === 'string' && chunk.startsWith('event: next')

/** A token begins with its tenant, so that another tenant's does not fit. */
const ownsToken = (ctx: Ctx, token: string): boolean => token.startsWith(`${requireCaller(ctx).tenant.id}.`)

function toSseRequest(request: FastifyRequest, reservations: ReadonlyMap<string, Reservation>): SseRequest {
  const { tenant } = requireCaller(request.ctx)
  const sent = header(request, TOKEN_HEADER_KEY) ?? (request.query as Record<string, unknown>)[TOKEN_QUERY_KEY]
  const token = typeof sent === 'string' ? sent : request.method === 'PUT' ? `${tenant.id}.${randomUUID()}` : null
  const gate = (token === null ? undefined : reservations.get(token)?.gate) ?? new Gate()
  return {
    method: request.method,
    url: request.url,
    // The library looks for the media type in lower case; another than JSON does not come this far.
    headers: { get: (name) => (name === 'content-type' ? 'application/json' : header(request, name)) },
    body: (request.body ?? null) as Record<PropertyKey, unknown> | null,
    raw: request,
    context: { ctx: request.ctx, token, gate },
  }
}

function header({ headers }: FastifyRequest, name: string): string | undefined {
  const value = headers[name.toLowerCase()]
  return Array.isArray(value) ? value.join(', ') : value
}

/** The library's own refusals, in the contract's words. */
function refusalOf(body: unknown, { status, headers }: ResponseInit): ServiceError {
  const { errors = [] } = (typeof body === 'string' ? JSON.parse(body) : {}) as { errors?: { message: string }[] }
  const detail = errors.length === 0 ? undefined : `${errors.map(({ message }) => message).join('; ')}.`
  if (status === 404) return new ServiceError('not_found', { detail })
  if (status === 405)
    return new ServiceError('method_not_allowed', { detail, allow: headers?.allow?.split(', ') ?? [] })
  if (status === 406) return notAcceptable()
  if (status === 409) return new ServiceError('invalid_transition', { detail })
  if (status === 415) return new ServiceError('unsupported_media_type')
  return new ServiceError('validation_failed', {
    detail,
    errors: errors.map(({ message }) => ({ pointer: '', code: 'invalid', message })),
  })
}
