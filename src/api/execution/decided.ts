import { type DirectiveNode, type DocumentNode, getOperationAST, Kind, valueFromASTUntyped, visit } from 'graphql'

type Variables = Readonly<Record<string, unknown>>

/** The values of the variables that `@skip` and `@include` of an operation read, by name. */
export type Conditions = ReadonlyMap<string, boolean>

const NAMES: ReadonlySet<string> = new Set(['skip', 'include'])

const isCondition = ({ name }: DirectiveNode): boolean => NAMES.has(name.value)

/** The variables of a document that decide how it is compiled. */
interface Deciding {
  hasConditions: boolean
  /** Those that conditions read. */
  read: readonly string[]
  /** Those with a default. */
  defaulted: readonly string[]
}

const known = new WeakMap<DocumentNode, Deciding>()

function decidingOf(document: DocumentNode): Deciding {
  const existing = known.get(document)
  if (existing !== undefined) return existing
  let hasConditions = false
  const read = new Set<string>()
  const defaulted = new Set<string>()
  visit(document, {
    VariableDefinition({ variable, defaultValue }) {
      if (defaultValue !== undefined) defaulted.add(variable.name.value)
    },
    Directive(directive) {
      if (!isCondition(directive)) return
      hasConditions = true
      for (const { value } of directive.arguments ?? []) if (value.kind === Kind.VARIABLE) read.add(value.name.value)
    },
  })
  const deciding = { hasConditions, read: [...read].sort(), defaulted: [...defaulted] }
  known.set(document, deciding)
  return deciding
}

/**
 * What the conditions of an operation read of these variables. Null where a variable with a default
 * is null: that may be refused at its use, which compiled code reports without its place, and after
 * which it runs no further mutation.
 */
export function conditionsOf(document: DocumentNode, operationName: string, variables: Variables): Conditions | null {
  const { read, defaulted } = decidingOf(document)
  if (defaulted.some((name) => variables[name] === null)) return null
  const conditions = new Map<string, boolean>()
  if (read.length === 0) return conditions
  const { variableDefinitions = [] } = getOperationAST(document, operationName === '' ? null : operationName) ?? {}
  for (const name of read) {
    const definition = variableDefinitions.find(({ variable }) => variable.name.value === name)
    // A variable of another operation of the document.
    if (definition === undefined) continue
    const { defaultValue } = definition
    conditions.set(name, (variables[name] ?? (defaultValue && valueFromASTUntyped(defaultValue))) === true)
  }
  return conditions
}

/**
 * The document without its conditions, and without what they leave out. The compiler merges fields
 * without regard to conditions: it would put a field at the place of a selection that is left out,
 * forget the second of two spreads of a fragment if the first is left out, and let the condition of
 * one spread apply to the other.
 */
export function decide(document: DocumentNode, conditions: Conditions): DocumentNode {
  if (!decidingOf(document).hasConditions) return document
  const decideNode = <Node extends { readonly directives?: readonly DirectiveNode[] | undefined }>(node: Node) => {
    const { directives = [] } = node
    if (!directives.some(isCondition)) return undefined
    const isLeftOut = directives.some((directive) => leavesOut(directive, conditions))
    return isLeftOut ? null : { ...node, directives: directives.filter((directive) => !isCondition(directive)) }
  }
  return visit(document, { Field: decideNode, InlineFragment: decideNode, FragmentSpread: decideNode })
}

function leavesOut(directive: DirectiveNode, conditions: Conditions): boolean {
  if (!isCondition(directive)) return false
  const value = directive.arguments?.[0]?.value
  const holds =
    value?.kind === Kind.VARIABLE
      ? conditions.get(value.name.value) === true
      : value?.kind === Kind.BOOLEAN && value.value
  return directive.name.value === 'skip' ? holds : !holds
}
