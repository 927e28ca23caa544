import { builder } from '../../graphql/builder.ts'
import { secretType } from '../../graphql/secret-type.ts'
import { SHOWN_ONCE, shownOnce } from '../../graphql/shown-once.ts'
import { listSecrets } from '../tenants/secrets.ts'
import { createClassifierSecret, revokeClassifierSecret } from './secrets.ts'

const ClassifierSecretRef = secretType('ClassifierSecret', {
  description: "The public part of a secret that signs requests to the tenant's classifier.",
  kid: 'The id of the secret, as signatures name it.',
})

builder.queryField('classifierSecrets', (t) =>
  t.connection({
    type: ClassifierSecretRef,
    access: 'manage_settings',
    description: "Returns the secrets of the tenant's classifier, newest first.",
    resolve: (_root, args, ctx) => listSecrets(ctx, 'classifier_secret', args),
  }),
)

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
      standardSecret: t.string({
        ...shownOnce('standardSecret'),
        description: `The same secret for libraries of Standard Webhooks. ${SHOWN_ONCE}`,
      }),
      createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
    }),
  },
)

builder.relayMutationField(
  'revokeClassifierSecret',
  {
    description: 'A classifier secret to end.',
    inputFields: (t) => ({ kid: t.id({ required: true, description: 'The id of the secret.' }) }),
  },
  {
    access: 'manage_settings',
    throws: ['not_found'],
    description:
      'Ends a classifier secret at once: it signs no further request. This is final. Without another one the classifier is not asked.',
    resolve: async (_root, { input }, ctx) => ({ classifierSecret: await revokeClassifierSecret(ctx, input) }),
  },
  {
    description: 'The ended secret.',
    outputFields: (t) => ({
      classifierSecret: t.expose('classifierSecret', { type: ClassifierSecretRef, description: 'The secret.' }),
    }),
  },
)
