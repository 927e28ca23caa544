import { builder } from '../../graphql/builder.ts'
import { namedInRest } from '../../graphql/in-rest.ts'
import { shownWith } from '../../graphql/shown-with.ts'
import { ReaderRef } from './graphql.ts'
import { type FormerReader, formerReadersOf, getReaderMerge, type ReaderMerge } from './merged.ts'
import { RECORD_CAPABILITIES } from './records.ts'

export const FormerReaderRef = builder.objectRef<FormerReader>('FormerReader').implement({
  description: 'A reader who was merged into another one.',
  fields: (t) => ({
    readerId: t.exposeID('id', {
      description: 'The id that they had in this service.',
      extensions: namedInRest('id'),
    }),
    externalId: t.exposeString('externalId', {
      description: 'Their id at the tenant, which leads to the reader who stayed.',
    }),
    mergedAt: t.expose('mergedAt', { type: 'DateTime', description: 'When the merge began.' }),
  }),
})

builder.objectField(ReaderRef, 'formerReaders', (t) =>
  t.field({
    type: [FormerReaderRef],
    ...shownWith('The readers who were merged into the reader, oldest merge first.', RECORD_CAPABILITIES),
    resolve: ({ id }, _args, ctx) => formerReadersOf(ctx, id),
  }),
)

const ReaderMergeRef = builder.objectRef<ReaderMerge>('ReaderMerge').implement({
  description: 'The merge of a reader into another one.',
  fields: (t) => ({
    into: t.expose('into', { type: ReaderRef, description: 'The reader who stays.' }),
    isUnderWay: t.exposeBoolean('isUnderWay', {
      description: 'Whether the merge is still under way: some of the content has not moved yet.',
    }),
  }),
})

builder.queryField('readerMerge', (t) =>
  t.field({
    type: ReaderMergeRef,
    access: 'moderate_content',
    throws: ['not_found'],
    description: 'Returns the merge of a reader who was merged into another one.',
    args: { readerId: t.arg.id({ required: true, description: 'The id that the reader had in this service.' }) },
    resolve: (_root, { readerId }, ctx) => getReaderMerge(ctx, readerId),
  }),
)
