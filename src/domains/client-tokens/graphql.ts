import { builder } from '../../graphql/builder.ts'
import { addMutation } from '../../graphql/mutation.ts'
import { shapedBy } from '../../graphql/shape.ts'
import { SHOWN_ONCE, shownOnce } from '../../graphql/shown-once.ts'
import { createClientToken, namedInput, tokenInput } from './tokens.ts'

const ClientTokenDiscussionsInput = builder.inputType('ClientTokenDiscussions', {
  isOneOf: true,
  description: 'The discussions that a client token opens.',
  extensions: shapedBy(namedInput),
  fields: (t) => ({
    discussionIds: t.idList({ description: 'The discussions that it opens, 1 to 50. The default is all.' }),
    externalIds: t.stringList({
      description:
        "The same by the tenant's own keys for the pages, instead of discussionIds. A page without a discussion gets one.",
    }),
  }),
})

addMutation('createClientToken', {
  takes: 'What the token opens, and for how long.',
  shape: tokenInput,
  input: (t) => ({
    ttlSeconds: t.int({ description: 'How many seconds it lives: 60 to 3 600. The default is 900.' }),
    discussions: t.field({
      type: ClientTokenDiscussionsInput,
      description: 'The discussions that it opens. The default is all.',
    }),
  }),
  access: 'key',
  throws: ['not_found'],
  description: 'Creates a token with which a browser uses GraphQL. With an identity, the token acts for that reader.',
  resolve: (input, ctx) => createClientToken(ctx, input),
  answers: 'The new client token.',
  output: (t) => ({
    expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'When it expires.' }),
    readerId: t.exposeID('readerId', {
      nullable: true,
      description: 'The reader that it acts for. Null without an identity.',
    }),
    token: t.string({
      ...shownOnce('token'),
      description: `The token, for \`Authorization: Bearer\`. ${SHOWN_ONCE}`,
    }),
  }),
})
