import { isCapability } from '../../core/capabilities.ts'
import { builder } from '../../graphql/builder.ts'
import { addMutation } from '../../graphql/mutation.ts'
import { NodeRef } from '../../graphql/node.ts'
import { SHOWN_ONCE, shownOnce } from '../../graphql/shown-once.ts'
import { type BackendCheck, checkBackend } from './backend-check.ts'
import { CapabilityRef } from './graphql-types.ts'
import { createApiKey, listApiKeys, newKeySchema, revokeApiKey } from './keys.ts'

const ApiKeyRef = builder.prismaObject('ApiKey', {
  description: "A key that the tenant's backend uses to call the API.",
  interfaces: [NodeRef],
  fields: (t) => ({
    id: t.exposeID('id', { description: 'The id of the key. It is not a credential.' }),
    label: t.exposeString('label', { description: 'What the key is for.' }),
    prefix: t.exposeString('prefix', { description: 'The visible part of the key: `ek_` and its first 8 characters.' }),
    capabilities: t.field({
      type: [CapabilityRef],
      description: 'The capabilities of the key. May be empty.',
      resolve: (key) => key.capabilities.filter(isCapability),
    }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it expires. Null if it never does.',
    }),
    revokedAt: t.expose('revokedAt', { type: 'DateTime', nullable: true, description: 'When it was revoked.' }),
    lastUsedAt: t.expose('lastUsedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the key was last used, up to a minute late. Null if it never was.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
  }),
})

builder.queryField('apiKeys', (t) =>
  t.prismaPage({
    type: ApiKeyRef,
    list: 'api-keys',
    access: 'manage_api_keys',
    description: "Returns the tenant's API keys, newest first, with revoked and expired ones.",
    resolve: (query, ctx) => listApiKeys(ctx, query),
  }),
)

const BackendCheckRef = builder.objectRef<BackendCheck>('BackendCheck').implement({
  description: "What the backend of the tenant's pages has answered.",
  fields: (t) => ({
    url: t.exposeString('url', { description: 'The address that was asked.' }),
    answers: t.exposeBoolean('answers', { description: 'Whether pages can use the backend.' }),
    finding: t.exposeString('finding', { description: 'What was found, in words.' }),
  }),
})

builder.queryField('backendCheck', (t) =>
  t.field({
    type: BackendCheckRef,
    access: 'manage_api_keys',
    description:
      "Asks the backend of the tenant's pages for their settings, as the widget does, and says what it answers. It waits for at most 10 s. A tenant can ask ten times at once, and then once in 5 s.",
    args: {
      url: t.arg.string({
        required: true,
        description:
          'The address of its routes, such as `https://www.example.com/engagement`. It is checked as that of a webhook is.',
      }),
    },
    resolve: (_root, args, ctx) => checkBackend(ctx, args),
  }),
)

addMutation('createApiKey', {
  takes: 'The key to create.',
  shape: newKeySchema,
  input: (t) => ({
    label: t.string({ required: true, description: 'What the key is for: 1 to 100 characters.' }),
    capabilities: t.field({
      type: [CapabilityRef],
      required: true,
      description: 'The capabilities of the key, without repeats. The caller must hold all of them.',
    }),
    expiresAt: t.field({ type: 'DateTime', description: 'When it expires. It never does if this is absent.' }),
  }),
  access: 'manage_api_keys',
  throws: ['capability_escalation', 'key_budget_exhausted'],
  description: 'Creates an API key.',
  resolve: (input, ctx) => createApiKey(ctx, input),
  answers: 'The new key.',
  output: (t) => ({
    apiKey: t.field({
      type: ApiKeyRef,
      description: 'The key, without its secret part.',
      resolve: ({ apiKey }) => apiKey,
    }),
    key: t.string({ ...shownOnce('key'), description: `The raw key for \`X-API-Key\`. ${SHOWN_ONCE}` }),
  }),
})

addMutation('revokeApiKey', {
  takes: 'A key to revoke.',
  input: (t) => ({ id: t.id({ required: true, description: 'The id of the key.' }) }),
  access: 'manage_api_keys',
  description: 'Revokes an API key. This is final. A revoked key does not change.',
  resolve: async (input, ctx) => ({ apiKey: await revokeApiKey(ctx, input) }),
  answers: 'The revoked key.',
  output: (t) => ({
    apiKey: t.field({ type: ApiKeyRef, description: 'The key.', resolve: ({ apiKey }) => apiKey }),
  }),
})
