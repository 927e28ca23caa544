import { CAPABILITIES, isCapability } from '../../core/context.ts'
import { builder } from '../../schema/builder.ts'
import { shapedBy } from '../../schema/shape.ts'
import { SHOWN_ONCE, shownOnce } from '../../schema/shown-once.ts'
import { createApiKey, listApiKeys, newKeySchema, revokeApiKey } from './keys.ts'

const CapabilityRef = builder.enumType('Capability', {
  description: 'What an API key may do beyond reading, posting and reacting.',
  values: CAPABILITIES,
})

const ApiKeyRef = builder.prismaObject('ApiKey', {
  description: "A key with which the tenant's backend calls.",
  fields: (t) => ({
    id: t.exposeID('id', { description: 'The id of the key; it opens nothing.' }),
    label: t.exposeString('label', { description: 'What the key is for.' }),
    prefix: t.exposeString('prefix', { description: 'The visible part of the key: `ek_` and its first 8 characters.' }),
    capabilities: t.field({
      type: [CapabilityRef],
      description: 'What the key may do; may be empty.',
      resolve: (key) => key.capabilities.filter(isCapability),
    }),
    expiresAt: t.expose('expiresAt', { type: 'DateTime', nullable: true, description: 'When it ends; null: never.' }),
    revokedAt: t.expose('revokedAt', { type: 'DateTime', nullable: true, description: 'When it was revoked.' }),
    lastUsedAt: t.expose('lastUsedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When a request last came with it, about: up to a minute may be missing. Null: never.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was made.' }),
  }),
})

builder.queryField('apiKeys', (t) =>
  t.connection({
    type: ApiKeyRef,
    access: 'manage_api_keys',
    description: "The tenant's keys, newest first, revoked and expired ones too.",
    resolve: (_root, args, ctx) => listApiKeys(ctx, args),
  }),
)

builder.relayMutationField(
  'createApiKey',
  {
    description: 'A key to make.',
    extensions: shapedBy(newKeySchema),
    inputFields: (t) => ({
      label: t.string({ required: true, description: 'What the key is for: 1 to 100 characters.' }),
      capabilities: t.field({
        type: [CapabilityRef],
        required: true,
        description: 'What it may do, without repeats: only what the caller may do itself.',
      }),
      expiresAt: t.field({ type: 'DateTime', description: 'When it ends; without it, never.' }),
    }),
  },
  {
    access: 'manage_api_keys',
    throws: ['capability_escalation', 'key_budget_exhausted'],
    description: 'Makes an API key.',
    resolve: (_root, { input }, ctx) => createApiKey(ctx, input),
  },
  {
    description: 'The new key.',
    outputFields: (t) => ({
      apiKey: t.field({
        type: ApiKeyRef,
        description: 'The key, without its secret part.',
        resolve: ({ apiKey }) => apiKey,
      }),
      key: t.string({ ...shownOnce('key'), description: `The raw key for \`X-API-Key\`. ${SHOWN_ONCE}` }),
    }),
  },
)

builder.relayMutationField(
  'revokeApiKey',
  {
    description: 'A key to revoke.',
    inputFields: (t) => ({ id: t.id({ required: true, description: 'The id of the key.' }) }),
  },
  {
    access: 'manage_api_keys',
    description: 'Revokes an API key for good. A key that is revoked already stays as it is.',
    resolve: async (_root, { input }, ctx) => ({ apiKey: await revokeApiKey(ctx, input) }),
  },
  {
    description: 'The revoked key.',
    outputFields: (t) => ({
      apiKey: t.field({ type: ApiKeyRef, description: 'The key.', resolve: ({ apiKey }) => apiKey }),
    }),
  },
)
