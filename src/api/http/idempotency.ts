import type { FastifyReply, FastifyRequest } from 'fastify'

import type { Ctx } from '../../core/context.ts'
import { type OutgoingResponse, type Outcomes, runOnce } from '../../domains/idempotency/idempotency.ts'
import { findNode } from '../../domains/nodes/nodes.ts'
import { OutcomeNotes, renewed, replayOf } from '../../graphql/outcome.ts'

const HEADER = 'idempotency-key'
/** Answers are noted by the fields of the schema, and replayed by what the caller may see now. */
export const OUTCOMES: Outcomes = {
  note: () => new OutcomeNotes(),
  replay: (ctx, text) => replayOf(text, async (id) => (await findNode(ctx, id))?.node ?? null),
  renew: renewed,
}
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
  const { status, contentType, body, replayed } = await runOnce(ctx, { key, method, url, rawBody }, run, OUTCOMES)
  void reply.code(status)
  if (replayed) void reply.header('idempotency-replayed', 'true')
  if (contentType === null) return reply.send()
  // Bytes, because Fastify might add a charset to a text.
  return reply.header('content-type', contentType).send(Buffer.from(body))
}
