import type { FastifyReply, FastifyRequest } from 'fastify'
import type { GraphQLError } from 'graphql'

import type { Ctx } from '../../core/context.ts'
import { type OutgoingResponse, isOutcome, Undecided } from '../../domains/idempotency/idempotency.ts'

const JSON_TYPE = 'application/json; charset=utf-8'

/** What the HTTP server knows of Idempotency-Key. */
export interface Once {
  hasIdempotencyKey(request: FastifyRequest): boolean
  answerOnce(
    request: FastifyRequest,
    reply: FastifyReply,
    run: (ctx: Ctx) => Promise<OutgoingResponse>,
  ): Promise<FastifyReply>
}

/** An answer of the GraphQL server, its HTTP status, and the errors that it holds. */
export interface Responded {
  response: Response
  status: number
  errors: readonly GraphQLError[]
}

/**
 * The answer to a mutation that had these errors. One that is no refusal throws `Undecided`:
 * whatever fields have succeeded are undone, so that it shows no data.
 */
export async function answerMutation({ response, status, errors }: Responded): Promise<OutgoingResponse> {
  const body = await response.text()
  const statuses = [status, ...errors.map(({ extensions }) => extensions.status)]
  if (statuses.every((each) => typeof each === 'number' && isOutcome(each))) {
    // A field that was asked for stays in its place.
    return { status, contentType: response.headers.get('content-type'), body, blank: null }
  }
  throw new Undecided({ status, contentType: JSON_TYPE, body: JSON.stringify({ errors, data: null }) })
}
