import { getOperationAST, type OperationTypeNode, parse } from 'graphql'

import { validationFailed } from '../core/errors.ts'
import { pointer } from '../core/validate.ts'
import { checkDocument } from './limits.ts'

const isText = (value: unknown): boolean => typeof value === 'string'
const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value)
const optional =
  (is: (value: unknown) => boolean) =>
  (value: unknown): boolean =>
    value === undefined || value === null || is(value)

/** What a GraphQL request may say (GraphQL over HTTP, section 4.2), and what each must be. */
const PARAMS: Readonly<Record<string, { is: (value: unknown) => boolean; message: string }>> = {
  query: { is: isText, message: 'must be a string' },
  operationName: { is: optional(isText), message: 'must be a string' },
  variables: { is: optional(isObject), message: 'must be an object' },
  extensions: { is: optional(isObject), message: 'must be an object' },
}

/**
 * Checks the body of a GraphQL request, and the size of its document before anything parses it. A batch is refused: one
 * request, one token of the bucket. Throws `validation_failed`.
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

/** Whether the body of a request asks for an operation of this kind, but a query. One that cannot be read asks for none. */
export function asksFor(body: unknown, kind: OperationTypeNode): boolean {
  const { query, operationName } = (body ?? {}) as { query?: unknown; operationName?: unknown }
  // Only a query need not name what it is: most documents are not parsed here.
  if (typeof query !== 'string' || !query.includes(kind)) return false
  try {
    return getOperationAST(parse(query), typeof operationName === 'string' ? operationName : null)?.operation === kind
  } catch {
    return false
  }
}
