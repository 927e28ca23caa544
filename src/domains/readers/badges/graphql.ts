import { addMutation } from '../../../graphql/mutation.ts'
import { ReaderRef } from '../graphql.ts'
import { setBadgesSchema, setReaderBadges } from './badges.ts'

addMutation('setReaderBadges', {
  shape: setBadgesSchema,
  input: (t) => ({
    readerId: t.id({ required: true, description: 'The reader.' }),
    badges: t.stringList({
      required: true,
      description: 'The ids of badges in the settings, at most 10. An empty list takes them away.',
    }),
  }),
  access: 'moderate_content',
  description:
    'Sets the badges that moderators have given a reader. Those that the identity assertion claims stay. Badges grant nothing.',
  resolve: async (input, ctx) => ({ reader: await setReaderBadges(ctx, input) }),
  output: (t) => ({ reader: t.expose('reader', { type: ReaderRef, description: 'The reader.' }) }),
})
