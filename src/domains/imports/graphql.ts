import { builder } from '../../graphql/builder.ts'
import { addEnum } from '../../graphql/enum.ts'
import { NodeRef } from '../../graphql/node.ts'
import { CountsRef, FindingsRef, TablesRef } from './graphql-types.ts'
import { findImports, getImport } from './imports.ts'
import type { ImportFindings, Removed, TableUses, TransferCounts } from './report.ts'

const RemovedRef = builder.objectRef<Partial<Removed>>('ImportRemoved').implement({
  description: 'The number of items of each kind that an undo has removed.',
  fields: (t) => ({
    readers: t.int({ description: 'Readers.', resolve: ({ readers = 0 }) => readers }),
    comments: t.int({ description: 'Comments.', resolve: ({ comments = 0 }) => comments }),
  }),
})

const StateRef = addEnum('ImportState', 'The state of an import.', {
  unfinished: 'It is under way, or was interrupted. The same command continues it.',
  finished: 'The whole file was read.',
  undone: 'It was undone.',
})

const ImportRef = builder.prismaObject('Import', {
  description: 'A file that was imported, by the command line or by an upload.',
  interfaces: [NodeRef],
  fields: (t) => ({
    id: t.exposeID('id', { description: 'The id of the import.' }),
    source: t.exposeString('source', { description: 'The system that the file comes from, or its name of `--as`.' }),
    fileName: t.exposeString('fileName', { description: 'The name of the file, without its folder.' }),
    state: t.field({
      type: StateRef,
      description: 'The state of the import.',
      resolve: ({ finishedAt, undoneAt }) =>
        undoneAt !== null ? 'undone' : finishedAt !== null ? 'finished' : 'unfinished',
    }),
    counts: t.field({
      type: CountsRef,
      description: 'The number of imported items of each kind.',
      resolve: ({ counts }) => counts as TransferCounts,
    }),
    refused: t.field({
      type: FindingsRef,
      description: 'The refused items, at the end of the last run.',
      resolve: ({ refused }) => refused as unknown as ImportFindings,
    }),
    changed: t.field({
      type: FindingsRef,
      description: 'The items that were changed when they were imported.',
      resolve: ({ changed }) => changed as unknown as ImportFindings,
    }),
    tables: t.field({
      type: TablesRef,
      nullable: true,
      description: 'How far it has used its tables. Null without tables, and until the whole file was read.',
      resolve: ({ tables }) => tables as TableUses | null,
    }),
    removed: t.field({
      type: RemovedRef,
      description: 'The items that were removed, over all runs of the undo. Items that were touched since stay.',
      resolve: ({ removed }) => removed as Partial<Removed>,
    }),
    startedAt: t.expose('startedAt', { type: 'DateTime', description: 'When it began.' }),
    finishedAt: t.expose('finishedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the whole file was read. Null until then.',
    }),
    undoneAt: t.expose('undoneAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was undone. Null if it was not.',
    }),
  }),
})

builder.queryField('imports', (t) =>
  t.prismaPage({
    type: ImportRef,
    list: 'imports',
    access: 'admin',
    description: "Returns the tenant's imports, newest first.",
    resolve: (query, ctx) => findImports(ctx, query),
  }),
)

builder.queryField('import', (t) =>
  t.field({
    type: ImportRef,
    access: 'admin',
    description: 'Returns an import of the tenant.',
    args: { id: t.arg.id({ required: true, description: 'The id of the import.' }) },
    resolve: (_root, { id }, ctx) => getImport(ctx, { id }),
  }),
)
