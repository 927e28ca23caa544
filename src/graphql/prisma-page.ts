import { type FieldKind, type ObjectRef, RootFieldBuilder, type SchemaTypes } from '@pothos/core'
import { type PrismaModelTypes, type PrismaObjectRef, queryFromInfo } from '@pothos/plugin-prisma'
import type { GraphQLResolveInfo } from 'graphql'

import type { Access } from '../core/access.ts'
import type { Ctx } from '../core/context.ts'
import { type PageArgs, pageById, type PageQuery } from '../core/input/page.ts'

/** A list of rows, newest first. `resolve` gives `query` to Prisma, with the tenant. */
interface PrismaPageOptions<Types extends SchemaTypes, Model extends PrismaModelTypes, Shape extends { id: string }> {
  type: PrismaObjectRef<Types, Model, Shape>
  /** The name of the list in its cursors. */
  list: string
  access: Access
  description: string
  resolve: (query: PageQuery & { include?: Model['Include'] }, ctx: Types['Context']) => Promise<Shape[]>
}

declare global {
  export namespace PothosSchemaTypes {
    interface RootFieldBuilder<Types extends SchemaTypes, ParentShape, Kind extends FieldKind = FieldKind> {
      /** As `prismaConnection`, with our cursors and pages (docs/decisions/0009). */
      prismaPage<Model extends PrismaModelTypes, Shape extends { id: string }>(
        options: PrismaPageOptions<Types, Model, Shape>,
      ): FieldRef<Types>
    }
  }
}

type Fields = PothosSchemaTypes.RootFieldBuilder<SchemaTypes, unknown>

const fields = RootFieldBuilder.prototype as Fields

fields.prismaPage = function prismaPage(this: Fields, { list, resolve, ...options }) {
  const { name: typeName } = options.type
  return this.connection({
    ...options,
    type: options.type as ObjectRef<SchemaTypes, { id: string }>,
    resolve: (_root: unknown, args: PageArgs, ctx: Ctx, info: GraphQLResolveInfo) => {
      const selected = queryFromInfo({ context: ctx, info, typeName, paths: [['nodes'], ['edges', 'node']] })
      return pageById(list, args, (page) => resolve({ ...selected, ...page }, ctx))
    },
  } as never)
}

/**
 * Tells Pothos that rows which a resolver returns have all that the request selects of them, so
 * that it does not read them again. What is no row of Prisma's is passed over.
 */
export function hasAllSelected(ctx: Ctx, info: GraphQLResolveInfo, found: readonly ({ type: string } | null)[]): void {
  for (const typeName of new Set(found.map((each) => each?.type ?? ''))) {
    const isRow = info.schema.getType(typeName)?.extensions.pothosPrismaModel !== undefined
    if (isRow) queryFromInfo({ context: ctx, info, typeName })
  }
}
