import { searchSchema } from '../../core/search.ts'
import { externalIdSchema } from '../../core/texts.ts'
import { builder } from '../../graphql/builder.ts'
import { shapedBy } from '../../graphql/shape.ts'
import { createIdentitySecret, type IdentitySecret, listIdentitySecrets } from './identity-secrets.ts'
import type { Reader } from './readers.ts'
import { type Ban, banReader, banSchema, getReader, listReaders, type ReaderRecord, unbanReader } from './records.ts'

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

const BanRef = builder.objectRef<Ban>('Ban').implement({
  description: 'A ban that is in force: it keeps a reader from writing, or, in shadow, from being seen.',
  fields: (t) => ({
    bannedAt: t.expose('bannedAt', { type: 'DateTime', description: 'When it was made.' }),
    until: t.expose('until', { type: 'DateTime', nullable: true, description: 'When it ends; null: never.' }),
    reason: t.exposeString('reason', { nullable: true, description: 'Why, for other moderators.' }),
    shadow: t.exposeBoolean('shadow', {
      description: 'In shadow: the reader writes as before, and each comment waits for a moderator.',
    }),
  }),
})

// A type of its own: a field of Reader would show bans to whoever may read comments.
export const ReaderRecordRef = builder.objectRef<ReaderRecord>('ReaderRecord').implement({
  description: "A reader of the tenant's site, as moderators see them.",
  fields: (t) => ({
    id: t.exposeID('id', { description: 'The id of the reader in this service.' }),
    externalId: t.exposeString('externalId', { description: "The reader's id at the tenant." }),
    name: t.exposeString('name', { nullable: true, description: 'The name to show, where the tenant gave one.' }),
    avatarUrl: t.exposeString('avatarUrl', { nullable: true, description: 'An https picture of the reader.' }),
    profileUrl: t.exposeString('profileUrl', { nullable: true, description: 'An https page about the reader.' }),
    ban: t.expose('ban', { type: BanRef, nullable: true, description: 'The ban that is in force; null without one.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the tenant first vouched for them.' }),
  }),
})

builder.queryField('reader', (t) =>
  t.field({
    type: ReaderRecordRef,
    nullable: true,
    access: 'moderate_content',
    description: 'One reader.',
    args: { id: t.arg.id({ required: true, description: 'The id of the reader in this service.' }) },
    resolve: (_root, { id }, ctx) => getReader(ctx, id),
  }),
)

builder.queryField('readers', (t) =>
  t.connection({
    type: ReaderRecordRef,
    access: 'moderate_content',
    description: "The tenant's readers, newest first.",
    args: {
      externalId: t.arg.string({
        description: 'Only the reader with this id at the tenant: a list of one, or of none.',
        extensions: shapedBy(externalIdSchema),
      }),
      search: t.arg.string({
        description:
          'Only those whose id at the tenant begins with this, or whose name has all of its words, the last one as a beginning.',
        extensions: shapedBy(searchSchema),
      }),
    },
    resolve: (_root, args, ctx) => listReaders(ctx, args),
  }),
)

builder.relayMutationField(
  'banReader',
  {
    extensions: shapedBy(banSchema),
    inputFields: (t) => ({
      readerId: t.id({ required: true, description: 'The reader.' }),
      until: t.field({ type: 'DateTime', description: 'When it ends, in the future; without it, never.' }),
      reason: t.string({ description: 'Why, for other moderators: 1 to 500 characters.' }),
      shadow: t.boolean({
        description: 'Whether the reader is not to notice it: comments wait for a moderator instead.',
      }),
    }),
  },
  {
    access: 'moderate_content',
    description: 'Bans a reader. A ban that is in force is replaced.',
    resolve: async (_root, { input }, ctx) => ({ reader: await banReader(ctx, input) }),
  },
  { outputFields: (t) => ({ reader: t.expose('reader', { type: ReaderRecordRef, description: 'The reader.' }) }) },
)

builder.relayMutationField(
  'unbanReader',
  { inputFields: (t) => ({ readerId: t.id({ required: true, description: 'The reader.' }) }) },
  {
    access: 'moderate_content',
    description: "Ends a reader's ban.",
    resolve: async (_root, { input }, ctx) => ({ reader: await unbanReader(ctx, input) }),
  },
  { outputFields: (t) => ({ reader: t.expose('reader', { type: ReaderRecordRef, description: 'The reader.' }) }) },
)
