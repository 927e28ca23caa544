import { costLimitRule } from '@escape.tech/graphql-armor-cost-limit'
import {
  type ArgumentNode,
  type DefinitionNode,
  type DocumentNode,
  getOperationAST,
  type GraphQLError,
  type GraphQLSchema,
  Kind,
  OperationTypeNode,
  TypeInfo,
  validate,
  visit,
  visitWithTypeInfo,
} from 'graphql'

import { DEFAULT_PAGE, MAX_PAGE } from '../../core/cursor.ts'
import { MAX_REPRESENTATIONS } from '../../domains/federation/entities.ts'
import { refusal } from '../../schema/document-rules.ts'

/**
 * The most values that a document may request, with lists counted by page size. Measured: 16 000
 * took 35 ms of CPU, 15 ms once the document was compiled, including the client.
 */
const MAX_COST = 20_000

/** The same of a subscription, which asks for them with each event, and a replay has thousands. */
const MAX_EVENT_COST = 2000

const limitOf = (document: DocumentNode): number =>
  document.definitions.some(isSubscription) ? MAX_EVENT_COST : MAX_COST

const isSubscription = (definition: DefinitionNode): boolean =>
  definition.kind === Kind.OPERATION_DEFINITION && definition.operation === OperationTypeNode.SUBSCRIPTION

type Variables = Readonly<Record<string, unknown>>

/** The arguments that say how many objects a field answers, and the most that they allow. */
const SIZES: Readonly<Record<string, number>> = {
  first: MAX_PAGE,
  ids: MAX_PAGE,
  representations: MAX_REPRESENTATIONS,
}

/** Documents that are cheap whatever their variables: most are, and they are kept parsed. */
const harmless = new WeakSet<DocumentNode>()

/** Why a document with these variables costs too much; empty if it does not. */
export function costErrors(
  schema: GraphQLSchema,
  document: DocumentNode,
  variables: Variables,
): readonly GraphQLError[] {
  if (harmless.has(document)) return []
  const limit = limitOf(document)
  if (costWith(schema, document, null) <= limit) {
    harmless.add(document)
    return []
  }
  const cost = costWith(schema, document, variables)
  if (cost <= limit) return []
  return [refusal('too_costly', `must ask for at most ${limit} values, not ${cost}: ask for smaller pages`)]
}

/** What a caller is told of an operation's cost: the values that it asks for, and the most. */
export function costOf(
  schema: GraphQLSchema,
  document: DocumentNode,
  { operationName, variables }: { operationName: string | null | undefined; variables: Variables },
): { requested: number; limit: number } {
  const chosen = getOperationAST(document, operationName)
  const definitions = document.definitions.filter((each) => each === chosen || each.kind === Kind.FRAGMENT_DEFINITION)
  return { requested: costWith(schema, { ...document, definitions }, variables), limit: limitOf(document) }
}

/** The cost of the dearest operation of a document. */
function costWith(schema: GraphQLSchema, document: DocumentNode, variables: Variables | null): number {
  let cost = 0
  const rule = costLimitRule({
    maxCost: Number.MAX_SAFE_INTEGER,
    objectCost: 1,
    scalarCost: 1,
    depthCostFactor: 1,
    flattenFragments: true,
    onAccept: [(_context, { n }) => (cost = Math.max(cost, n))],
  })
  validate(schema, withSizes(schema, document, variables), [rule])
  return cost
}

/**
 * The document with the size of each page, and of each list of ids, as a number. The rule reads
 * only numbers, and would count a page as one value if its size is a variable or the default. Null
 * as variables: the largest possible sizes; larger ones are refused by their list.
 */
function withSizes(schema: GraphQLSchema, document: DocumentNode, variables: Variables | null): DocumentNode {
  const types = new TypeInfo(schema)
  const defaults = new Map<string, ArgumentNode['value']>()
  const sizeOf = (value: ArgumentNode['value'] | undefined): number => {
    if (value === undefined || value.kind === Kind.NULL) return DEFAULT_PAGE
    if (value.kind === Kind.INT) return Number(value.value)
    if (value.kind !== Kind.VARIABLE || variables === null) return MAX_PAGE
    const given = variables[value.name.value]
    if (given === undefined) return sizeOf(defaults.get(value.name.value))
    return typeof given === 'number' ? given : given === null ? DEFAULT_PAGE : MAX_PAGE
  }
  const lengthOf = (value: ArgumentNode['value'] | undefined, most: number): number => {
    if (value?.kind === Kind.LIST) return value.values.length
    if (value?.kind !== Kind.VARIABLE) return 1
    const given = variables?.[value.name.value]
    return Array.isArray(given) ? given.length : most
  }
  return visit(
    document,
    visitWithTypeInfo(types, {
      VariableDefinition({ variable, defaultValue }) {
        if (defaultValue !== undefined) defaults.set(variable.name.value, defaultValue)
      },
      Field(node) {
        const counted = types.getFieldDef()?.args.find(({ name }) => Object.hasOwn(SIZES, name))?.name
        const most = SIZES[counted ?? '']
        if (counted === undefined || most === undefined) return undefined
        const given = node.arguments?.find(({ name }) => name.value === counted)?.value
        const entries = counted === 'first' ? sizeOf(given) : lengthOf(given, most)
        const size: ArgumentNode = {
          kind: Kind.ARGUMENT,
          name: { kind: Kind.NAME, value: 'first' },
          value: { kind: Kind.INT, value: String(Math.min(most, entries)) },
        }
        return { ...node, arguments: [size] }
      },
    }),
  )
}
