import {
  type DocumentNode,
  type ExecutionArgs,
  type ExecutionResult,
  getOperationAST,
  GraphQLError,
  OperationTypeNode,
  parse,
} from 'graphql'
import type { RequestParams } from 'graphql-sse'

import { roomOf } from '../../core/cache.ts'
import { type App, type Ctx, perApp } from '../../core/context.ts'
import { hasIntrospection } from '../../core/settings/settings.ts'
import { costErrors } from './cost.ts'
import { checkDocument } from '../../graphql/documents/size.ts'
import { documentErrors } from '../../graphql/documents/rules.ts'
import { schema } from './schema.ts'
import { variableErrors } from './variables.ts'

/** An operation that may be executed. */
export interface Prepared extends ExecutionArgs {
  contextValue: Record<PropertyKey, unknown>
}

/** A document and its errors; null if it does not parse. */
interface Checked {
  document: DocumentNode | null
  errors: readonly GraphQLError[]
}

/** Longer documents are not kept. */
export const MAX_KEPT_CHARACTERS = 20_000
/** The memory of a parsed document for each character of its text (measured). */
const BYTES_A_CHARACTER = 50

/** Clients that come back at the same time bring the same few documents. */
const checkedOf = perApp((app) =>
  roomOf(
    app,
    'parsedDocuments',
  )<string, Checked>({
    part: 1,
    bytesOf: (_checked, text) => BYTES_A_CHARACTER * text.length,
  }),
)

/**
 * Prepares an operation within all limits. Errors come back as a result, which the stream sends
 * like any other.
 */
export function prepare(ctx: Ctx, { query, operationName, variables }: RequestParams): Prepared | ExecutionResult {
  const { document, errors } = check(ctx.app, query)
  if (document === null || errors.length > 0) return { data: null, errors }
  const refused = requestErrors(document, operationName, variables ?? {})
  if (refused.length > 0) return { data: null, errors: refused }
  const contextValue = { ...ctx }
  return { schema, document, operationName: operationName ?? null, variableValues: variables ?? null, contextValue }
}

/** The errors of a request with a valid document: its operation name, its variables, its cost. */
export function requestErrors(
  document: DocumentNode,
  operationName: string | null | undefined,
  variables: Readonly<Record<string, unknown>>,
): readonly GraphQLError[] {
  const errors = variableErrors(schema, document, operationName, variables)
  return errors.length > 0 ? errors : costErrors(schema, document, { operationName, variables })
}

/** Parses and validates a document. Throws `validation_failed` for one that is too large. */
export function check(app: App, query: string): Checked {
  const kept = checkedOf(app)
  const known = kept.get(query)
  if (known !== undefined) return known
  checkDocument(query)
  const checked = checkNow(query, { introspection: hasIntrospection(app.settings) })
  if (query.length <= MAX_KEPT_CHARACTERS) kept.set(query, checked)
  return checked
}

function checkNow(query: string, options: { introspection: boolean }): Checked {
  try {
    const document = parse(query)
    return { document, errors: documentErrors(schema, document, options) }
  } catch (error) {
    if (error instanceof GraphQLError) return { document: null, errors: [error] }
    throw error
  }
}

/** Whether a prepared operation is a subscription. */
export const isSubscription = (prepared: Prepared | ExecutionResult): prepared is Prepared =>
  'document' in prepared &&
  getOperationAST(prepared.document, prepared.operationName)?.operation === OperationTypeNode.SUBSCRIPTION
