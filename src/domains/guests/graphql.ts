import { builder } from '../../graphql/builder.ts'
import { secretType } from '../../graphql/secret-type.ts'
import { SHOWN_ONCE, shownOnce } from '../../graphql/shown-once.ts'
import { listSecrets } from '../tenants/secrets.ts'
import { getMailer, type Mailer, MAILER_STATES } from './mailer.ts'
import { createMailSecret, revokeMailSecret } from './secrets.ts'

const MailSecretRef = secretType('MailSecret', {
  description: 'The public part of a secret that signs the mails for guests that the tenant sends.',
  kid: 'The id of the secret, as signatures name it.',
})

const MailerStateEnum = builder.enumType('GuestMailerState', {
  description: 'Whether mails for guests can be handed out.',
  values: MAILER_STATES,
})

const MailerRef = builder.objectRef<Mailer>('GuestMailer').implement({
  description:
    'The program of the tenant that sends mails to guests (setting guests.mailUrl), and whether it takes them.',
  fields: (t) => ({
    url: t.exposeString('url', { nullable: true, description: 'Its address. Null without that setting.' }),
    state: t.expose('state', { type: MailerStateEnum, description: 'Whether mails can be handed out.' }),
    lastFailureAt: t.expose('lastFailureAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When a mail was last not taken at this address. Null if that never happened.',
    }),
    lastFailure: t.exposeString('lastFailure', {
      nullable: true,
      description: 'Why: a status, or what went wrong on the way. Null if that never happened.',
    }),
    recoveredAt: t.expose('recoveredAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the mailer first took a mail after that. Null while it fails.',
    }),
  }),
})

builder.queryField('guestMailer', (t) =>
  t.field({
    type: MailerRef,
    access: 'manage_settings',
    description: 'Returns the state of the mailer for guests.',
    resolve: (_root, _args, ctx) => getMailer(ctx),
  }),
)

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
      standardSecret: t.string({
        ...shownOnce('standardSecret'),
        description: `The same secret for libraries of Standard Webhooks. ${SHOWN_ONCE}`,
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
