import { requireCaller } from '../../core/access.ts'
import { builder } from '../../graphql/builder.ts'
import { ONLY_WHERE_NAMED } from '../../graphql/in-rest.ts'
import { SiteRef } from '../sites/graphql.ts'
import { addSigningSecrets } from '../tenants/graphql-secrets.ts'
import { getMailer, type Mailer, MAILER_STATES, takesGuests } from './mailer.ts'

addSigningSecrets('mail', {
  signs: 'the mails for guests that the tenant sends',
  listed: 'that sign mails for guests',
  without: 'no site takes guests',
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

builder.prismaObjectField(SiteRef, 'takesGuests', (t) =>
  t.boolean({
    description:
      'Whether people without a sign-in can become guests now: guests is email, posting is on, and mails can be handed out.',
    extensions: ONLY_WHERE_NAMED,
    select: { posting: true, guests: true },
    resolve: (site, _args, ctx) => takesGuests(ctx.app, site, requireCaller(ctx).tenant),
  }),
)

builder.queryField('guestMailer', (t) =>
  t.field({
    type: MailerRef,
    access: 'manage_settings',
    description: 'Returns the state of the mailer for guests.',
    resolve: (_root, _args, ctx) => getMailer(ctx),
  }),
)
