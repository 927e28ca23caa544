import { ObjectRef, RootFieldBuilder, type SchemaTypes } from '@pothos/core'
import '@pothos/plugin-relay'

import type { Page, PageArgs } from '../core/input/page.ts'

/** The types of a list. */
interface Listed<Types extends SchemaTypes, Node> {
  edge: ObjectRef<Types, { cursor: string; node: Node }>
  connection: ObjectRef<Types, { totalCount?: number; partial?: boolean }>
}

/** By the name of the node's type. */
const made = new Map<string, unknown>()

/**
 * The connection of a node type and its edge. All fields that list the type share them, so that a
 * client's fragment on a page fits each of these lists.
 */
export function listed<Types extends SchemaTypes, Node>(
  builder: PothosSchemaTypes.SchemaBuilder<Types>,
  type: ObjectRef<Types, Node>,
): Listed<Types, Node> {
  const existing = made.get(type.name) ?? make(builder as never, type as never)
  made.set(type.name, existing)
  return existing as Listed<Types, Node>
}

function make(builder: PothosSchemaTypes.SchemaBuilder<SchemaTypes>, type: ObjectRef<SchemaTypes, unknown>) {
  const { name } = type
  const edge = builder.edgeObject({ type, name: `${name}Edge`, description: `A ${name} in a list, with its cursor.` })
  const connection = builder.connectionObject(
    { type, name: `${name}Connection`, description: `A page of a list of ${name}.` },
    edge,
  )
  return { edge, connection }
}

type Resolve = (root: unknown, args: PageArgs, ctx: unknown, info: unknown) => Promise<Page<unknown> | null>

/**
 * Answers `first: 0` with an empty page, as Relay's specification of connections has it: by a page
 * of one, of which `hasNextPage` is left.
 */
const emptyFor0 =
  (resolve: Resolve): Resolve =>
  (root, args, ctx, info) =>
    args.first === 0
      ? Promise.resolve(resolve(root, { ...args, first: 1 }, ctx, info)).then(emptied)
      : resolve(root, args, ctx, info)

function emptied(page: Page<unknown> | null): Page<unknown> | null {
  if (page === null) return null
  const hasNextPage = page.edges.length > 0 || page.pageInfo.hasNextPage
  return { ...page, edges: [], pageInfo: { ...page.pageInfo, startCursor: null, endCursor: null, hasNextPage } }
}

type Fields = PothosSchemaTypes.RootFieldBuilder<SchemaTypes, unknown>

const fields = RootFieldBuilder.prototype as Fields
const ofPlugin = fields.connection

// The plugin would make a connection for each field.
fields.connection = function connection(
  this: Fields & { builder: PothosSchemaTypes.SchemaBuilder<SchemaTypes> },
  options: Parameters<Fields['connection']>[0],
) {
  if (!(options.type instanceof ObjectRef)) throw new Error('a list has objects')
  return ofPlugin.call(
    this,
    { ...options, resolve: emptyFor0(options.resolve as never) } as never,
    listed(this.builder, options.type).connection as never,
  )
} as Fields['connection']
