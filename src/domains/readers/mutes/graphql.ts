import type { ReaderMute } from '../../../generated/prisma/client.ts'
import { builder } from '../../../graphql/builder.ts'
import { addMutation } from '../../../graphql/mutation.ts'
import { ReaderRef } from '../graphql.ts'
import { findReader } from '../records.ts'
import { listMutes, muteReader, unmuteReader } from './mutes.ts'

const MuteRef = builder.objectRef<ReaderMute>('ReaderMute').implement({
  description: 'A reader whom the asserted reader has muted.',
  fields: (t) => ({
    reader: t.field({
      type: ReaderRef,
      nullable: true,
      description: 'Who is muted. Null while they are being erased.',
      resolve: ({ mutedId }, _args, ctx) => findReader(ctx, mutedId),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When they were muted.' }),
  }),
})

builder.objectField(ReaderRef, 'mutes', (t) =>
  t.connection({
    type: MuteRef,
    nullable: true,
    description: 'Whom the reader has muted, newest first. Null for all but the asserted reader.',
    resolve: (reader, args, ctx) => listMutes(ctx, reader, args),
  }),
)

addMutation('muteReader', {
  input: (t) => ({ readerId: t.id({ required: true, description: 'Who is muted.' }) }),
  access: 'reader',
  client: true,
  throws: ['not_found'],
  description:
    "Mutes a reader for the asserted reader: authorMuted of the other's comments is true for them. Nobody else learns of it. Safe to repeat. A reader mutes at most 1 000 others.",
  resolve: async (input, ctx) => ({ mute: await muteReader(ctx, input) }),
  output: (t) => ({ mute: t.expose('mute', { type: MuteRef, description: 'The mute.' }) }),
})

addMutation('unmuteReader', {
  input: (t) => ({ readerId: t.id({ required: true, description: 'Who is muted.' }) }),
  access: 'reader',
  client: true,
  throws: ['not_found'],
  description: 'Ends a mute of the asserted reader. Safe to repeat.',
  resolve: async (input, ctx) => ({ unmutedReaderId: await unmuteReader(ctx, input) }),
  output: (t) => ({
    unmutedReaderId: t.exposeID('unmutedReaderId', { description: 'The id of the reader.' }),
  }),
})
