import { builder } from '../../graphql/builder.ts'
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
      secret: t.exposeString('secret', {
        description: 'The secret: the UTF-8 bytes of the whole text sign each request. It is shown only here.',
      }),
      createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was made.' }),
    }),
  },
)
