import {
  type DocumentNode,
  type FragmentDefinitionNode,
  getNamedType,
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLSchema,
  isInterfaceType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  SchemaMetaFieldDef,
  type SelectionNode,
  TypeMetaFieldDef,
} from 'graphql'

/** A node that can contain selections. */
export type Selecting = OperationDefinitionNode | FragmentDefinitionNode | SelectionNode
export type AnyField = GraphQLField<unknown, unknown>

type Type = GraphQLNamedType | undefined

/**
 * Makes the function that values the operations of a document. A value is made of those of the
 * selections: `valueOf` gets a node, the values of the nodes in it, and the definition of a field.
 * A spread contains its fragment. A fragment is valued once, however often it is spread and by
 * however many operations; in itself it has no value.
 */
export function folding<Value>(
  schema: GraphQLSchema,
  document: DocumentNode,
  valueOf: (node: Selecting, inside: readonly Value[], field: AnyField | undefined) => Value,
): (operation: OperationDefinitionNode) => Value {
  const definitions = fragmentsOf(document)
  const values = new Map<string, Value[]>()

  function fold(node: Selecting, parent: Type): Value {
    if (node.kind === Kind.FRAGMENT_SPREAD) return valueOf(node, foldFragment(node.name.value), undefined)
    const field = node.kind === Kind.FIELD ? fieldOf(parent, node.name.value) : undefined
    const type = node.kind === Kind.FIELD ? field && getNamedType(field.type) : typeOf(schema, node, parent)
    const inside = node.selectionSet?.selections.map((each) => fold(each, type)) ?? []
    return valueOf(node, inside, field)
  }

  function foldFragment(name: string): Value[] {
    const known = values.get(name)
    if (known !== undefined) return known
    values.set(name, [])
    const fragment = definitions.get(name)
    const value = fragment === undefined ? [] : [fold(fragment, undefined)]
    values.set(name, value)
    return value
  }

  return (operation) => fold(operation, undefined)
}

/** The fragments of a document by their names; the first of several with one name. */
export function fragmentsOf({ definitions }: DocumentNode): ReadonlyMap<string, FragmentDefinitionNode> {
  const fragments = new Map<string, FragmentDefinitionNode>()
  for (const each of definitions) {
    if (each.kind === Kind.FRAGMENT_DEFINITION && !fragments.has(each.name.value)) fragments.set(each.name.value, each)
  }
  return fragments
}

const META_FIELDS = [SchemaMetaFieldDef, TypeMetaFieldDef]

const fieldOf = (parent: Type, name: string): AnyField | undefined =>
  META_FIELDS.find((field) => field.name === name) ??
  (isObjectType(parent) || isInterfaceType(parent) ? parent.getFields()[name] : undefined)

/** The type whose fields a node other than a field selects. */
function typeOf(schema: GraphQLSchema, node: Exclude<Selecting, { kind: Kind.FIELD }>, parent: Type): Type {
  if (node.kind === Kind.OPERATION_DEFINITION) return schema.getRootType(node.operation) ?? undefined
  const condition = node.kind === Kind.FRAGMENT_SPREAD ? undefined : node.typeCondition
  return condition === undefined ? parent : schema.getType(condition.name.value)
}
