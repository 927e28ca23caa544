import { randomUUID } from 'node:crypto'

import type { FastifyReply, FastifyRequest } from 'fastify'
import { execute, subscribe } from 'graphql'
import { createHandler, type Request, type Response, TOKEN_HEADER_KEY, TOKEN_QUERY_KEY } from 'graphql-sse'

import { type App, type Ctx, requireCaller } from '../core/context.ts'
import { admitConnection } from '../domains/stream/admission.ts'
import { maskResult, maskResults } from './mask.ts'
import { beginStream, pump } from './pump.ts'
import { schema } from './schema.ts'

/** A reserved stream that nobody has opened by then is given up. */
const RESERVATION_MS = 30_000
/** Results that wait for the client. The library itself would hold any number. */
const MAX_WAITING = 16

/** Holds results back while the client has not taken the ones before. */
class Gate {
  #waiting = 0
  #isOpen = true
  #wake: (() => void)[] = []

  async enter(): Promise<void> {
    while (this.#waiting >= MAX_WAITING && this.#isOpen) await new Promise<void>((resolve) => this.#wake.push(resolve))
    this.#waiting++
  }

  leave(): void {
    this.#waiting--
    this.#wake.splice(0).forEach((wake) => wake())
  }

  /** Nobody takes anything any more: whoever waits goes on, and ends. */
  close(): void {
    this.#isOpen = false
    this.#wake.splice(0).forEach((wake) => wake())
  }
}

interface Place {
  ctx: Ctx
  token: string | null
  gate: Gate
}

type SseRequest = Request<FastifyRequest, Place>

/** Answers `/graphql/stream`: the graphql-sse protocol in its distinct-connections and single-connection modes. */
export function createEventStreamHandler(
  app: App,
): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> {
  /** The gates of streams in single-connection mode, by token. */
  const gates = new Map<string, Gate>()
  const onError = (err: unknown): void => app.log.warn({ err }, 'a GraphQL stream ended')

  const handle = createHandler<FastifyRequest, Place, Record<PropertyKey, unknown>>({
    schema,
    authenticate: ({ context: { ctx, token } }) =>
      token === null || ownsToken(ctx, token) ? token : [null, NOT_FOUND],
    context: ({ context: { ctx } }) => ({ ...ctx }),
    execute,
    subscribe: async (args) => {
      const result = await subscribe(args)
      const { app: of, requestId } = args.contextValue as unknown as Ctx
      return Symbol.asyncIterator in result ? maskResults(result, { log: of.log, requestId }) : result
    },
    onNext: async (_ctx, { context: { ctx, gate } }, result) => {
      await gate.enter()
      return maskResult(result, { log: app.log, requestId: ctx.requestId })
    },
  })

  const release = async (request: SseRequest): Promise<void> => {
    const [body] = await handle({ ...request, method: 'GET', headers: { get: acceptEventStream } })
    // Refused: the client has opened it meanwhile. Then its end tidies up.
    if (body === null || typeof body === 'string') return
    await body.return()
    const { token, gate } = request.context
    gate.close()
    if (token !== null) gates.delete(token)
  }

  return async (fastifyRequest, reply) => {
    const request = toSseRequest(fastifyRequest, gates)
    const { token, gate } = request.context
    const [body, init]: Response = await handle(request)
    if (token !== null && init.status === 201) {
      gates.set(token, gate)
      setTimeout(() => void release(request).catch(onError), RESERVATION_MS).unref()
    }
    if (body === null || typeof body === 'string') {
      return reply
        .code(init.status)
        .headers(init.headers ?? {})
        .send(withCode(body, init.status, fastifyRequest.id))
    }
    let leave = (): void => undefined
    try {
      // In single-connection mode the connection outlives its subscriptions: it is a stream of its own.
      if (token !== null) leave = admitConnection(fastifyRequest.ctx, () => void body.return().catch(onError))
    } catch (error) {
      await body.return()
      throw error
    }
    const onTaken = (chunk: string | Uint8Array): void => {
      if (isResult(chunk)) gate.leave()
    }
    void pump(beginStream(reply, init.status, init.headers ?? {}), body, { onTaken, onError }).finally(() => {
      leave()
      gate.close()
      if (token !== null) gates.delete(token)
    })
    return reply
  }
}

const NOT_FOUND = { status: 404, statusText: 'Not Found' } as const

const acceptEventStream = (name: string): string | null => (name === 'accept' ? 'text/event-stream' : null)

const isResult = (chunk: string | Uint8Array): boolean => typeof chunk === 'string' && chunk.startsWith('event: next')

/** A token begins with its tenant, so that another tenant's does not fit. */
const ownsToken = (ctx: Ctx, token: string): boolean => token.startsWith(`${requireCaller(ctx).tenant.id}.`)

function toSseRequest(request: FastifyRequest, gates: ReadonlyMap<string, Gate>): SseRequest {
  const { tenant } = requireCaller(request.ctx)
  const sent = header(request, TOKEN_HEADER_KEY) ?? (request.query as Record<string, unknown>)[TOKEN_QUERY_KEY]
  const token = typeof sent === 'string' ? sent : request.method === 'PUT' ? `${tenant.id}.${randomUUID()}` : null
  const gate = (token === null ? undefined : gates.get(token)) ?? new Gate()
  return {
    method: request.method,
    url: request.url,
    headers: { get: (name) => header(request, name) },
    body: (request.body ?? null) as Record<PropertyKey, unknown> | null,
    raw: request,
    context: { ctx: request.ctx, token, gate },
  }
}

function header({ headers }: FastifyRequest, name: string): string | undefined {
  const value = headers[name.toLowerCase()]
  return Array.isArray(value) ? value.join(', ') : value
}

/** The library's own refusals, with a code as all others have. */
function withCode(body: string | null, status: number, requestId: string): string | null {
  if (status !== 400 || body === null) return body
  const { errors } = JSON.parse(body) as { errors?: { message: string }[] }
  const extensions = { code: 'validation_failed', status: 422, requestId }
  return JSON.stringify({ errors: errors?.map((error) => ({ ...error, extensions })) })
}
