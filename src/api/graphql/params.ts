import { type DocumentNode, getOperationAST, Kind, OperationTypeNode, parse, type SelectionSetNode } from 'graphql'

import { invalid, validationFailed } from '../../core/errors.ts'
import { isTooDeep, MAX_JSON_DEPTH } from '../../core/json-depth.ts'
import { pointer } from '../../core/validate.ts'
import { checkDocument } from './document-size.ts'

const isText = (value: unknown): boolean => typeof value === 'string'
const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value)
const optional =
  (is: (value: unknown) => boolean) =>
  (value: unknown): boolean =>
    value === undefined || value === null || is(value)

/** The parameters of a GraphQL request (GraphQL over HTTP, section 4.2), and their types. */
const PARAMS: Readonly<Record<string, { is: (value: unknown) => boolean; message: string }>> = {
  query: { is: isText, message: 'must be a string' },
  operationName: { is: optional(isText), message: 'must be a string' },
  variables: { is: optional(isObject), message: 'must be an object' },
  extensions: { is: optional(isObject), message: 'must be an object' },
}

/**
 * Checks the body of a GraphQL request, and its document's size before parsing. Batches are
 * refused: a request takes one token of the bucket. Throws `validation_failed`.
 */
export function checkParams(body: unknown): void {
  if (!isObject(body))
    throw validationFailed([{ pointer: '', code: 'wrong_type', message: 'must be one object; no batches' }])
  const params = body as Record<string, unknown>
  const unknown = Object.keys(params).filter((name) => !Object.hasOwn(PARAMS, name))
  const errors = [
    ...unknown.map((name) => ({
      pointer: pointer([name]),
      code: 'unknown_field',
      message: 'is not a field of this request',
    })),
    ...Object.entries(PARAMS)
      .filter(([name, { is }]) => !is(params[name]))
      .map(([name, { message }]) =>
        params[name] === undefined
          ? { pointer: `/${name}`, code: 'required', message: 'is required' }
          : { pointer: `/${name}`, code: 'wrong_type', message },
      ),
  ]
  if (errors.length > 0) throw validationFailed(errors)
  checkDocument(String(params.query))
}

/**
 * Checks the query string of a GraphQL request, in which `variables` and `extensions` are JSON. It
 * may be empty, which opens a reserved stream. Throws `validation_failed`.
 */
export function checkQuery(query: unknown): void {
  const { variables, extensions } = query as Record<string, unknown>
  for (const [name, text] of Object.entries({ variables, extensions })) {
    if (text !== undefined && text !== '' && !isShallowObject(text)) {
      throw invalid(`/${name}`, 'wrong_type', `must be a JSON object, at most ${MAX_JSON_DEPTH} levels deep`)
    }
  }
}

function isShallowObject(text: unknown): boolean {
  if (typeof text !== 'string' || isTooDeep(Buffer.from(text))) return false
  try {
    return optional(isObject)(JSON.parse(text))
  } catch {
    return false
  }
}

/**
 * Whether a request's body has an operation of this kind (other than query). False if it cannot be
 * read.
 */
export function asksFor(body: unknown, kind: OperationTypeNode): boolean {
  return operationIn(body, kind) !== null
}

/**
 * The number of mutations in a request's body: the root fields of its operation, by response name.
 */
export function countMutations(body: unknown): number {
  const found = operationIn(body, OperationTypeNode.MUTATION)
  return found === null ? 0 : rootNames(found.document, found.selectionSet).size
}

interface FoundOperation {
  document: DocumentNode
  selectionSet: SelectionSetNode
}

function operationIn(body: unknown, kind: OperationTypeNode): FoundOperation | null {
  const { query, operationName } = (body ?? {}) as { query?: unknown; operationName?: unknown }
  // Only queries may omit the keyword, so most documents need not be parsed here.
  if (typeof query !== 'string' || !query.includes(kind)) return null
  try {
    const document = parse(query)
    const operation = getOperationAST(document, typeof operationName === 'string' ? operationName : null)
    return operation?.operation === kind ? { document, selectionSet: operation.selectionSet } : null
  } catch {
    return null
  }
}

/** The response names of a selection's fields, including those in fragments. */
function rootNames(document: DocumentNode, root: SelectionSetNode): Set<string> {
  const names = new Set<string>()
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
    const isNamed = (each: DocumentNode['definitions'][number]) =>
      each.kind === Kind.FRAGMENT_DEFINITION && each.name.value === name
    const fragment = document.definitions.find(isNamed)
    if (fragment?.kind === Kind.FRAGMENT_DEFINITION) collect(fragment.selectionSet)
  }
  collect(root)
  return names
}
