import { searchSchema } from '../../core/database/search.ts'
import { readerIdSchema } from '../../core/input/texts.ts'
import { builder } from '../../graphql/builder.ts'
import { addEnum } from '../../graphql/enum.ts'
import { addMutation } from '../../graphql/mutation.ts'
import { NodeRef } from '../../graphql/node.ts'
import { secretType } from '../../graphql/secret-type.ts'
import { shapedBy } from '../../graphql/shape.ts'
import { SHOWN_ONCE, shownOnce } from '../../graphql/shown-once.ts'
import { shownWith } from '../../graphql/shown-with.ts'
import { storedFields, typeOf } from '../../graphql/stored-fields.ts'
import { listSecrets } from '../tenants/secrets.ts'
import type { BanSweep as Sweep } from '../../generated/prisma/client.ts'
import { findSweep, type OfBanned } from './ban-sweeps.ts'
import { createIdentitySecret, revokeIdentitySecret } from './identity-secrets.ts'
import { FIELDS, OF_RECORD, PROFILE, type Reader } from './fields.ts'
import { kindOf, type ReaderKind } from './guest-ids.ts'
import { getKeySet, KEY_SET_STATES, type KeySet } from './key-set.ts'
import {
  banFor,
  banReader,
  banSchema,
  fieldOfRecord,
  getReader,
  getViewer,
  listReaders,
  RECORD_CAPABILITIES,
  type ShownBan,
  sightOf,
  unbanReader,
} from './records.ts'

const BanCommentsEnum = addEnum<OfBanned>(
  'BanComments',
  'What becomes of the comments that a banned reader has written.',
  {
    keep: 'They stay.',
    withhold: 'Approved ones leave the view, and wait for a moderator.',
    reject: 'Approved and pending ones are rejected.',
  },
)

const SweepRef = builder.objectRef<Sweep>('BanSweep').implement({
  description: 'What a ban does to the comments that the reader has written, and how far that is.',
  fields: (t) => ({
    action: t.field({
      type: BanCommentsEnum,
      description: 'What happens to each comment: it is withheld until a moderator approves it, or rejected.',
      resolve: ({ action }) => action as OfBanned,
    }),
    total: t.exposeInt('total', {
      nullable: true,
      description: 'How many comments there were to change. Null until the work has begun.',
    }),
    done: t.exposeInt('done', { description: 'How many of them have been changed.' }),
    completedAt: t.expose('completedAt', {
      type: 'DateTime',
      nullable: true,
      description:
        'When the work ended: some seconds after the last one, so that no comment on its way is missed. Null before.',
    }),
  }),
})

const BanRef = builder.objectRef<ShownBan>('Ban').implement({
  description: 'A ban in force. The reader cannot write or, with a shadow ban, is not seen by others.',
  fields: (t) => ({
    bannedAt: t.expose('bannedAt', { type: 'DateTime', description: 'When it was created.' }),
    until: t.expose('until', {
      type: 'DateTime',
      nullable: true,
      description: 'When it expires. Null if it never does.',
    }),
    reason: t.exposeString('reason', { nullable: true, description: 'The reason, for other moderators.' }),
    shadow: t.exposeBoolean('shadow', {
      description: 'Whether this is a shadow ban: the reader can write, but each comment waits for a moderator.',
    }),
    comments: t.field({
      type: SweepRef,
      nullable: true,
      description: 'What becomes of the comments that the reader has written. Null if they stay, and to the reader.',
      resolve: ({ readerId }, _args, ctx) => (readerId === null ? null : findSweep(ctx, readerId)),
    }),
  }),
})

const ReaderKindEnum = addEnum<ReaderKind>('ReaderKind', 'Who vouches for a reader.', {
  reader: 'The backend or the issuer of the tenant.',
  guest: 'Nobody: they have confirmed an e-mail address on a page of a site.',
})

const storedField = storedFields(FIELDS)

export const ReaderRef = builder.objectRef<Reader>('Reader').implement({
  description: "A reader of the tenant's site, as its backend asserts them.",
  interfaces: [NodeRef],
  fields: (t) => ({
    ...Object.fromEntries(PROFILE.map((name) => [name, storedField(t, name)])),
    kind: t.field({
      type: ReaderKindEnum,
      ...shownWith('Who vouches for them.', RECORD_CAPABILITIES, { except: '; the asserted reader sees their own' }),
      resolve: async (reader, _args, ctx) =>
        (await sightOf(ctx, reader)) === 'none' ? null : kindOf(reader.externalId),
    }),
    ban: t.field({
      type: BanRef,
      ...shownWith('The ban in force. Null while the reader is not banned.', RECORD_CAPABILITIES, {
        isNullable: true,
        except: '; the asserted reader sees their own, without its reason, unless it is a shadow ban',
      }),
      resolve: (reader, _args, ctx) => banFor(ctx, reader),
    }),
    ...Object.fromEntries(
      OF_RECORD.map((name) => [
        name,
        t.field({
          type: typeOf(FIELDS[name]),
          ...shownWith(FIELDS[name].help, RECORD_CAPABILITIES, { isNullable: 'isNullable' in FIELDS[name] }),
          resolve: async (reader, _args, ctx) => (await fieldOfRecord(ctx, reader, name)) as never,
        }),
      ]),
    ),
  }),
})

const IdentitySecretRef = secretType('IdentitySecret', {
  description: "A secret that the tenant's backend signs reader assertions with (HS256).",
  kid: 'The id of the secret, in the header `kid` of assertions.',
})

builder.queryField('identitySecrets', (t) =>
  t.connection({
    type: IdentitySecretRef,
    access: 'manage_settings',
    description: "Returns the tenant's identity secrets, newest first.",
    resolve: (_root, args, ctx) => listSecrets(ctx, 'identity_secret', args),
  }),
)

const KeySetStateEnum = builder.enumType('KeySetState', {
  description: "Whether the identity provider's keys can be used.",
  values: KEY_SET_STATES,
})

const KeySetRef = builder.objectRef<KeySet>('IdentityKeySet').implement({
  description: "The identity provider's public keys (setting identity.jwksUrl), and the state of fetching them.",
  fields: (t) => ({
    url: t.exposeString('url', { nullable: true, description: 'The address of the keys. Null without that setting.' }),
    state: t.expose('state', { type: KeySetStateEnum, description: 'Whether the keys can be used.' }),
    keyCount: t.exposeInt('keyCount', { description: 'The number of keys that assertions may be signed with.' }),
    fetchedAt: t.expose('fetchedAt', { type: 'DateTime', nullable: true, description: 'When they were last fetched.' }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      nullable: true,
      description:
        'When the keys are dropped unless they are fetched again: 24 h after `fetchedAt`. Null without keys.',
    }),
    failingSince: t.expose('failingSince', {
      type: 'DateTime',
      nullable: true,
      description: 'When the present run of failed fetches began. Null if the last fetch succeeded.',
    }),
    error: t.exposeString('error', { nullable: true, description: 'Why the last fetch failed.' }),
  }),
})

builder.queryField('identityKeySet', (t) =>
  t.field({
    type: KeySetRef,
    access: 'manage_settings',
    description: "Returns the state of the identity provider's public keys.",
    resolve: (_root, _args, ctx) => getKeySet(ctx),
  }),
)

addMutation('createIdentitySecret', {
  access: 'manage_settings',
  description: 'Creates an identity secret. The previous secret stays valid for 24 hours.',
  resolve: (_input, ctx) => createIdentitySecret(ctx),
  answers: 'The new identity secret.',
  output: (t) => ({
    kid: t.exposeString('kid', { description: 'The id of the secret, for the header `kid` of assertions.' }),
    secret: t.string({
      ...shownOnce('secret'),
      description: `The secret. The UTF-8 bytes of the whole text are the key of HS256. ${SHOWN_ONCE}`,
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
  }),
})

addMutation('revokeIdentitySecret', {
  takes: 'An identity secret to end.',
  input: (t) => ({ kid: t.id({ required: true, description: 'The id of the secret.' }) }),
  access: 'manage_settings',
  throws: ['not_found'],
  description:
    'Ends an identity secret at once: assertions signed with it are refused. This is final. Without another secret, or keys of the identity provider, no reader is identified.',
  resolve: async (input, ctx) => ({ identitySecret: await revokeIdentitySecret(ctx, input) }),
  answers: 'The ended secret.',
  output: (t) => ({
    identitySecret: t.expose('identitySecret', { type: IdentitySecretRef, description: 'The secret.' }),
  }),
})

builder.queryField('viewer', (t) =>
  t.field({
    type: ReaderRef,
    access: 'reader',
    client: true,
    description: 'Returns the reader of the identity assertion.',
    resolve: (_root, _args, ctx) => getViewer(ctx),
  }),
)

builder.queryField('reader', (t) =>
  t.field({
    type: ReaderRef,
    access: 'moderate_content',
    description: 'Returns a reader.',
    args: { id: t.arg.id({ required: true, description: 'The id of the reader in this service.' }) },
    resolve: (_root, { id }, ctx) => getReader(ctx, id),
  }),
)

builder.queryField('readers', (t) =>
  t.connection({
    type: ReaderRef,
    access: 'moderate_content',
    description: "Returns the tenant's readers, newest first.",
    args: {
      externalId: t.arg.string({
        description:
          'Only the reader with this id at the tenant; if they were merged, the reader who stays. The list has at most one entry.',
        extensions: shapedBy(readerIdSchema),
      }),
      search: t.arg.string({
        description:
          'Only readers whose id at the tenant begins with this text, or whose name has all of its words. The last word may be a prefix. ' +
          'A reader whose id is this text comes first. If that reader was merged, the reader who stays comes first.',
        extensions: shapedBy(searchSchema),
      }),
    },
    resolve: (_root, args, ctx) => listReaders(ctx, args),
  }),
)

addMutation('banReader', {
  shape: banSchema,
  input: (t) => ({
    readerId: t.id({ required: true, description: 'The reader.' }),
    until: t.field({
      type: 'DateTime',
      description: 'When it ends, in the future. It never ends if this is absent.',
    }),
    reason: t.string({ description: 'The reason, for other moderators. 1 to 500 characters.' }),
    shadow: t.boolean({
      description: 'Makes a shadow ban: the reader does not notice it, and each comment waits for a moderator.',
    }),
    comments: t.field({
      type: BanCommentsEnum,
      description:
        'What becomes of the comments that the reader has written; workers do it after the answer. ' +
        'Default: keep. The only one with a shadow ban. Comments in archived discussions stay.',
    }),
  }),
  access: 'moderate_content',
  description: 'Bans a reader. This replaces a ban in force.',
  resolve: async (input, ctx) => ({ reader: await banReader(ctx, input) }),
  output: (t) => ({ reader: t.expose('reader', { type: ReaderRef, description: 'The reader.' }) }),
})

addMutation('unbanReader', {
  input: (t) => ({ readerId: t.id({ required: true, description: 'The reader.' }) }),
  access: 'moderate_content',
  description: "Ends a reader's ban.",
  resolve: async (input, ctx) => ({ reader: await unbanReader(ctx, input) }),
  output: (t) => ({ reader: t.expose('reader', { type: ReaderRef, description: 'The reader.' }) }),
})
