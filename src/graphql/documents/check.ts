import { GraphQLError, type GraphQLSchema, parse } from 'graphql'

import { ServiceError } from '../../core/errors.ts'
import { documentErrors } from './rules.ts'
import { checkLength, checkTokens } from './size.ts'

/**
 * What is wrong with a document that clients are to run, after its name; null if nothing is. It may
 * ask for the schema, as the caller who adds it may.
 */
export function wrongIn(schema: GraphQLSchema, body: string): string | null {
  try {
    checkLength(body)
    checkTokens(body)
    const [error] = documentErrors(schema, parse(body), { introspection: true })
    return error === undefined ? null : notValid(error)
  } catch (error) {
    if (error instanceof GraphQLError || error instanceof ServiceError) return notValid(error)
    throw error
  }
}

const notValid = ({ message }: Error): string => `is not valid: ${message}`
