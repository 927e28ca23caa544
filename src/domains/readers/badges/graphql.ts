import { builder } from '../../../graphql/builder.ts'
import { shapedBy } from '../../../graphql/shape.ts'
import { ReaderRef } from '../graphql.ts'
import { setBadgesSchema, setReaderBadges } from './badges.ts'

builder.relayMutationField(
  'setReaderBadges',
  {
    extensions: shapedBy(setBadgesSchema),
    inputFields: (t) => ({
      readerId: t.id({ required: true, description: 'The reader.' }),
      badges: t.stringList({
        required: true,
        description: 'The ids of badges in the settings, at most 10. An empty list takes them away.',
      }),
    }),
  },
  {
    access: 'moderate_content',
    description:
      'Sets the badges that moderators have given a reader. Those that the identity assertion claims stay. Badges grant nothing.',
    resolve: async (_root, { input }, ctx) => ({ reader: await setReaderBadges(ctx, input) }),
  },
  { outputFields: (t) => ({ reader: t.expose('reader', { type: ReaderRef, description: 'The reader.' }) }) },
)
