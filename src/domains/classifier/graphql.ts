import { builder } from '../../schema/builder.ts'
import { SHOWN_ONCE, shownOnce } from '../../schema/shown-once.ts'
import { createClassifierSecret } from './secrets.ts'

builder.relayMutationField(
  'createClassifierSecret',
  null,
  {
    access: 'manage_settings',
    description: "Makes a new secret for requests to the tenant's classifier. The one before signs as well for 24 h.",
    resolve: (_root, _args, ctx) => createClassifierSecret(ctx),
  },
  {
    description: 'The new secret.',
    outputFields: (t) => ({
      kid: t.exposeString('kid', { description: 'The name of the secret, as it stands in the signature.' }),
      secret: t.string({
        ...shownOnce('secret'),
        description: `The secret: the UTF-8 bytes of the whole text sign each request. ${SHOWN_ONCE}`,
      }),
      createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was made.' }),
    }),
  },
)
