import {
  type ASTNode,
  ExecutableDefinitionsRule,
  FieldsOnCorrectTypeRule,
  FragmentsOnCompositeTypesRule,
  GraphQLError,
  isInputObjectType,
  isNonNullType,
  Kind,
  KnownArgumentNamesRule,
  KnownDirectivesRule,
  KnownFragmentNamesRule,
  KnownTypeNamesRule,
  LoneAnonymousOperationRule,
  NoFragmentCyclesRule,
  NoSchemaIntrospectionCustomRule,
  NoUndefinedVariablesRule,
  NoUnusedFragmentsRule,
  NoUnusedVariablesRule,
  OverlappingFieldsCanBeMergedRule,
  PossibleFragmentSpreadsRule,
  print,
  ProvidedRequiredArgumentsRule,
  ScalarLeafsRule,
  SingleFieldSubscriptionsRule,
  specifiedRules,
  UniqueArgumentNamesRule,
  UniqueDirectivesPerLocationRule,
  UniqueFragmentNamesRule,
  UniqueInputFieldNamesRule,
  UniqueOperationNamesRule,
  UniqueVariableNamesRule,
  type ValidationContext,
  type ValidationRule,
  ValuesOfCorrectTypeRule,
  VariablesAreInputTypesRule,
  VariablesInAllowedPositionRule,
} from 'graphql'

import { invalid, ServiceError } from '../core/errors.ts'

/** The most characters of the caller's document that a message quotes. */
const MAX_QUOTED = 60

/** The messages for broken rules of GraphQL; the offending node follows. */
const WORDS = new Map<ValidationRule, string>([
  [ExecutableDefinitionsRule, 'must have operations and fragments alone'],
  [UniqueOperationNamesRule, 'must not have two operations of one name'],
  [LoneAnonymousOperationRule, 'must name each operation where it has several'],
  [SingleFieldSubscriptionsRule, 'must select one field in a subscription, and no introspection'],
  [KnownTypeNamesRule, 'names a type that does not exist'],
  [FragmentsOnCompositeTypesRule, 'has a fragment on a type without fields'],
  [VariablesAreInputTypesRule, 'has a variable of a type that is no input'],
  [ScalarLeafsRule, 'must select fields of an object, and none of a scalar'],
  [FieldsOnCorrectTypeRule, 'asks for a field that does not exist there'],
  [UniqueFragmentNamesRule, 'must not have two fragments of one name'],
  [KnownFragmentNamesRule, 'uses a fragment that it does not have'],
  [NoUnusedFragmentsRule, 'has a fragment that is not used'],
  [PossibleFragmentSpreadsRule, 'uses a fragment where its type never occurs'],
  [NoFragmentCyclesRule, 'has a fragment that contains itself'],
  [UniqueVariableNamesRule, 'must not declare a variable twice'],
  [NoUndefinedVariablesRule, 'uses a variable that it does not declare'],
  [NoUnusedVariablesRule, 'declares a variable that it does not use'],
  [KnownDirectivesRule, 'uses a directive that does not exist there'],
  [UniqueDirectivesPerLocationRule, 'must not repeat a directive'],
  [KnownArgumentNamesRule, 'has an argument that does not exist there'],
  [UniqueArgumentNamesRule, 'must not repeat an argument'],
  [ValuesOfCorrectTypeRule, 'has a value that does not fit its place'],
  [ProvidedRequiredArgumentsRule, 'lacks a required argument'],
  [VariablesInAllowedPositionRule, 'uses a variable where its type does not fit'],
  [variablesOfOneOf, 'uses a variable where its type does not fit'],
  [OverlappingFieldsCanBeMergedRule, 'asks for different things under one name'],
  [UniqueInputFieldNamesRule, 'must not repeat a field of an input'],
  [NoSchemaIntrospectionCustomRule, 'must not ask for the schema, which is not shown here'],
])

/**
 * GraphQL's rules with our own messages: the library's would reveal names of the schema, and change
 * with its version.
 */
export const RULES: readonly ValidationRule[] = [...specifiedRules, variablesOfOneOf].map(inOurWords)

export const NO_INTROSPECTION = inOurWords(NoSchemaIntrospectionCustomRule)

/**
 * A variable for the field of a `@oneOf` input must not be null. graphql-js (16.15) checks that
 * only where the input itself may be null.
 */
function variablesOfOneOf(context: ValidationContext): ReturnType<ValidationRule> {
  return {
    OperationDefinition(operation) {
      const { variableDefinitions = [] } = operation
      for (const { node, parentType } of context.getRecursiveVariableUsages(operation)) {
        if (!isNonNullType(parentType) || !isInputObjectType(parentType.ofType) || !parentType.ofType.isOneOf) continue
        const definition = variableDefinitions.find(({ variable }) => variable.name.value === node.name.value)
        if (definition === undefined || definition.type.kind === Kind.NON_NULL_TYPE) continue
        context.reportError(new GraphQLError('must not be null', { nodes: [definition, node] }))
      }
    },
  }
}

/** Words that say more than those of the rule; undefined if there are none. */
function nearer(rule: ValidationRule, { message, nodes }: GraphQLError): string | undefined {
  if (rule === ProvidedRequiredArgumentsRule) {
    const [, argument] = /argument "(\w+)"/.exec(message) ?? []
    return argument && `lacks the required argument ${argument}`
  }
  if (rule === ScalarLeafsRule) {
    const [field] = nodes ?? []
    const hasFields = field !== undefined && field.kind === Kind.SELECTION_SET
    return hasFields ? 'selects fields of a scalar' : 'must select fields of an object'
  }
  if (rule === ValuesOfCorrectTypeRule && message.startsWith('OneOf')) return 'must give exactly one field of an input'
  return undefined
}

function inOurWords(rule: ValidationRule): ValidationRule {
  const words = WORDS.get(rule) ?? 'is not valid GraphQL'
  return (context) =>
    rule(
      withReport(context, (error) => {
        const reason = error.originalError instanceof ServiceError ? reasonOf(error.originalError) : ''
        context.reportError(refusalAt(error, (nearer(rule, error) ?? words) + quoted(error.nodes?.[0]) + reason))
      }),
    )
}

/** The same context, but with another `reportError`. */
const withReport = (context: ValidationContext, report: (error: GraphQLError) => void): ValidationContext =>
  Object.create(context, { reportError: { value: report } }) as ValidationContext

/** The message of one of our scalars. */
const reasonOf = ({ extras }: ServiceError): string =>
  (extras.errors ?? []).map(({ message }) => `: it ${message}`).join('')

/** The name of a node, or the text of a value. */
function quoted(node: ASTNode | undefined): string {
  if (node === undefined) return ''
  const name = 'name' in node ? node.name?.value : undefined
  const text = name ?? (node.kind.endsWith('Value') ? print(node).replaceAll(/\s+/g, ' ') : '')
  if (text === '') return ''
  return ` (${text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED)}…` : text})`
}

function refusalAt({ nodes, source, positions }: GraphQLError, message: string): GraphQLError {
  const originalError = invalid('/query', 'invalid', message)
  const place = { nodes: nodes ?? null, source: source ?? null, positions: positions ?? null }
  return new GraphQLError(originalError.message, { ...place, originalError })
}

/**
 * The error for refusals by GraphQL itself, before any rule above or during execution, described by
 * their place.
 */
export function requestRefusal({ nodes, locations }: GraphQLError): ServiceError {
  if (nodes !== undefined) return invalid('/variables', 'invalid', 'do not match their use in the document')
  const [at] = locations ?? []
  if (at === undefined) return invalid('/operationName', 'invalid', 'must name one operation of the document')
  return invalid('/query', 'invalid', `is not a GraphQL document: see line ${at.line}, column ${at.column}`)
}
