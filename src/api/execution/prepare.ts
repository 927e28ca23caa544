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
import { LRUCache } from 'lru-cache'

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

/** Characters of all documents kept. Parsed, a document takes some fifty times its text. */
const MAX_KEPT_CHARACTERS = 1_000_000
const MAX_DOCUMENT_CHARACTERS = 20_000

/**
 * Documents by their text, or by a name of it, with `lengthOf` what else is kept. The libraries'
 * own caches count entries, and would keep a thousand of 256 KiB.
 */
export const keptByLength = <Value extends object>(
  lengthOf: (value: Value) => number = () => 0,
): LRUCache<string, Value> =>
  new LRUCache<string, Value>({
    maxSize: MAX_KEPT_CHARACTERS,
    maxEntrySize: MAX_DOCUMENT_CHARACTERS,
    sizeCalculation: (value, text) => text.length + lengthOf(value) + 1,
  })

/** Clients that come back at the same time bring the same few documents. */
const checkedOf = perApp(() => keptByLength<Checked>())

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
  return errors.length > 0 ? errors : costErrors(schema, document, variables)
}

/** Parses and validates a document. Throws `validation_failed` for one that is too large. */
export function check(app: App, query: string): Checked {
  const kept = checkedOf(app)
  const known = kept.get(query)
  if (known !== undefined) return known
  checkDocument(query)
  const checked = checkNow(query, { introspection: hasIntrospection(app.settings) })
  kept.set(query, checked)
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
