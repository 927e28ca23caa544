import { builder } from '../../schema/builder.ts'
import { SHOWN_ONCE, shownOnce } from '../../schema/shown-once.ts'
import { createClassifierSecret } from './secrets.ts'

builder.relayMutationField(
  'createClassifierSecret',
  null,
  {
    access: 'manage_settings',
    description:
      "Creates a secret that signs requests to the tenant's classifier. The previous secret also signs for 24 hours.",
    resolve: (_root, _args, ctx) => createClassifierSecret(ctx),
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
