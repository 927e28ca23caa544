import { builder } from '../../graphql/builder.ts'
import { secretType } from '../../graphql/secret-type.ts'
import { SHOWN_ONCE, shownOnce } from '../../graphql/shown-once.ts'
import { listSecrets } from '../tenants/secrets.ts'
import { createMailSecret, revokeMailSecret } from './secrets.ts'

const MailSecretRef = secretType('MailSecret', {
  description: 'The public part of a secret that signs the mails for guests that the tenant sends.',
  kid: 'The id of the secret, as signatures name it.',
})

builder.queryField('mailSecrets', (t) =>
  t.connection({
    type: MailSecretRef,
    access: 'manage_settings',
    description: 'Returns the secrets that sign mails for guests, newest first.',
    resolve: (_root, args, ctx) => listSecrets(ctx, 'mail_secret', args),
  }),
)

builder.relayMutationField(
  'createMailSecret',
  null,
  {
    access: 'manage_settings',
    description:
      'Creates a secret that signs the mails for guests that the tenant sends. The previous secret also signs for 24 hours.',
    resolve: (_root, _args, ctx) => createMailSecret(ctx),
  },
  {
    description: 'The new secret.',
    outputFields: (t) => ({
      kid: t.exposeString('kid', { description: 'The id of the secret, as signatures name it.' }),
      secret: t.string({
        ...shownOnce('secret'),
        description: `The secret. The UTF-8 bytes of the whole text sign each request. ${SHOWN_ONCE}`,
      }),
      createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
    }),
  },
)

builder.relayMutationField(
  'revokeMailSecret',
  {
    description: 'A mail secret to end.',
    inputFields: (t) => ({ kid: t.id({ required: true, description: 'The id of the secret.' }) }),
  },
  {
    access: 'manage_settings',
    throws: ['not_found'],
    description:
      'Ends a mail secret at once: it signs no further request. This is final. Without another one no mail is handed out.',
    resolve: async (_root, { input }, ctx) => ({ mailSecret: await revokeMailSecret(ctx, input) }),
  },
  {
    description: 'The ended secret.',
    outputFields: (t) => ({
      mailSecret: t.expose('mailSecret', { type: MailSecretRef, description: 'The secret.' }),
    }),
  },
)
