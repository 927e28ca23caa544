import { PUBLIC_SECRET } from '../../core/secret-pages.ts'
import { builder } from '../../schema/builder.ts'
import { SHOWN_ONCE, shownOnce } from '../../schema/shown-once.ts'
import { createClassifierSecret, listClassifierSecrets, revokeClassifierSecret } from './secrets.ts'

const ClassifierSecretRef = builder.prismaObject('ClassifierSecret', {
  description: "The public part of a secret that signs requests to the tenant's classifier.",
  // Not the sealed secret. Next to `select`, an exposed field would read its row again, so these
  // fields resolve.
  select: PUBLIC_SECRET,
  fields: (t) => ({
    kid: t.string({ description: 'The id of the secret, as signatures name it.', resolve: ({ kid }) => kid }),
    createdAt: t.field({
      type: 'DateTime',
      description: 'When it was created.',
      resolve: ({ createdAt }) => createdAt,
    }),
    expiresAt: t.field({
      type: 'DateTime',
      nullable: true,
      description:
        'When it expires: 24 h after a newer one was created, or when it was ended. Null for the current one.',
      resolve: ({ expiresAt }) => expiresAt,
    }),
  }),
})

builder.queryField('classifierSecrets', (t) =>
  t.connection({
    type: ClassifierSecretRef,
    access: 'manage_settings',
    description: "Returns the secrets of the tenant's classifier, newest first.",
    resolve: (_root, args, ctx) => listClassifierSecrets(ctx, args),
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
      classifierSecret: t.field({
        type: ClassifierSecretRef,
        description: 'The secret.',
        resolve: ({ classifierSecret }) => classifierSecret,
      }),
    }),
  },
)
