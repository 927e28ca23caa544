import { builder } from '../../../graphql/builder.ts'
import { addEnum } from '../../../graphql/enum.ts'
import { addMutation } from '../../../graphql/mutation.ts'
import { shownWith } from '../../../graphql/shown-with.ts'
import type { ReaderTrust } from '../../../generated/prisma/enums.ts'
import { FIELDS } from '../fields.ts'
import { ReaderRef } from '../graphql.ts'
import { setReaderTrust, trustFor } from './trust.ts'

const ReaderTrustEnum = addEnum<ReaderTrust>('ReaderTrust', 'Which rules hold the comments of a reader.', {
  normal: 'Those of the settings and of the discussion.',
  hold: 'Every comment, and every edit, waits for a moderator.',
  never_hold: 'None holds a comment. Banned words still refuse one, and a ban still counts.',
})

builder.objectField(ReaderRef, 'trust', (t) =>
  t.field({
    type: ReaderTrustEnum,
    ...shownWith(FIELDS.trust.help, ['moderate_content']),
    resolve: (reader, _args, ctx) => trustFor(ctx, reader),
  }),
)

addMutation('setReaderTrust', {
  input: (t) => ({
    readerId: t.id({ required: true, description: 'The reader.' }),
    trust: t.field({ type: ReaderTrustEnum, required: true, description: 'Which rules hold their comments.' }),
  }),
  access: 'moderate_content',
  description: "Sets which rules hold a reader's comments and edits from now on. The reader is not told.",
  resolve: async (input, ctx) => ({ reader: await setReaderTrust(ctx, input) }),
  output: (t) => ({ reader: t.expose('reader', { type: ReaderRef, description: 'The reader.' }) }),
})
