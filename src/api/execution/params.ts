import { type DocumentNode, getOperationAST, Kind, OperationTypeNode, type SelectionSetNode } from 'graphql'

import type { Ctx } from '../../core/context.ts'
import { invalid, validationFailed } from '../../core/errors.ts'
import { hasNameTwice, MAX_JSON_DEPTH, shapeOfJson } from '../../core/input/json-shape.ts'
import { fragmentsOf } from '../../graphql/documents/fold.ts'
import { countIntrospections } from '../../graphql/documents/rules.ts'
import { readDocument } from './read-document.ts'

const isText = (value: unknown): boolean => typeof value === 'string'
const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value)

/** The parameters of a GraphQL request (GraphQL over HTTP, "Request Parameters"). */
export interface Params {
  query: string
  documentId?: string | null | undefined
  operationName?: string | null | undefined
  variables?: Readonly<Record<string, unknown>> | null | undefined
  extensions?: Readonly<Record<string, unknown>> | null | undefined
}

/** The parameters as sent: with a text, the id of a document, or Apollo's hash. */
export type SentParams = Omit<Params, 'query'> & { query?: string | null | undefined }

const OPTIONAL: Readonly<Record<string, { is: (value: unknown) => boolean; message: string }>> = {
  query: { is: isText, message: 'must be a string' },
  documentId: { is: isText, message: 'must be a string' },
  operationName: { is: isText, message: 'must be a string' },
  variables: { is: isObject, message: 'must be an object' },
  extensions: { is: isObject, message: 'must be an object' },
}

/**
 * Checks the body of a GraphQL request. Batches are refused: a request takes one token of the
 * bucket. Other properties are ignored, and null stands for none, as the standard says. Throws
 * `validation_failed`.
 */
export function checkParams(body: unknown): asserts body is SentParams {
  // An empty body.
  if (body === undefined)
    throw validationFailed([{ pointer: '', code: 'required', message: 'is empty; it needs a query' }])
  if (!isObject(body))
    throw validationFailed([{ pointer: '', code: 'wrong_type', message: 'must be one object; no batches' }])
  const params = body as Record<string, unknown>
  const wrong = Object.entries(OPTIONAL).filter(([name, { is }]) => params[name] != null && !is(params[name]))
  const errors = wrong.map(([name, { message }]) => ({ pointer: `/${name}`, code: 'wrong_type', message }))
  const { query, documentId, extensions } = params as SentParams
  if (query == null && documentId == null && extensions?.persistedQuery == null) {
    errors.unshift({ pointer: '/query', code: 'required', message: 'is required, or a documentId' })
  }
  if (errors.length > 0) throw validationFailed(errors)
}

/**
 * The parameters in the query string of a GET, in which `variables` and `extensions` are JSON, and
 * an empty value stands for none. Throws `validation_failed`.
 */
export function paramsInQuery(given: Readonly<Record<string, unknown>>): SentParams {
  checkQuery(given)
  const read = (name: string): unknown => {
    const value = given[name]
    return value === '' ? undefined : value
  }
  const readJson = (name: string): unknown => {
    const text = read(name)
    return typeof text === 'string' ? (JSON.parse(text) as unknown) : text
  }
  const params: unknown = {
    query: read('query'),
    documentId: read('documentId'),
    operationName: read('operationName'),
    variables: readJson('variables'),
    extensions: readJson('extensions'),
  }
  checkParams(params)
  return params
}

/**
 * Checks the JSON in the query string of a GraphQL request. All of it may be absent, which opens a
 * reserved stream. Throws `validation_failed`.
 */
export function checkQuery(query: unknown): void {
  const { variables, extensions } = query as Record<string, unknown>
  for (const [name, text] of Object.entries({ variables, extensions })) {
    if (text !== undefined && text !== '' && !isShallowObject(text)) {
      throw invalid(
        `/${name}`,
        'wrong_type',
        `must be a JSON object without a name twice, at most ${MAX_JSON_DEPTH} levels deep`,
      )
    }
  }
}

function isShallowObject(text: unknown): boolean {
  if (typeof text !== 'string') return false
  const shape = shapeOfJson(Buffer.from(text))
  if (shape.isTooDeep) return false
  try {
    const value: unknown = JSON.parse(text)
    return value === null || (isObject(value) && !hasNameTwice(shape, value))
  } catch {
    return false
  }
}

/**
 * Whether a request's body has an operation of this kind (other than query). False if it cannot be
 * read.
 */
export function asksFor(ctx: Ctx, body: unknown, kind: OperationTypeNode): boolean {
  return operationIn(ctx, body, kind) !== null
}

/**
 * The number of mutations in a request's body: the root fields of its operation, by response name.
 */
function countMutations(ctx: Ctx, body: unknown): number {
  const found = operationIn(ctx, body, OperationTypeNode.MUTATION)
  return found === null ? 0 : rootNames(found.document, found.selectionSet).size
}

/**
 * The tokens of the bucket that a request takes beside its first: one for each further mutation,
 * and those of introspection.
 */
export function furtherTokens(ctx: Ctx, params: Params): number {
  const introspections = ASKS_FOR_SCHEMA.test(params.query) ? countIntrospectionsOf(ctx, params) : 0
  return Math.max(0, countMutations(ctx, params) - 1) + introspections * INTROSPECTION_TOKENS
}

const ASKS_FOR_SCHEMA = /__(schema|type)\b/

/** The schema takes some 30 ms, an ordinary request one or two (measured). */
const INTROSPECTION_TOKENS = 10

function countIntrospectionsOf(ctx: Ctx, { query }: Params): number {
  const { document, errors } = readDocument(ctx, query)
  // A document that is not valid does not run.
  return document === null || errors.length > 0 ? 0 : countIntrospections(document)
}

interface FoundOperation {
  document: DocumentNode
  selectionSet: SelectionSetNode
}

function operationIn(ctx: Ctx, body: unknown, kind: OperationTypeNode): FoundOperation | null {
  const { query, operationName } = (body ?? {}) as { query?: unknown; operationName?: unknown }
  // Only queries may omit the keyword, so most documents need not be searched.
  if (typeof query !== 'string' || !query.includes(kind)) return null
  const { document } = readDocument(ctx, query)
  if (document === null) return null
  const operation = getOperationAST(document, typeof operationName === 'string' ? operationName : null)
  return operation?.operation === kind ? { document, selectionSet: operation.selectionSet } : null
}

/** The response names of a selection's fields, including those in fragments. */
function rootNames(document: DocumentNode, root: SelectionSetNode): Set<string> {
  const names = new Set<string>()
  const definitions = fragmentsOf(document)
  const fragments = new Set<string>()
  const collect = (set: SelectionSetNode | undefined): void => {
    for (const selection of set?.selections ?? []) {
      if (selection.kind === Kind.FIELD) names.add((selection.alias ?? selection.name).value)
      else if (selection.kind === Kind.INLINE_FRAGMENT) collect(selection.selectionSet)
      else spread(selection.name.value)
    }
  }
  const spread = (name: string): void => {
    // Once is enough; a recursive fragment would never end.
    if (fragments.has(name)) return
    fragments.add(name)
    collect(definitions.get(name)?.selectionSet)
  }
  collect(root)
  return names
}
