import {
  type DocumentNode,
  getOperationAST,
  GraphQLError,
  type GraphQLInputType,
  type GraphQLSchema,
  isNonNullType,
} from 'graphql'

import { type FieldError, MAX_FIELD_ERRORS, validationFailed } from '../../core/errors.ts'
import { pointer } from '../../core/input/validate.ts'
import { checkInput, variableTypes } from './input.ts'

type Variables = Readonly<Record<string, unknown>>

interface Declared {
  type: GraphQLInputType
  hasDefault: boolean
}

/** The declarations of an operation. Cached with the parsed documents. */
const declarations = new WeakMap<DocumentNode, Map<string, ReadonlyMap<string, Declared> | null>>()

/** Null if the name matches no operation, or is missing although there are several. */
function declaredBy(schema: GraphQLSchema, document: DocumentNode, name: string): ReadonlyMap<string, Declared> | null {
  const byName = declarations.get(document) ?? new Map<string, ReadonlyMap<string, Declared> | null>()
  declarations.set(document, byName)
  const known = byName.get(name)
  if (known !== undefined) return known
  const operation = getOperationAST(document, name === '' ? null : name)
  // The name comes from the caller, so only existing ones are cached.
  if (operation == null) return null
  const definitions = operation.variableDefinitions ?? []
  const types = variableTypes(schema, definitions)
  const declared = new Map<string, Declared>()
  for (const { variable, defaultValue } of definitions) {
    const type = types.get(variable.name.value)
    if (type !== undefined) declared.set(variable.name.value, { type, hasDefault: defaultValue !== undefined })
  }
  byName.set(name, declared)
  return declared
}

/**
 * The errors of a valid document with this operation name and these variables; empty if there are
 * none.
 */
export function variableErrors(
  schema: GraphQLSchema,
  document: DocumentNode,
  operationName: string | null | undefined,
  variables: Variables,
): readonly GraphQLError[] {
  const declared = declaredBy(schema, document, operationName ?? '')
  const errors = declared === null ? [NO_OPERATION] : wrongVariables(declared, variables)
  if (errors.length === 0) return []
  const originalError = validationFailed(errors)
  return [new GraphQLError(originalError.message, { originalError })]
}

const NO_OPERATION: FieldError = {
  pointer: '/operationName',
  code: 'invalid',
  message: 'must name one operation of the document',
}

/** Ignores variables that the operation does not declare, as CoerceVariableValues does. */
function wrongVariables(declared: ReadonlyMap<string, Declared>, variables: Variables): FieldError[] {
  const errors: FieldError[] = []
  for (const [name, { type, hasDefault }] of declared) {
    if (errors.length >= MAX_FIELD_ERRORS) break
    const path = ['variables', name]
    const value = Object.hasOwn(variables, name) ? variables[name] : undefined
    if (value !== undefined) errors.push(...checkInput(type, value, { path, coerces: true }))
    else if (!hasDefault && isNonNullType(type)) {
      errors.push({ pointer: pointer(path), code: 'required', message: 'is required' })
    }
  }
  return errors
}
