import type { FastifyReply, FastifyRequest } from 'fastify'
import type { GraphQLError } from 'graphql'

import type { Ctx } from '../../core/context.ts'
import { type OutgoingResponse, isOutcome, Undecided } from '../../domains/idempotency/idempotency.ts'

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
  status: number
  contentType: string
  body: string
  errors: readonly GraphQLError[]
  /** Whether it shows readers or their content without an id. */
  isUnnamed: boolean
}

/**
 * The answer to a mutation. If one of its errors is not a refusal, throws `Undecided`: fields that
 * have succeeded are undone, so the answer must not show their data.
 */
export function answerMutation({ errors, ...answer }: Responded): OutgoingResponse {
  const isOutcomeOf = ({ extensions }: GraphQLError): boolean => isOutcome(Number(extensions.status))
  // A requested field must stay in place.
  if (errors.every(isOutcomeOf)) return { ...answer, blank: null }
  throw new Undecided({ ...answer, body: JSON.stringify({ errors, data: null }) })
}
