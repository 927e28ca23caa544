import { builder } from '../../graphql/builder.ts'
import { addEnum } from '../../graphql/enum.ts'
import { addMutation } from '../../graphql/mutation.ts'
import { NodeRef } from '../../graphql/node.ts'
import { createExport, deleteExport, exportStateOf, getExport, listExports } from './exports.ts'

const StateRef = addEnum('TenantExportState', 'How far an export is.', {
  pending: 'A worker will make it, or is making it.',
  completed: 'Its file can be downloaded.',
  failed: 'It could not be made.',
})

const TenantExportRef = builder.prismaObject('TenantExport', {
  description: "A copy of all that is the tenant's but secrets, for download.",
  interfaces: [NodeRef],
  fields: (t) => ({
    id: t.exposeID('id', { description: 'The id of the export.' }),
    state: t.field({ type: StateRef, description: 'How far it is.', resolve: exportStateOf }),
    error: t.exposeString('error', { nullable: true, description: 'Why it could not be made. Null unless it failed.' }),
    bytes: t.float({
      nullable: true,
      description: 'The size of the file in bytes. Null until it is completed.',
      resolve: ({ bytes }) => (bytes === null ? null : Number(bytes)),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was asked for.' }),
    completedAt: t.expose('completedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the file was completed. Null until then.',
    }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it is deleted, a day after it ended. Null until then.',
    }),
  }),
})

builder.queryField('exports', (t) =>
  t.prismaPage({
    type: TenantExportRef,
    list: 'exports',
    access: 'admin',
    description: "Returns the tenant's exports, newest first.",
    resolve: (query, ctx) => listExports(ctx, query),
  }),
)

builder.queryField('export', (t) =>
  t.field({
    type: TenantExportRef,
    access: 'admin',
    description: 'Returns an export of the tenant.',
    args: { id: t.arg.id({ required: true, description: 'The id of the export.' }) },
    resolve: (_root, { id }, ctx) => getExport(ctx, { id }),
  }),
)

addMutation('createExport', {
  access: 'admin',
  description:
    "Asks for a copy of all that is the tenant's but secrets. A worker makes it as of one instant, and it is kept for a day. An export that is still pending is answered again. The tenant's earlier exports are deleted once this one is completed.",
  resolve: (_input, ctx) => createExport(ctx),
  answers: 'The export that was asked for.',
  output: (t) => ({
    export: t.field({ type: TenantExportRef, description: 'The export.', resolve: (created) => created }),
  }),
})

addMutation('deleteExport', {
  takes: 'An export to delete.',
  input: (t) => ({ id: t.id({ required: true, description: 'The id of the export.' }) }),
  access: 'admin',
  description: 'Deletes an export and its file.',
  resolve: async (input, ctx) => ({ deletedExportId: await deleteExport(ctx, input) }),
  answers: 'The deleted export.',
  output: (t) => ({
    deletedExportId: t.exposeID('deletedExportId', { description: 'The id of the export.' }),
  }),
})
