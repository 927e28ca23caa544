import { searchSchema } from '../../core/search.ts'
import { externalIdSchema } from '../../core/texts.ts'
import { builder } from '../../schema/builder.ts'
import { shapedBy } from '../../schema/shape.ts'
import { SHOWN_ONCE, shownOnce } from '../../schema/shown-once.ts'
import { createIdentitySecret, listIdentitySecrets, PUBLIC_SECRET } from './identity-secrets.ts'
import { getKeySet, KEY_SET_STATES, type KeySet } from './key-set.ts'
import type { Reader } from './readers.ts'
import {
  type Ban,
  banOf,
  banReader,
  banSchema,
  getReader,
  getViewer,
  listReaders,
  unbanReader,
  type Viewer,
} from './records.ts'

export const ReaderRef = builder.objectRef<Reader>('Reader').implement({
  description: "A reader of the tenant's site, as its backend vouches for them.",
})

const IdentitySecretRef = builder.prismaObject('IdentitySecret', {
  description: "A secret with which the tenant's backend signs reader assertions (HS256).",
  // The sealed secret is no part of it. Beside `select`, an exposed field would read its row again:
  // these resolve.
  select: PUBLIC_SECRET,
  fields: (t) => ({
    kid: t.string({
      description: "The name of the secret, in the assertion's header `kid`.",
      resolve: ({ kid }) => kid,
    }),
    createdAt: t.field({
      type: 'DateTime',
      description: 'When it was made.',
      resolve: ({ createdAt }) => createdAt,
    }),
    expiresAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'When it ends: 24 h after a newer one was made. Null for the newest.',
      resolve: ({ expiresAt }) => expiresAt,
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

const KeySetStateEnum = builder.enumType('KeySetState', {
  description: "Whether the identity provider's keys can be used.",
  values: KEY_SET_STATES,
})

const KeySetRef = builder.objectRef<KeySet>('IdentityKeySet').implement({
  description: "The identity provider's public keys (setting identity.jwksUrl), and how fetching them goes.",
  fields: (t) => ({
    url: t.exposeString('url', { nullable: true, description: 'Where they are fetched; null where none is set.' }),
    state: t.expose('state', { type: KeySetStateEnum, description: 'Whether they can be used.' }),
    keyCount: t.exposeInt('keyCount', { description: 'How many keys are taken now.' }),
    fetchedAt: t.expose('fetchedAt', { type: 'DateTime', nullable: true, description: 'When they were last fetched.' }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When they are dropped unless they are fetched again: 24 h after `fetchedAt`. Null without keys.',
    }),
    failingSince: t.expose('failingSince', {
      type: 'DateTime',
      nullable: true,
      description: 'Since when every fetch has failed; null where the last one did not.',
    }),
    error: t.exposeString('error', { nullable: true, description: 'Why the last fetch failed.' }),
  }),
})

builder.queryField('identityKeySet', (t) =>
  t.field({
    type: KeySetRef,
    access: 'manage_settings',
    description: "The state of the identity provider's public keys.",
    resolve: (_root, _args, ctx) => getKeySet(ctx),
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
      secret: t.string({
        ...shownOnce('secret'),
        description: `The secret: its UTF-8 bytes, all of them, are the key of HS256. ${SHOWN_ONCE}`,
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
export const ReaderRecordRef = builder.prismaObject('Reader', {
  variant: 'ReaderRecord',
  description: "A reader of the tenant's site, as moderators see them.",
  fields: (t) => ({
    ban: t.field({
      type: BanRef,
      nullable: true,
      description: 'The ban that is in force; null without one.',
      resolve: banOf,
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the tenant first vouched for them.' }),
  }),
})

const ViewerBanRef = builder.objectRef<NonNullable<Viewer['ban']>>('ViewerBan').implement({
  description: 'A ban as its reader is told of it.',
  fields: (t) => ({
    until: t.expose('until', { type: 'DateTime', nullable: true, description: 'When it ends; null: never.' }),
  }),
})

const ViewerRef = builder.objectRef<Viewer>('Viewer').implement({
  description: 'The reader on whose behalf the request is made.',
  fields: (t) => ({
    ban: t.expose('ban', {
      type: ViewerBanRef,
      nullable: true,
      description: 'The ban that keeps the reader from writing; null without one. A ban in shadow does not show.',
    }),
  }),
})

// What all three types show of a reader.
const EXTERNAL_ID = "The reader's id at the tenant"

for (const [ref, externalId] of [
  [ReaderRef, `${EXTERNAL_ID} (\`sub\` of the assertion).`],
  [ReaderRecordRef, `${EXTERNAL_ID}.`],
  [ViewerRef, `${EXTERNAL_ID}.`],
] as const) {
  builder.objectFields(ref, (t) => ({
    id: t.exposeID('id', { description: 'The id of the reader in this service.' }),
    externalId: t.exposeString('externalId', { description: externalId }),
    name: t.exposeString('name', { nullable: true, description: 'The name to show, where the tenant gave one.' }),
    avatarUrl: t.exposeString('avatarUrl', { nullable: true, description: 'An https picture of the reader.' }),
    profileUrl: t.exposeString('profileUrl', { nullable: true, description: 'An https page about the reader.' }),
  }))
}

builder.queryField('viewer', (t) =>
  t.field({
    type: ViewerRef,
    nullable: true,
    access: 'reader',
    description: 'The reader that the identity assertion vouches for.',
    resolve: (_root, _args, ctx) => getViewer(ctx),
  }),
)

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
