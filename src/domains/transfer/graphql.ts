import { builder } from '../../schema/builder.ts'
import { getImport, pageOfImports } from './imports.ts'
import type { COUNTED, ImportFinding, ImportFindings, TableUse, TableUses, TransferCounts } from './report.ts'
import type { Removed } from './undo-sql.ts'

const FindingRef = builder.objectRef<ImportFinding>('ImportFinding').implement({
  description: 'Something of the file that was not taken as it stands there.',
  fields: (t) => ({
    place: t.exposeString('place', { description: 'Where it stands in the file.' }),
    reason: t.exposeString('reason', { description: 'Why.' }),
  }),
})

const FindingsRef = builder.objectRef<ImportFindings>('ImportFindings').implement({
  description: 'What was not taken as it stands in the file.',
  fields: (t) => ({
    total: t.exposeInt('total', { description: 'How much of it there is.' }),
    first: t.field({
      type: [FindingRef],
      description: 'The first 100 of it.',
      resolve: ({ first }) => [...first],
    }),
  }),
})

const CountsRef = builder.objectRef<TransferCounts>('ImportCounts').implement({
  description: 'How many of each kind an import has brought.',
  fields: (t) =>
    ({
      readers: t.int({ description: 'Readers.', resolve: ({ readers = 0 }) => readers }),
      discussions: t.int({ description: 'Discussions.', resolve: ({ discussions = 0 }) => discussions }),
      comments: t.int({ description: 'Comments.', resolve: ({ comments = 0 }) => comments }),
      revisions: t.int({ description: 'Former bodies of comments.', resolve: ({ revisions = 0 }) => revisions }),
      reactions: t.int({ description: 'Reactions.', resolve: ({ reactions = 0 }) => reactions }),
      reports: t.int({ description: 'Reports.', resolve: ({ reports = 0 }) => reports }),
      settings: t.int({ description: 'Sets of settings.', resolve: ({ settings = 0 }) => settings }),
      endpoints: t.int({ description: 'Webhook endpoints.', resolve: ({ endpoints = 0 }) => endpoints }),
      auditEntries: t.int({
        description: 'Entries of the audit log.',
        resolve: ({ auditEntries = 0 }) => auditEntries,
      }),
    }) satisfies Record<(typeof COUNTED)[number], unknown>,
})

const TableRef = builder.objectRef<TableUse>('ImportTable').implement({
  description: 'What of a table an import has used.',
  fields: (t) => ({
    rows: t.exposeInt('rows', { description: 'Rows of the table.' }),
    used: t.exposeInt('used', { description: 'Rows for which there was something in the file.' }),
    firstUnused: t.exposeStringList('firstUnused', { description: 'The first 5 of the others, as `row 4`.' }),
  }),
})

const TablesRef = builder.objectRef<TableUses>('ImportTables').implement({
  description: 'What of its tables an import has used.',
  fields: (t) => ({
    map: t.field({
      type: TableRef,
      nullable: true,
      description: 'The table of `--map`. Null without it.',
      resolve: ({ map }) => map ?? null,
    }),
    authors: t.field({
      type: TableRef,
      nullable: true,
      description: 'The table of `--authors`. Null without it.',
      resolve: ({ authors }) => authors ?? null,
    }),
  }),
})

const RemovedRef = builder.objectRef<Partial<Removed>>('ImportRemoved').implement({
  description: 'How many of each kind were removed when an import was taken back.',
  fields: (t) => ({
    readers: t.int({ description: 'Readers.', resolve: ({ readers = 0 }) => readers }),
    comments: t.int({ description: 'Comments.', resolve: ({ comments = 0 }) => comments }),
  }),
})

const StateRef = builder.enumType('ImportState', {
  description: 'How far an import is.',
  values: {
    unfinished: { description: 'It is under way, or was cut off. The same command goes on with it.' },
    finished: { description: 'All of the file was read.' },
    undone: { description: 'It was taken back.' },
  },
})

const ImportRef = builder.prismaObject('Import', {
  description: 'A file that was moved in, by the command line.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'The id of the import.' }),
    source: t.exposeString('source', { description: 'The system that the file comes from, or its name of `--as`.' }),
    fileName: t.exposeString('fileName', { description: 'The name of the file, without its folder.' }),
    state: t.field({
      type: StateRef,
      description: 'How far it is.',
      resolve: ({ finishedAt, undoneAt }) =>
        undoneAt !== null ? 'undone' : finishedAt !== null ? 'finished' : 'unfinished',
    }),
    counts: t.field({
      type: CountsRef,
      description: 'How many of each kind it has brought.',
      resolve: ({ counts }) => counts as TransferCounts,
    }),
    refused: t.field({
      type: FindingsRef,
      description: 'What was not taken, at the end of the last run.',
      resolve: ({ refused }) => refused as unknown as ImportFindings,
    }),
    changed: t.field({
      type: FindingsRef,
      description: 'What was taken otherwise than it stands in the file.',
      resolve: ({ changed }) => changed as unknown as ImportFindings,
    }),
    tables: t.field({
      type: TablesRef,
      nullable: true,
      description:
        'What it has used of the tables that it was given. Null without tables, and until all of the file was read.',
      resolve: ({ tables }) => tables as TableUses | null,
    }),
    removed: t.field({
      type: RemovedRef,
      description: 'What of it was taken back, over all runs of the undo. The rest was touched since, and stays.',
      resolve: ({ removed }) => removed as Partial<Removed>,
    }),
    startedAt: t.expose('startedAt', { type: 'DateTime', description: 'When it began.' }),
    finishedAt: t.expose('finishedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When all of the file was read. Null until then.',
    }),
    undoneAt: t.expose('undoneAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was taken back. Null if it was not.',
    }),
  }),
})

builder.queryField('imports', (t) =>
  t.connection({
    type: ImportRef,
    access: 'admin',
    description: "Returns the tenant's imports, newest first.",
    resolve: (_root, args, ctx) => pageOfImports(ctx, args),
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
