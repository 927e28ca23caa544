import { maxAliasesRule } from '@escape.tech/graphql-armor-max-aliases'
import { maxDepthRule } from '@escape.tech/graphql-armor-max-depth'
import { maxDirectivesRule } from '@escape.tech/graphql-armor-max-directives'
import {
  type DocumentNode,
  GraphQLError,
  type GraphQLSchema,
  isInputObjectType,
  isNonNullType,
  Kind,
  NoSchemaIntrospectionCustomRule,
  specifiedRules,
  validate,
  type ValidationContext,
  type ValidationRule,
} from 'graphql'

import { invalid, ServiceError } from '../core/errors.ts'

// Twice the depth of the deepest operation of REST (9). Introspection, as by GraphiQL, is not
// counted.
const MAX_DEPTH = 20
const MAX_ALIASES = 30
const MAX_DIRECTIVES = 30
/**
 * A whole schema is an answer of 170 KB (measured), and anyone may request it if introspection is
 * on.
 */
const MAX_INTROSPECTIONS = 2
/** Callers fix one error at a time; a document can have a thousand. */
const MAX_ERRORS = 10
/** graphql-js quotes names of the document, and one name can have 250 000 characters. */
const MAX_MESSAGE = 500

/** The refusal of a document, in the form of all refusals (docs/reference/choices.md). */
export function refusal(code: string, message: string): GraphQLError {
  const originalError = invalid('/query', code, message)
  return new GraphQLError(originalError.message, { originalError })
}

/** Makes rules of GraphQL Armor report our refusals, instead of throwing through the validation. */
const refuse = (code: string, message: string) => ({
  propagateOnRejection: false,
  onReject: [(context: ValidationContext | null) => context?.reportError(refusal(code, message))],
})

const LIMITS: readonly ValidationRule[] = [
  maxDepthRule({
    n: MAX_DEPTH,
    flattenFragments: true,
    ...refuse('too_deep', `must be at most ${MAX_DEPTH} levels deep`),
  }),
  maxAliasesRule({ n: MAX_ALIASES, ...refuse('too_many_aliases', `must have at most ${MAX_ALIASES} aliases`) }),
  maxDirectivesRule({
    n: MAX_DIRECTIVES,
    ...refuse('too_many_directives', `must have at most ${MAX_DIRECTIVES} directives`),
  }),
  maxIntrospections,
]

/** The library's rules do not count introspection at all, for the sake of GraphiQL. */
function maxIntrospections(context: ValidationContext): ReturnType<ValidationRule> {
  let count = 0
  return {
    Field({ name }) {
      if (name.value !== '__schema' && name.value !== '__type') return
      if (++count !== MAX_INTROSPECTIONS + 1) return
      const message = `must ask at most ${MAX_INTROSPECTIONS} times for the schema`
      context.reportError(refusal('too_many_introspections', message))
    },
  }
}

const RULES: readonly ValidationRule[] = [...specifiedRules, variablesOfOneOf]

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
        const message = `Variable "$${node.name.value}" must be non-nullable to be used for OneOf Input Object "${parentType.ofType.name}".`
        context.reportError(new GraphQLError(message, { nodes: [definition, node] }))
      }
    },
  }
}

/**
 * The errors of a document, whatever its variables. The limits come first, so that documents over
 * them do not reach GraphQL's own rules, some of which take quadratic time. Where the schema is not
 * shown, no message suggests a name of it.
 */
export function documentErrors(
  schema: GraphQLSchema,
  document: DocumentNode,
  { introspection }: { introspection: boolean },
): readonly GraphQLError[] {
  const over = validate(schema, document, LIMITS, { maxErrors: MAX_ERRORS })
  if (over.length > 0) return over
  const rules = introspection ? RULES : [...RULES, NoSchemaIntrospectionCustomRule]
  return validate(schema, document, rules, { maxErrors: MAX_ERRORS, hideSuggestions: !introspection }).map(
    ({ message, nodes, source, positions }) => {
      const originalError = requestRefusal({ message }, '/query')
      return new GraphQLError(originalError.message, {
        nodes: nodes ?? null,
        source: source ?? null,
        positions: positions ?? null,
        originalError,
      })
    },
  )
}

/** A refusal by graphql-js, in its own words. */
export function requestRefusal({ message }: Pick<GraphQLError, 'message'>, pointer: string): ServiceError {
  const detail = message.length > MAX_MESSAGE ? `${message.slice(0, MAX_MESSAGE)}…` : message
  return new ServiceError('validation_failed', { detail, errors: [{ pointer, code: 'invalid', message: detail }] })
}
