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
  type SelectionNode,
} from 'graphql'

/** A node that can contain selections. */
export type Selecting = OperationDefinitionNode | FragmentDefinitionNode | SelectionNode
export type AnyField = GraphQLField<unknown, unknown>

type Type = GraphQLNamedType | undefined

/**
 * The value of an operation, made of those of its selections: `valueOf` gets a node, the values of
 * the nodes in it, and the definition of a field. A spread contains its fragment. A fragment is
 * valued once, however often it is spread; in itself it has no value.
 */
export function foldOperation<Value>(
  schema: GraphQLSchema,
  { definitions }: DocumentNode,
  operation: OperationDefinitionNode,
  valueOf: (node: Selecting, inside: readonly Value[], field: AnyField | undefined) => Value,
): Value {
  const fragments = new Map<string, Value[]>()

  function fold(node: Selecting, parent: Type): Value {
    if (node.kind === Kind.FRAGMENT_SPREAD) return valueOf(node, foldFragment(node.name.value), undefined)
    const field = node.kind === Kind.FIELD ? fieldOf(parent, node.name.value) : undefined
    const type = node.kind === Kind.FIELD ? field && getNamedType(field.type) : typeOf(schema, node, parent)
    const inside = node.selectionSet?.selections.map((each) => fold(each, type)) ?? []
    return valueOf(node, inside, field)
  }

  function foldFragment(name: string): Value[] {
    const known = fragments.get(name)
    if (known !== undefined) return known
    fragments.set(name, [])
    const fragment = definitions.filter(isFragment).find((each) => each.name.value === name)
    const values = fragment === undefined ? [] : [fold(fragment, undefined)]
    fragments.set(name, values)
    return values
  }

  return fold(operation, undefined)
}

const isFragment = (node: DocumentNode['definitions'][number]): node is FragmentDefinitionNode =>
  node.kind === Kind.FRAGMENT_DEFINITION

const fieldOf = (parent: Type, name: string): AnyField | undefined =>
  isObjectType(parent) || isInterfaceType(parent) ? parent.getFields()[name] : undefined

/** The type whose fields a node other than a field selects. */
function typeOf(schema: GraphQLSchema, node: Exclude<Selecting, { kind: Kind.FIELD }>, parent: Type): Type {
  if (node.kind === Kind.OPERATION_DEFINITION) return schema.getRootType(node.operation) ?? undefined
  const condition = node.kind === Kind.FRAGMENT_SPREAD ? undefined : node.typeCondition
  return condition === undefined ? parent : schema.getType(condition.name.value)
}
