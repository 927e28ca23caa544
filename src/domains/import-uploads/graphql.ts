import { builder } from '../../graphql/builder.ts'
import { addEnum } from '../../graphql/enum.ts'
import { addMutation } from '../../graphql/mutation.ts'
import { NodeRef } from '../../graphql/node.ts'
import type { ImportUpload } from '../../generated/prisma/client.ts'
import { CountsRef, FindingsRef, TablesRef } from '../imports/graphql-types.ts'
import type { ImportFindings, TableUses, TransferCounts } from '../imports/report.ts'
import { uploadInput } from './input.ts'
import { missingParts } from './parts.ts'
import { PART_BYTES, partsOf } from './sizes.ts'
import {
  completeImportUpload,
  createImportUpload,
  deleteImportUpload,
  getImportUpload,
  listImportUploads,
  runImportUpload,
} from './uploads.ts'

/** What a rehearsal has found, or an import has done. */
interface Report {
  counts: TransferCounts
  already: number
  refused: ImportFindings
  changed: ImportFindings
  tables: TableUses | null
  pagesWithoutAddress?: number
  commentsWithoutAuthor?: number
}

const ReportRef = builder.objectRef<Report>('ImportUploadReport').implement({
  description: 'What a rehearsal has found, or an import has done.',
  fields: (t) => ({
    counts: t.expose('counts', { type: CountsRef, description: 'The number of items of each kind that are taken.' }),
    already: t.exposeInt('already', { description: 'The items that were there before.' }),
    refused: t.expose('refused', { type: FindingsRef, description: 'The items that are not taken.' }),
    changed: t.expose('changed', { type: FindingsRef, description: 'The items that are changed when they are taken.' }),
    tables: t.expose('tables', {
      type: TablesRef,
      nullable: true,
      description: 'How many rows of the tables are used. Null without tables.',
    }),
    pagesWithoutAddress: t.int({
      nullable: true,
      description: 'The pages without an address. Null in the report of an import.',
      resolve: ({ pagesWithoutAddress }) => pagesWithoutAddress ?? null,
    }),
    commentsWithoutAuthor: t.int({
      nullable: true,
      description: 'The comments without an author. Null in the report of an import.',
      resolve: ({ commentsWithoutAuthor }) => commentsWithoutAuthor ?? null,
    }),
  }),
})

const StateRef = addEnum('ImportUploadState', 'How far an upload is.', {
  uploading: 'It waits for its parts, and to be completed.',
  rehearsing: 'A worker rehearses the import, or will do so: nothing is changed yet.',
  rehearsed: 'The rehearsal has ended. It waits to be run.',
  importing: 'A worker imports the file, or will do so.',
  imported: 'The whole file was read.',
  failed: 'It could not be rehearsed or imported: see `error`.',
})

function stateOf({ error, endedAt, startedAt, rehearsedAt, completedAt }: ImportUpload) {
  if (endedAt !== null) return error === null ? 'imported' : 'failed'
  if (startedAt !== null) return 'importing'
  if (rehearsedAt !== null) return 'rehearsed'
  return completedAt === null ? 'uploading' : 'rehearsing'
}

const UploadRef = builder.prismaObject('ImportUpload', {
  description: 'A file with comments of another system, which is uploaded in parts, rehearsed, and then imported.',
  interfaces: [NodeRef],
  fields: (t) => ({
    id: t.exposeID('id', { description: 'The id of the upload.' }),
    state: t.field({ type: StateRef, description: 'How far it is.', resolve: stateOf }),
    source: t.exposeString('source', { description: 'The system that has written the file.' }),
    fileName: t.exposeString('fileName', { description: 'The name of the file.' }),
    bytes: t.exposeInt('bytes', { description: 'The size of the file in bytes.' }),
    partBytes: t.int({
      description: 'The size of each part in bytes. The last one has what is left.',
      resolve: () => PART_BYTES,
    }),
    parts: t.int({ description: 'The number of parts.', resolve: ({ bytes }) => partsOf(bytes) }),
    missingParts: t.intList({
      description: 'The numbers of the parts that are not there yet, from 0.',
      resolve: (upload, _args, ctx) => missingParts(ctx, upload),
    }),
    bytesRead: t.exposeInt('bytesRead', {
      description: 'How many bytes of the file the worker has read, in the rehearsal or in the import.',
    }),
    rehearsal: t.field({
      type: ReportRef,
      nullable: true,
      description: 'What an import will do. Null until the rehearsal has ended.',
      resolve: ({ rehearsal }) => rehearsal as Report | null,
    }),
    report: t.field({
      type: ReportRef,
      nullable: true,
      description: 'What the import has done. Null until it has ended.',
      resolve: ({ report }) => report as Report | null,
    }),
    importId: t.exposeID('importId', {
      nullable: true,
      description: 'The id of the import that it has become. Null until then, and if the file had nothing new.',
    }),
    error: t.exposeString('error', { nullable: true, description: 'Why it failed. Null unless it did.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was begun.' }),
    endedAt: t.expose('endedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was imported, or failed. Null until then.',
    }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      nullable: true,
      description:
        'When it is deleted: a day after its last part, its rehearsal or its end. Null while a worker has it.',
    }),
  }),
})

const ID = 'The id of the upload.'

builder.queryField('uploads', (t) =>
  t.prismaPage({
    type: UploadRef,
    list: 'uploads',
    access: 'admin',
    description: "Returns the tenant's uploads, newest first.",
    resolve: (query, ctx) => listImportUploads(ctx, query),
  }),
)

builder.queryField('upload', (t) =>
  t.field({
    type: UploadRef,
    access: 'admin',
    description: 'Returns an upload of the tenant.',
    args: { id: t.arg.id({ required: true, description: ID }) },
    resolve: (_root, { id }, ctx) => getImportUpload(ctx, { id }),
  }),
)

addMutation('createImportUpload', {
  shape: uploadInput,
  input: (t) => ({
    source: t.string({ required: true, description: 'The system that has written the file, as `disqus`.' }),
    fileName: t.string({ required: true, description: 'The name of the file, at most 200 characters.' }),
    bytes: t.int({ required: true, description: 'The size of the file in bytes, at most 1 GB.' }),
    map: t.string({
      description: 'CSV of two columns: the old addresses of pages, or their paths, and the new ones.',
    }),
    authors: t.string({
      description: 'CSV of two columns: e-mail addresses of readers, or their ids at the source, and your ids of them.',
    }),
    page: t.string({
      description: 'The part of a page that becomes its external id: `url`, `path`, `id` or `slug`.',
    }),
    keepQuery: t.boolean({ description: 'Whether addresses keep parameters that do not distinguish pages.' }),
    as: t.string({ description: 'A name for the source, to import two sites of one system.' }),
  }),
  access: 'admin',
  throws: ['invalid_transition'],
  description:
    'Begins to upload a file for an import. Put its parts to `/import-uploads/{id}/parts/{n}`, complete it, and run it once it is rehearsed. A tenant has one upload at a time.',
  resolve: (input, ctx) => createImportUpload(ctx, input as Parameters<typeof createImportUpload>[1]),
  output: (t) => ({
    importUpload: t.field({ type: UploadRef, description: 'The upload.', resolve: (upload) => upload }),
  }),
})

const CHANGES = {
  completeImportUpload: {
    run: completeImportUpload,
    description: 'Says that all parts of an upload are there. A worker then rehearses the import.',
  },
  runImportUpload: {
    run: runImportUpload,
    description: 'Has a worker import an uploaded file that was rehearsed.',
  },
} as const

for (const [name, { run, description }] of Object.entries(CHANGES)) {
  addMutation(name, {
    input: (t) => ({ id: t.id({ required: true, description: ID }) }),
    access: 'admin',
    throws: ['not_found', 'invalid_transition'],
    description,
    resolve: (input, ctx) => run(ctx, input),
    output: (t) => ({
      importUpload: t.field({ type: UploadRef, description: 'The upload.', resolve: (upload) => upload }),
    }),
  })
}

addMutation('deleteImportUpload', {
  input: (t) => ({ id: t.id({ required: true, description: ID }) }),
  access: 'admin',
  throws: ['not_found'],
  description: 'Deletes an upload with its parts. A worker that imports it stops; what it has imported stays.',
  resolve: async (input, ctx) => ({ deletedImportUploadId: await deleteImportUpload(ctx, input) }),
  output: (t) => ({
    deletedImportUploadId: t.exposeID('deletedImportUploadId', { description: ID }),
  }),
})
