import { addMutation } from '../../graphql/mutation.ts'
import { ReaderRef } from '../readers/graphql.ts'
import { mergeReader } from './merge.ts'

addMutation('mergeReader', {
  input: (t) => ({
    readerId: t.id({ required: true, description: 'The reader to merge.' }),
    into: t.id({ required: true, description: 'The reader who stays.' }),
  }),
  access: 'manage_settings',
  throws: ['invalid_transition'],
  description:
    'Merges a reader into another one, who gets their comments, reactions and reports. The external id of the reader ' +
    'who goes leads to the one who stays from then on. This is final. If it was interrupted, send the request again ' +
    'to continue.',
  resolve: async (input, ctx) => ({ reader: await mergeReader(ctx, input) }),
  output: (t) => ({
    reader: t.expose('reader', { type: ReaderRef, description: 'The reader who stays.' }),
  }),
})
