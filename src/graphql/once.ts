import type { FastifyReply, FastifyRequest } from 'fastify'
import { getOperationAST, type GraphQLError, OperationTypeNode, parse } from 'graphql'

import type { Ctx } from '../core/context.ts'
import { type Answer, isOutcome, Undecided } from '../domains/idempotency/idempotency.ts'

const JSON_TYPE = 'application/json; charset=utf-8'

/** What the HTTP server knows of Idempotency-Key. */
export interface Once {
  hasIdempotencyKey(request: FastifyRequest): boolean
  answerOnce(request: FastifyRequest, reply: FastifyReply, run: (ctx: Ctx) => Promise<Answer>): Promise<FastifyReply>
}

/** Whether a request's body asks for a mutation. Queries change nothing, and a subscription would hold a transaction open. */
export function isMutation(body: unknown): boolean {
  const { query, operationName } = (body ?? {}) as { query?: unknown; operationName?: unknown }
  if (typeof query !== 'string') return false
  const name = typeof operationName === 'string' ? operationName : null
  try {
    return getOperationAST(parse(query), name)?.operation === OperationTypeNode.MUTATION
  } catch {
    // Not a document: refused, and so nothing to do once.
    return false
  }
}

/**
 * The answer to a mutation that had these errors. One that is no refusal throws `Undecided`: whatever fields have
 * succeeded are undone, so that it shows no data.
 */
export async function answerMutation(response: Response, errors: readonly GraphQLError[]): Promise<Answer> {
  const body = await response.text()
  const { status } = response
  const statuses = [status, ...errors.map(({ extensions }) => extensions.status)]
  if (statuses.every((each) => typeof each === 'number' && isOutcome(each))) {
    return { status, contentType: response.headers.get('content-type'), body }
  }
  throw new Undecided({ status, contentType: JSON_TYPE, body: JSON.stringify({ errors, data: null }) })
}
