import { builder } from '../../graphql/builder.ts'
import { createIdentitySecret, type IdentitySecret, listIdentitySecrets } from './identity-secrets.ts'
import type { Reader } from './readers.ts'

export const ReaderRef = builder.objectRef<Reader>('Reader').implement({
  description: "A reader of the tenant's site, as its backend vouches for them.",
  fields: (t) => ({
    id: t.exposeID('id', { description: 'The id of the reader in this service.' }),
    externalId: t.exposeString('externalId', {
      description: "The reader's id at the tenant (`sub` of the assertion).",
    }),
    name: t.exposeString('name', { nullable: true, description: 'The name to show, where the tenant gave one.' }),
    avatarUrl: t.exposeString('avatarUrl', { nullable: true, description: 'An https picture of the reader.' }),
    profileUrl: t.exposeString('profileUrl', { nullable: true, description: 'An https page about the reader.' }),
  }),
})

const IdentitySecretRef = builder.objectRef<IdentitySecret>('IdentitySecret').implement({
  description: "A secret with which the tenant's backend signs reader assertions (HS256).",
  fields: (t) => ({
    kid: t.exposeString('kid', { description: "The name of the secret, in the assertion's header `kid`." }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was made.' }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it ends: 24 h after a newer one was made. Null for the newest.',
    }),
  }),
})

builder.queryField('identitySecrets', (t) =>
  t.connection({
    type: IdentitySecretRef,
    access: 'manage_settings',
    description: "The tenant's identity secrets, newest first.",
    resolve: (_root, args, ctx) => listIdentitySecrets(ctx, args),
  }),
)

builder.relayMutationField(
  'createIdentitySecret',
  null,
  {
    access: 'manage_settings',
    description: 'Makes a new identity secret. The one before stays valid for 24 h.',
    resolve: (_root, _args, ctx) => createIdentitySecret(ctx),
  },
  {
    description: 'The new identity secret.',
    outputFields: (t) => ({
      kid: t.exposeString('kid', { description: "The name of the secret, for the assertion's header." }),
      secret: t.exposeString('secret', {
        description: 'The secret: its UTF-8 bytes, all of them, are the key of HS256. It is shown only here.',
      }),
      createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was made.' }),
    }),
  },
)
