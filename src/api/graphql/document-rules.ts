import { maxAliasesRule } from '@escape.tech/graphql-armor-max-aliases'
import { maxDepthRule } from '@escape.tech/graphql-armor-max-depth'
import { maxDirectivesRule } from '@escape.tech/graphql-armor-max-directives'
import {
  type DocumentNode,
  GraphQLError,
  type GraphQLSchema,
  validate,
  type ValidationContext,
  type ValidationRule,
} from 'graphql'

import { invalid, ServiceError } from '../../core/errors.ts'
import { NO_INTROSPECTION, RULES } from './rule-texts.ts'

// Twice what the deepest operation of REST has (9); what GraphiQL asks for is left out of account.
const MAX_DEPTH = 20
const MAX_ALIASES = 30
const MAX_DIRECTIVES = 30
/**
 * A whole schema is 170 KB of answer (measured), and anybody may ask for it where introspection is
 * on.
 */
const MAX_INTROSPECTIONS = 2
/** Callers mend one thing at a time; a document can have a thousand things wrong. */
const MAX_ERRORS = 10

/** Why a document is refused, in the form of all refusals (docs/reference/choices.md). */
export function refusal(code: string, message: string): GraphQLError {
  const originalError = invalid('/query', code, message)
  return new GraphQLError(originalError.message, { originalError })
}

/**
 * How a rule of GraphQL Armor refuses: by our words, and not by throwing through the validation.
 */
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

/**
 * None of the library's rules counts introspections: they leave them out of account, for the sake
 * of GraphiQL.
 */
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

/**
 * What is wrong with a document, whatever its variables say. The limits come first: what they
 * refuse is not worth the work of the rules of GraphQL itself, some of which take the square of a
 * document's length.
 */
export function documentErrors(
  schema: GraphQLSchema,
  document: DocumentNode,
  { introspection }: { introspection: boolean },
): readonly GraphQLError[] {
  const over = validate(schema, document, LIMITS, { maxErrors: MAX_ERRORS })
  if (over.length > 0) return over
  const rules = introspection ? RULES : [...RULES, NO_INTROSPECTION]
  return validate(schema, document, rules, { maxErrors: MAX_ERRORS }).map((error) =>
    error.originalError instanceof ServiceError
      ? error
      : // The library gives up: after so many errors, or so many comparisons of fields.
        refusal('too_long', 'has too much in it to be checked to its end'),
  )
}
