import type { FastifyReply, FastifyRequest } from 'fastify'
import type { GraphQLError } from 'graphql'

import type { Ctx } from '../../core/context.ts'
import { type OutgoingResponse, isOutcome, Undecided } from '../../domains/idempotency/idempotency.ts'

const JSON_TYPE = 'application/json; charset=utf-8'

/** The HTTP server's part of Idempotency-Key. */
export interface Once {
  hasIdempotencyKey(request: FastifyRequest): boolean
  answerOnce(
    request: FastifyRequest,
    reply: FastifyReply,
    run: (ctx: Ctx) => Promise<OutgoingResponse>,
  ): Promise<FastifyReply>
}

/** An answer of the GraphQL server, with its HTTP status and errors. */
export interface Responded {
  response: Response
  status: number
  errors: readonly GraphQLError[]
}

/**
 * The answer to a mutation with these errors. If one is not a refusal, throws `Undecided`: fields
 * that have succeeded are undone, so the answer must not show their data.
 */
export async function answerMutation({ response, status, errors }: Responded): Promise<OutgoingResponse> {
  const body = await response.text()
  const statuses = [status, ...errors.map(({ extensions }) => extensions.status)]
  if (statuses.every((each) => typeof each === 'number' && isOutcome(each))) {
    // A requested field must stay in place.
    return { status, contentType: response.headers.get('content-type'), body, blank: null }
  }
  throw new Undecided({ status, contentType: JSON_TYPE, body: JSON.stringify({ errors, data: null }) })
}
