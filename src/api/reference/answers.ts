import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  getNamedType,
  getNullableType,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  isInterfaceType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  type SelectionSetNode,
  visit,
} from 'graphql'

import type { Access } from '../../core/access.ts'
import { shapeOf } from '../../graphql/shape.ts'
import { OR_NULL_EXTENSION, SHOWN_ONCE_EXTENSION } from '../../graphql/shown-once.ts'
import { shownTo } from '../../graphql/shown-with.ts'
import { accessOfRoute, operationOf, projectionOf } from '../rest/handler.ts'
import type { Route } from '../../graphql/route.ts'
import { type Components, described, orNull, type Schema } from './json-schema.ts'
import { leafSchema } from './scalars.ts'

/**
 * A placeholder for a value of the answer. It has no keys of its own, so that a projection takes it
 * for a plain value.
 */
class Leaf {
  readonly #schema: Schema
  constructor(schema: Schema) {
    this.#schema = schema
  }
  get schema(): Schema {
    return this.#schema
  }
}

/** What is known of a placeholder object or list. */
interface Note {
  name?: string
  about?: string | null | undefined
  description?: string | null | undefined
  isNullable: boolean
  isOptional: boolean
}

type Notes = WeakMap<object, Note>

/**
 * The schema of a route's answer: the route's own projection, run on an answer in which each value
 * is its schema. So the reference always matches the answers. Throws for a projection that
 * computes.
 */
export function answerSchema(schema: GraphQLSchema, route: Route, components: Components): Schema {
  const full = answerOf(schema, route, route.document, components)
  if (route.lighter === undefined) return full
  return { anyOf: [answerOf(schema, route, route.lighter.document, components), full] }
}

const NEVER_NULL = { isNullable: false, isOptional: false }

function answerOf(schema: GraphQLSchema, route: Route, document: DocumentNode, components: Components): Schema {
  const notes: Notes = new WeakMap()
  const operation = operationOf({ ...route, document })
  const root = schema.getRootType(operation.operation)
  if (root == null) throw new Error(`${route.method} ${route.path}: there is no ${operation.operation}`)
  const making = { notes, components, access: accessOfRoute(schema, route) }
  const data = selected(root, operation.selectionSet, fragmentsOf(document), making)
  // A root field is null only if it was refused, and then REST answers the refusal.
  for (const value of Object.values(data) as object[]) notes.set(value, { ...notes.get(value), ...NEVER_NULL })
  const answer = projectionOf(route)(data)
  if (typeof answer === 'object' && answer !== null && !Array.isArray(answer)) {
    // An unknown resource is refused with 404, so the answer as a whole is never null.
    const { name = listName(answer, notes) ?? `${operation.name?.value ?? ''}Answer`, about } = notes.get(answer) ?? {}
    notes.set(answer, { name, about, isNullable: false, isOptional: false })
  }
  return toSchema(answer, { notes, components })
}

/** The schema of `document`'s selection on `type`, one of the possible types of an event. */
export function selectionSchema(type: GraphQLObjectType, document: DocumentNode, components: Components): Schema {
  const notes: Notes = new WeakMap()
  let set: SelectionSetNode | undefined
  visit(document, {
    InlineFragment(node) {
      if (node.typeCondition?.name.value === type.name) set = node.selectionSet
    },
  })
  if (set === undefined) throw new Error(`the document of events selects nothing of ${type.name}`)
  const data = selected(type, set, fragmentsOf(document), { notes, components })
  notes.set(data, { name: type.name, about: type.description, isNullable: false, isOptional: false })
  return toSchema(data, { notes, components })
}

interface Making {
  notes: Notes
  components: Components
  /** What the callers who get the answer have. */
  access?: Access
}

type Fragments = ReadonlyMap<string, FragmentDefinitionNode>

const fragmentsOf = (document: DocumentNode): Fragments =>
  new Map(
    document.definitions.flatMap((definition) =>
      definition.kind === Kind.FRAGMENT_DEFINITION ? [[definition.name.value, definition] as const] : [],
    ),
  )

/** An answer of `type` in which each value is a placeholder. */
function selected(type: GraphQLOutputType, set: SelectionSetNode, fragments: Fragments, making: Making): object {
  if (!isObjectType(type) && !isInterfaceType(type)) {
    throw new Error(`${String(type)}: the reference has no form for what is one of several types`)
  }
  const fields = type.getFields()
  const entries = fieldNodes(set, fragments).map((node): [string, unknown] => {
    const field = fields[node.name.value]
    if (field === undefined) throw new Error(`${type.name} has no field ${node.name.value}`)
    return [node.alias?.value ?? node.name.value, valueOf(field, node, fragments, making)]
  })
  return Object.fromEntries(entries)
}

function fieldNodes({ selections }: SelectionSetNode, fragments: Fragments): FieldNode[] {
  return selections.flatMap((selection) => {
    if (selection.kind === Kind.FIELD) return [selection]
    if (selection.kind === Kind.INLINE_FRAGMENT) return fieldNodes(selection.selectionSet, fragments)
    const fragment = fragments.get(selection.name.value)
    return fragment === undefined ? [] : fieldNodes(fragment.selectionSet, fragments)
  })
}

function valueOf(
  field: GraphQLField<unknown, unknown>,
  node: FieldNode,
  fragments: Fragments,
  making: Making,
): unknown {
  const named = getNamedType(field.type)
  // In a replay, the whole member of a secret is missing.
  const isShownOnce = field.extensions[SHOWN_ONCE_EXTENSION] === true
  const shown = shownTo(field.extensions, making.access)
  const mayBeNull = !isShownOnce || field.extensions[OR_NULL_EXTENSION] === true
  const isNullable = shown?.isNullable ?? (!isNonNullType(field.type) && mayBeNull)
  const isOptional = isShownOnce || (node.directives ?? []).length > 0
  const description = shown?.description ?? field.description
  const note: Note = { description, isNullable, isOptional }
  if (node.selectionSet === undefined) {
    const leaf = leafOf(field, making.components)
    const value = new Leaf(described(isNullable ? orNull(leaf) : leaf, description))
    making.notes.set(value, note)
    return value
  }
  const value = selected(named, node.selectionSet, fragments, making)
  const ofType: Note = {
    name: nameOf(named.name, node.selectionSet),
    about: named.description,
    isNullable: false,
    isOptional: false,
  }
  const isList = isListType(getNullableType(field.type))
  making.notes.set(value, isList ? ofType : { ...ofType, ...note })
  if (!isList) return value
  const list = [value]
  making.notes.set(list, note)
  return list
}

/**
 * The name of a selection's schema: its type's, or that of the one fragment that it consists of. So
 * one type can have several schemas, such as a reader for everyone and for moderators.
 */
function nameOf(type: string, { selections }: SelectionSetNode): string {
  const [only] = selections
  if (selections.length !== 1 || only?.kind !== Kind.FRAGMENT_SPREAD) return type
  return /^(.+)Fields$/.exec(only.name.value)?.[1] ?? type
}

function leafOf(field: GraphQLField<unknown, unknown>, components: Components): Schema {
  const { $schema: _, ...shape } = shapeOf(field.extensions) ?? {}
  if (Object.keys(shape).length > 0) return shape
  const named = getNamedType(field.type)
  if (!isLeafType(named)) throw new Error(`${field.name} is no plain value`)
  const leaf = leafSchema(named, components)
  return isListType(getNullableType(field.type)) ? { type: 'array', items: leaf } : leaf
}

function toSchema(value: unknown, making: Making): Schema {
  if (value === null) return { type: 'null' }
  if (value instanceof Leaf) return value.schema
  if (typeof value !== 'object') {
    throw new TypeError("a route's answer arranges what its operation gives, and computes nothing")
  }
  const note = making.notes.get(value)
  const bare = Array.isArray(value)
    ? { type: 'array', items: toSchema(value[0], making) }
    : objectOf(value as Record<string, unknown>, making)
  const name = note?.name ?? listName(value, making.notes)
  const named = name === undefined ? bare : making.components.refTo(name, described(bare, note?.about))
  return described(note?.isNullable === true ? orNull(named) : named, note?.description)
}

/** REST's form of a list, which is not in the schema. */
const LIST: Readonly<Record<string, string>> = {
  data: 'The entries.',
  nextCursor: 'The `cursor` of the next page; null on the last.',
  hasMore: 'Whether there is a next page.',
}

function objectOf(value: Record<string, unknown>, making: Making): Schema {
  const present = Object.entries(value).filter(([, entry]) => entry !== undefined)
  const isOptional = (entry: unknown): boolean =>
    typeof entry === 'object' && entry !== null && making.notes.get(entry)?.isOptional === true
  return {
    type: 'object',
    properties: Object.fromEntries(
      present.map(([name, entry]) => [
        name,
        described(toSchema(entry, making), 'data' in value ? LIST[name] : undefined),
      ]),
    ),
    required: present.filter(([, entry]) => !isOptional(entry)).map(([name]) => name),
  }
}

/** A list in REST's form is named after its items. */
function listName(value: object, notes: Notes): string | undefined {
  if (Object.keys(value).join() !== 'data,nextCursor,hasMore' || !('data' in value)) return undefined
  if (!Array.isArray(value.data)) return undefined
  const entry: unknown = value.data[0]
  const name = typeof entry === 'object' && entry !== null ? notes.get(entry)?.name : undefined
  return name === undefined ? undefined : `${name}List`
}
