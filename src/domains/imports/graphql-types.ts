import { builder } from '../../graphql/builder.ts'
import type { COUNTED, ImportFinding, ImportFindings, TableUse, TableUses, TransferCounts } from './report.ts'

const FindingRef = builder.objectRef<ImportFinding>('ImportFinding').implement({
  description: 'An item of the file that was refused, or changed.',
  fields: (t) => ({
    place: t.exposeString('place', { description: 'The place in the file, such as `line 12`.' }),
    reason: t.exposeString('reason', { description: 'Why it was refused, or how it was changed.' }),
  }),
})

export const FindingsRef = builder.objectRef<ImportFindings>('ImportFindings').implement({
  description: 'Items of the file that were refused, or changed.',
  fields: (t) => ({
    total: t.exposeInt('total', { description: 'The number of these items.' }),
    first: t.field({
      type: [FindingRef],
      description: 'The first 100 of them.',
      resolve: ({ first }) => [...first],
    }),
  }),
})

export const CountsRef = builder.objectRef<TransferCounts>('ImportCounts').implement({
  description: 'The number of imported items of each kind.',
  fields: (t) =>
    ({
      readers: t.int({ description: 'Readers.', resolve: ({ readers = 0 }) => readers }),
      discussions: t.int({ description: 'Discussions.', resolve: ({ discussions = 0 }) => discussions }),
      comments: t.int({ description: 'Comments.', resolve: ({ comments = 0 }) => comments }),
      revisions: t.int({ description: 'Former bodies of comments.', resolve: ({ revisions = 0 }) => revisions }),
      reactions: t.int({ description: 'Reactions.', resolve: ({ reactions = 0 }) => reactions }),
      reports: t.int({ description: 'Reports.', resolve: ({ reports = 0 }) => reports }),
      settings: t.int({ description: 'Sets of settings.', resolve: ({ settings = 0 }) => settings }),
      sites: t.int({ description: 'Sites.', resolve: ({ sites = 0 }) => sites }),
      notices: t.int({ description: 'Notice channels.', resolve: ({ notices = 0 }) => notices }),
      mutes: t.int({ description: 'Mutes among readers.', resolve: ({ mutes = 0 }) => mutes }),
      endpoints: t.int({ description: 'Webhook endpoints.', resolve: ({ endpoints = 0 }) => endpoints }),
      auditEntries: t.int({
        description: 'Entries of the audit log.',
        resolve: ({ auditEntries = 0 }) => auditEntries,
      }),
    }) satisfies Record<(typeof COUNTED)[number], unknown>,
})

const TableRef = builder.objectRef<TableUse>('ImportTable').implement({
  description: 'How many rows of a table an import has used.',
  fields: (t) => ({
    rows: t.exposeInt('rows', { description: 'The number of rows in the table.' }),
    used: t.exposeInt('used', { description: 'The number of rows that matched something in the file.' }),
    firstUnused: t.exposeStringList('firstUnused', { description: 'The first 5 unused rows, such as `row 4`.' }),
  }),
})

export const TablesRef = builder.objectRef<TableUses>('ImportTables').implement({
  description: 'How far an import has used its tables.',
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
