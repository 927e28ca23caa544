import {
  type DocumentNode,
  getNamedType,
  GraphQLError,
  type GraphQLSchema,
  isInputObjectType,
  isNonNullType,
  Kind,
  NoSchemaIntrospectionCustomRule,
  specifiedRules,
  validate,
  visit,
  type ValidationContext,
  type ValidationRule,
} from 'graphql'

import { invalid, ServiceError } from '../../core/errors.ts'
import { type AnyField, folding, type Selecting } from './fold.ts'

// Twice the depth of the deepest operation of REST (9). Introspection, as by GraphiQL, is not
// counted.
const MAX_DEPTH = 20
const MAX_ALIASES = 30
const MAX_DIRECTIVES = 30
/** The fields of introspection. Anyone may ask for them if introspection is on. */
const MAX_INTROSPECTIONS = 2
/** The whole schema is an answer of 490 KB, and takes 30 ms (measured). Tools ask for it once. */
const MAX_SCHEMAS = 1
/**
 * Lists of a type, such as its fields, in one another below a type of `__schema`. No tool nests
 * them. The longest answer with two in one another was 3.4 MB, and is 1 MB with one (measured).
 */
const MAX_TYPE_LISTS = 1
const TYPE_LISTS: ReadonlySet<string> = new Set(['fields', 'inputFields', 'interfaces', 'possibleTypes', 'enumValues'])
/**
 * GraphQL's own rules compare each two fields of one response name, with all that they select, and
 * each two fragments: 480 times `author { id }` took a second (measured).
 */
const MAX_REPEATS = 100
/** Tools write one operation in a document, and GraphiQL a few. */
const MAX_OPERATIONS = 50
/** GraphQL's own rules go through the fragments of each operation, and compare each two of them. */
const MAX_FRAGMENTS = 100
/** Callers fix one error at a time; a document can have a thousand. */
const MAX_ERRORS = 10
/** graphql-js quotes names of the document, and one name can have 250 000 characters. */
const MAX_MESSAGE = 500

/** The refusal of a document, in the form of all refusals (docs/reference/choices/graphql.md). */
export function refusal(code: string, message: string): GraphQLError {
  const originalError = invalid('/query', code, message)
  return new GraphQLError(originalError.message, { originalError })
}

/** The figures of an operation that have limits; those of a fragment count at each spread. */
interface Counts {
  depth: number
  aliases: number
  directives: number
  /** How deep lists of types nest in `__schema`, or below the one type that `__type` shows. */
  typeLists: number
}

function countsOf(node: Selecting, inside: readonly Counts[], field: AnyField | undefined): Counts {
  const sum = (name: keyof Counts): number => inside.reduce((total, counts) => total + counts[name], 0)
  const isField = node.kind === Kind.FIELD
  const hasAlias = isField && node.alias !== undefined && node.name.value !== '__typename'
  const most = (name: keyof Counts): number => Math.max(0, ...inside.map((counts) => counts[name]))
  const isTypeList = isField && TYPE_LISTS.has(node.name.value) && isOfIntrospection(field && getNamedType(field.type))
  const isType = isField && node.name.value === '__type'
  const isIntrospection = isField && node.name.value === '__schema'
  return {
    depth: isIntrospection ? 0 : most('depth') + (isField ? 1 : 0),
    aliases: sum('aliases') + (hasAlias ? 1 : 0),
    directives: sum('directives') + (node.directives?.length ?? 0),
    typeLists: most('typeLists') + Number(isTypeList) - Number(isType),
  }
}

function limits(context: ValidationContext): ReturnType<ValidationRule> {
  let introspections = 0
  let schemas = 0
  let spreads = 0
  const repeats = new Map<string, number>()
  const exported = new Map<string, string>()
  const report = (code: string, message: string): void => context.reportError(refusal(code, message))
  const measure = folding(context.getSchema(), context.getDocument(), countsOf)
  return {
    Document({ definitions }) {
      const count = (kind: Kind): number => definitions.filter((each) => each.kind === kind).length
      if (count(Kind.OPERATION_DEFINITION) > MAX_OPERATIONS) {
        report('too_many_operations', `must have at most ${MAX_OPERATIONS} operations`)
      }
      if (count(Kind.FRAGMENT_DEFINITION) > MAX_FRAGMENTS) {
        report('too_many_fragments', `must have at most ${MAX_FRAGMENTS} fragments`)
      }
    },
    OperationDefinition(operation) {
      const counts = measure(operation)
      if (counts.depth > MAX_DEPTH) report('too_deep', `must be at most ${MAX_DEPTH} levels deep`)
      if (counts.aliases > MAX_ALIASES) report('too_many_aliases', `must have at most ${MAX_ALIASES} aliases`)
      if (counts.directives > MAX_DIRECTIVES) {
        report('too_many_directives', `must have at most ${MAX_DIRECTIVES} directives`)
      }
      if (counts.typeLists > MAX_TYPE_LISTS) {
        report('too_deep', 'must nest no list of a type, such as fields, within another one in __schema')
      }
    },
    Field({ name, alias, selectionSet }) {
      if (selectionSet !== undefined) {
        const shown = (alias ?? name).value
        const count = (repeats.get(shown) ?? 0) + 1
        repeats.set(shown, count)
        if (count === MAX_REPEATS + 1) {
          report('too_many_repeats', `must have at most ${MAX_REPEATS} fields with selections of one name`)
        }
      }
      // 28 aliases of `fields` made 3.7 MB of the schema (measured), and no tool has any there.
      if (alias !== undefined && name.value !== '__typename' && isOfIntrospection(context.getParentType())) {
        report('too_many_aliases', 'must have no aliases in the fields of __schema and __type')
      }
      const parent = context.getParentType()?.name ?? ''
      if (name.value === 'readerExport' || OF_EXPORT.test(parent)) {
        const [field, shown] = [`${parent}.${name.value}`, (alias ?? name).value]
        if ((exported.get(field) ?? shown) !== shown)
          report('too_many_aliases', `must ask for ${name.value} of an export under one name`)
        exported.set(field, shown)
      }
      if (!isIntrospection(name.value)) return
      if (name.value === '__schema' && ++schemas === MAX_SCHEMAS + 1) {
        report('too_many_introspections', 'must ask at most once for __schema')
      }
      if (++introspections !== MAX_INTROSPECTIONS + 1) return
      report('too_many_introspections', `must ask at most ${MAX_INTROSPECTIONS} times for the schema`)
    },
    FragmentSpread() {
      if (++spreads === MAX_REPEATS + 1) report('too_many_repeats', `must spread at most ${MAX_REPEATS} fragments`)
    },
  }
}

const isIntrospection = (name: string): boolean => name === '__schema' || name === '__type'
/** Types of the export of a reader. Its lists have no pages: a second name would double them. */
const OF_EXPORT = /^(ReaderExport$|Exported)/
const isOfIntrospection = (type: { name: string } | null | undefined): boolean => type?.name.startsWith('__') === true

/** The number of fields in a document that ask for the schema. */
export function countIntrospections(document: DocumentNode): number {
  let count = 0
  visit(document, { Field: ({ name }) => void (count += Number(isIntrospection(name.value))) })
  return count
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
        const input = isNonNullType(parentType) ? parentType.ofType : undefined
        if (!isInputObjectType(input) || !input.isOneOf) continue
        const name = node.name.value
        const definition = variableDefinitions.find(({ variable }) => variable.name.value === name)
        if (definition === undefined || definition.type.kind === Kind.NON_NULL_TYPE) continue
        const message = `Variable "$${name}" must be non-nullable to be used for OneOf Input Object "${input.name}".`
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
  const over = validate(schema, document, [limits], { maxErrors: MAX_ERRORS })
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
