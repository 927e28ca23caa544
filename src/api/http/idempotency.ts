import type { FastifyReply, FastifyRequest } from 'fastify'

import type { Ctx } from '../../core/context.ts'
import { type OutgoingResponse, runOnce } from '../../domains/idempotency/idempotency.ts'

const HEADER = 'idempotency-key'
const NO_BODY = Buffer.alloc(0)

/** Whether a request must be executed once. Without a tenant its key would have no scope. */
export const hasIdempotencyKey = ({ headers, ctx }: FastifyRequest): boolean =>
  headers[HEADER] !== undefined && ctx.caller !== null

/** Answers a request with an Idempotency-Key, by `run` or by the stored answer of its first run. */
export async function answerOnce(
  request: FastifyRequest,
  reply: FastifyReply,
  run: (ctx: Ctx) => Promise<OutgoingResponse>,
): Promise<FastifyReply> {
  const { ctx, method, url } = request
  const key = String(request.headers[HEADER])
  const rawBody = request.rawBody ?? NO_BODY
  const { status, contentType, body, replayed } = await runOnce(ctx, { key, method, url, rawBody }, run)
  void reply.code(status)
  if (replayed) void reply.header('idempotency-replayed', 'true')
  if (contentType === null) return reply.send()
  // Bytes, because Fastify might add a charset to a text.
  return reply.header('content-type', contentType).send(Buffer.from(body))
}
