import type { FastifyReply, FastifyRequest } from 'fastify'

import type { Ctx } from '../../core/context.ts'
import { type OutgoingResponse, runOnce } from '../../domains/idempotency/idempotency.ts'

const HEADER = 'idempotency-key'
const NO_BODY = Buffer.alloc(0)

/**
 * Whether a request is one to answer once. Without a tenant there is nothing that its key could
 * stand in.
 */
export const hasIdempotencyKey = ({ headers, ctx }: FastifyRequest): boolean =>
  headers[HEADER] !== undefined && ctx.caller !== null

/**
 * Answers a request that has an Idempotency-Key, by `run` or by what `run` answered the first time.
 */
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
  // Bytes: to a text Fastify might add a charset.
  return reply.header('content-type', contentType).send(Buffer.from(body))
}
