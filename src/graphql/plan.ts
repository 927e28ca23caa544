import {
  getNamedType,
  getNullableType,
  type GraphQLField,
  type GraphQLNamedOutputType,
  type GraphQLObjectType,
  type GraphQLResolveInfo,
  isAbstractType,
  isEnumType,
  isLeafType,
  isListType,
  isObjectType,
  Kind,
  type NamedTypeNode,
  type SelectionSetNode,
} from 'graphql'

/** The fields that an operation requests of an object, measured by their size in the answer. */
export interface Plan {
  /** Bytes of names, punctuation, and values of types that are always short. */
  readonly fixed: number
  /** Fields with texts or JSON, once for each name in the answer. */
  readonly texts: readonly string[]
  /** Fields whose values must be computed to know their size. */
  readonly computed: readonly GraphQLField<unknown, unknown>[]
  readonly objects: readonly { readonly field: GraphQLField<unknown, unknown>; readonly plan: Plan }[]
}

/** The fields that an operation requests of each entry of a connection. */
export interface EdgePlan {
  readonly fixed: number
  readonly cursors: number
  readonly nodes: readonly Plan[]
}

/** Bytes of a value, including quotes. JSON and String are measured. */
const SCALARS: Readonly<Record<string, number>> = { ID: 40, DateTime: 27, Int: 12, Boolean: 6, Float: 25 }
const ENUM = 40
/** A connection without edges, with its pageInfo: mostly two cursors. */
const CONNECTION = 500
/** `,"":` next to a name, and the braces of an object. */
const NAME = 4
const BRACES = 3

type Document = Pick<GraphQLResolveInfo, 'fragments' | 'schema'>
type SelectionSets = readonly (SelectionSetNode | undefined)[]

const MEASURED_EXTENSION = 'measured'

/** Marks a computed field whose value can be long: it is computed before its page is answered. */
export const MEASURED = { [MEASURED_EXTENSION]: true }

export const isMeasured = (extensions: Readonly<Record<string, unknown>>): boolean =>
  extensions[MEASURED_EXTENSION] === true

export const isConnectionName = (name: string): boolean => name.endsWith('Connection')

// By list of nodes, which is the same for all executions of a compiled document, and for all
// parents of a list.
const known = new WeakMap<object, EdgePlan>()

/** The requested fields for each edge of the connection that a resolver is about to return. */
export function edgePlanOf(info: GraphQLResolveInfo): EdgePlan {
  const existing = known.get(info.fieldNodes)
  if (existing !== undefined) return existing
  const plan = planEdges(info, getNamedType(info.returnType), setsOf(info))
  known.set(info.fieldNodes, plan)
  return plan
}

const setsOf = ({ fieldNodes }: GraphQLResolveInfo): SelectionSets => fieldNodes.map(({ selectionSet }) => selectionSet)

const ofNodes = new WeakMap<object, Map<string, Plan>>()

/** The requested fields for objects of a type that a resolver is about to return among others. */
export function nodePlanOf(info: GraphQLResolveInfo, typeName = ''): Plan {
  const plans = ofNodes.get(info.fieldNodes) ?? new Map<string, Plan>()
  ofNodes.set(info.fieldNodes, plans)
  const type = info.schema.getType(typeName)
  if (!isObjectType(type)) throw new Error(`${typeName} is no type of objects`)
  const plan = plans.get(typeName) ?? planObject(info, type, setsOf(info))
  plans.set(typeName, plan)
  return plan
}

const onlyFor = new WeakMap<object, Map<ReadonlySet<string>, boolean>>()

/**
 * Whether an operation requests only these fields of the object that a resolver is about to return.
 */
export function asksOnlyFor(info: GraphQLResolveInfo, names: ReadonlySet<string>): boolean {
  const answers = onlyFor.get(info.fieldNodes) ?? new Map<ReadonlySet<string>, boolean>()
  const existing = answers.get(names)
  if (existing !== undefined) return existing
  const isOnly = [...fieldsOf(info, setsOf(info)).values()].every(({ name }) => names.has(name))
  onlyFor.set(info.fieldNodes, answers.set(names, isOnly))
  return isOnly
}

function planEdges(document: Document, connection: GraphQLNamedOutputType, sets: SelectionSets): EdgePlan {
  let fixed = 0
  let cursors = 0
  const nodes: Plan[] = []
  const addNode = (node: GraphQLNamedOutputType | undefined, inner: SelectionSets): void => {
    if (isObjectType(node)) nodes.push(planObject(document, node, inner))
  }
  for (const { name: list, sets: ofEntry } of fieldsOf(document, sets).values()) {
    if (list === 'nodes') addNode(typeOf(connection, 'nodes'), ofEntry)
    if (list !== 'edges') continue
    const edge = typeOf(connection, 'edges')
    fixed += BRACES
    for (const [key, { name, sets: inner }] of fieldsOf(document, ofEntry)) {
      fixed += key.length + NAME
      if (name === 'cursor') cursors++
      if (name === 'node') addNode(typeOf(edge, 'node'), inner)
    }
  }
  return { fixed, cursors, nodes }
}

function typeOf(type: GraphQLNamedOutputType | undefined, name: string): GraphQLNamedOutputType | undefined {
  const field = isObjectType(type) ? type.getFields()[name] : undefined
  return field === undefined ? undefined : getNamedType(field.type)
}

function planObject(document: Document, type: GraphQLObjectType, sets: SelectionSets): Plan {
  const plan = {
    fixed: BRACES,
    texts: [] as string[],
    computed: [] as GraphQLField<unknown, unknown>[],
    objects: [] as Plan['objects'][number][],
  }
  for (const [key, { name, sets: inner }] of fieldsOf(document, sets, type)) {
    plan.fixed += key.length + NAME
    const field = type.getFields()[name]
    const of = field === undefined ? undefined : getNamedType(field.type)
    // Only `__typename` has no field.
    if (field === undefined || of === undefined) plan.fixed += ENUM
    else if (isConnectionName(of.name)) plan.fixed += CONNECTION
    else if (isObjectType(of)) plan.objects.push({ field, plan: planObject(document, of, inner) })
    else if (isMeasured(field.extensions)) plan.computed.push(field)
    else if (isListType(getNullableType(field.type))) plan.texts.push(name)
    else if (isEnumType(of)) plan.fixed += ENUM
    else if (isLeafType(of) && SCALARS[of.name] !== undefined) plan.fixed += SCALARS[of.name] ?? 0
    else plan.texts.push(name)
  }
  return plan
}

/**
 * The fields of selections by their names in the answer, including those in fragments; without
 * those in fragments on other types than `type`.
 */
function fieldsOf(
  { fragments, schema }: Document,
  sets: SelectionSets,
  type?: GraphQLObjectType,
): Map<string, { name: string; sets: SelectionSetNode[] }> {
  const isFor = (condition: NamedTypeNode | undefined): boolean => {
    if (type === undefined || condition === undefined || condition.name.value === type.name) return true
    const named = schema.getType(condition.name.value)
    return isAbstractType(named) && schema.isSubType(named, type)
  }
  const fields = new Map<string, { name: string; sets: SelectionSetNode[] }>()
  const spread = new Set<string>()
  const collect = (set: SelectionSetNode | undefined): void => {
    for (const selection of set?.selections ?? []) {
      if (selection.kind === Kind.FIELD) {
        const key = selection.alias?.value ?? selection.name.value
        const field = fields.get(key) ?? { name: selection.name.value, sets: [] }
        if (selection.selectionSet !== undefined) field.sets.push(selection.selectionSet)
        fields.set(key, field)
      } else if (selection.kind === Kind.INLINE_FRAGMENT) {
        if (isFor(selection.typeCondition)) collect(selection.selectionSet)
      } else if (!spread.has(selection.name.value)) {
        spread.add(selection.name.value)
        const fragment = fragments[selection.name.value]
        if (isFor(fragment?.typeCondition)) collect(fragment?.selectionSet)
      }
    }
  }
  sets.forEach(collect)
  return fields
}
