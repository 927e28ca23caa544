import { z } from 'zod'

import { readStored } from './stored.ts'
import { atMost, isCleanUrl, noNul } from './texts.ts'

// Punctuation does not count when words are compared: without anything else an entry would never be
// found.
const word = noNul(atMost(100, z.string().trim().min(1))).refine(
  (text) => /[\p{L}\p{N}\p{So}\p{Sc}]/u.test(text),
  'must have a letter, a digit or a symbol',
)
const wordList = z.array(word).max(1000)
// Where it may point is for the process that takes the setting to say, and for the one that calls
// the address.
const outboundUrl = atMost(2048, z.string())
  .refine((text) => isCleanUrl(text) && URL.canParse(text), {
    message: 'must be a URL',
    params: { code: 'invalid_url' },
  })
  .meta({ format: 'uri' })
const origin = z
  .url({ protocol: /^https?$/ })
  .refine(
    (text) => URL.canParse(text) && new URL(text).origin === text,
    'must be an origin, such as https://www.example.com',
  )

/** A type of reaction, of a tenant's own choice. */
export const reactionType = z.string().regex(/^[a-z0-9_+-]{1,32}$/, 'must be 1 to 32 of a-z, 0-9, _, + and -')

/** Bounds of a delivery policy. Times in milliseconds. */
const policyBounds = {
  maxAttempts: z.int().min(1).max(10),
  backoffBaseMs: z.int().min(10).max(60_000),
  timeoutMs: z.int().min(100).max(30_000),
  breakerThreshold: z.int().min(1).max(100),
  breakerCooldownMs: z.int().min(100).max(3_600_000),
  disableThreshold: z.int().min(1).max(1000),
}

export const webhookPolicySchema = z
  .strictObject({
    maxAttempts: policyBounds.maxAttempts.default(3),
    backoffBaseMs: policyBounds.backoffBaseMs.default(1000),
    timeoutMs: policyBounds.timeoutMs.default(10_000),
    breakerThreshold: policyBounds.breakerThreshold.default(10),
    breakerCooldownMs: policyBounds.breakerCooldownMs.default(60_000),
    disableThreshold: policyBounds.disableThreshold.default(50),
  })
  .refine((policy) => policy.disableThreshold >= policy.breakerThreshold, {
    path: ['disableThreshold'],
    message: 'must be at least breakerThreshold',
  })

/** What an endpoint sets by itself. */
export const policyOverridesSchema = z.strictObject({
  maxAttempts: policyBounds.maxAttempts.exactOptional(),
  backoffBaseMs: policyBounds.backoffBaseMs.exactOptional(),
  timeoutMs: policyBounds.timeoutMs.exactOptional(),
  breakerThreshold: policyBounds.breakerThreshold.exactOptional(),
  breakerCooldownMs: policyBounds.breakerCooldownMs.exactOptional(),
  disableThreshold: policyBounds.disableThreshold.exactOptional(),
})

/** How deliveries to one endpoint are attempted, retried and given up. */
export type WebhookPolicy = z.infer<typeof webhookPolicySchema>

/** The settings of one tenant, with their defaults. */
export const tenantSettingsSchema = z.strictObject({
  moderationMode: z.enum(['none', 'pre', 'post']).default('none'),
  bannedWords: wordList.default([]),
  suspectWords: wordList.default([]),
  maxLinks: z.int().min(0).max(100).default(5),
  holdFirstComments: z.int().min(0).max(100).default(0),
  reportThreshold: z.int().min(1).max(1000).default(5),
  editWindowSeconds: z.int().min(0).max(31_536_000).default(900),
  maxDepth: z.int().min(0).max(100).default(10),
  autoCloseDays: z.int().min(1).max(3650).nullable().default(null),
  reactionTypes: z
    .array(reactionType)
    .min(1)
    .max(32)
    .refine((types) => new Set(types).size === types.length, 'must not repeat a type')
    .default(['like', 'love', 'laugh', 'wow', 'sad', 'angry']),
  erasureMode: z.enum(['anonymise', 'delete']).default('anonymise'),
  allowedOrigins: z.array(origin).max(100).default([]),
  activeKeyBudget: z.int().min(1).max(1000).default(20),
  rateLimit: z
    .strictObject({
      perSecond: z.int().min(1).max(100_000).default(500),
      burst: z.int().min(1).max(1_000_000).default(1000),
    })
    .prefault({}),
  stream: z
    .strictObject({
      replayHours: z.int().min(1).max(720).default(24),
      replayEvents: z.int().min(100).max(100_000).default(10_000),
      maxStreams: z.int().min(1).max(1_000_000).default(5000),
      maxStreamsPerReader: z.int().min(1).max(1000).default(20),
      maxStreamsPerTicket: z.int().min(1).max(1_000_000).default(5),
      maxStreamsPerAddress: z.int().min(1).max(1_000_000).default(200),
      maxDurationSeconds: z.int().min(1).max(86_400).default(900),
    })
    .prefault({}),
  ticket: z
    .strictObject({
      connectSeconds: z.int().min(1).max(3600).default(60),
      reconnectSeconds: z.int().min(1).max(86_400).default(3600),
    })
    .prefault({}),
  webhookEndpoints: z.int().min(1).max(1000).default(25),
  webhookPolicy: webhookPolicySchema.prefault({}),
  deliveryRetentionDays: z.int().min(1).max(365).default(30),
  identity: z
    .strictObject({
      issuer: noNul(atMost(2048, z.string().min(1)))
        .nullable()
        .default(null),
      jwksUrl: outboundUrl.nullable().default(null),
    })
    .prefault({})
    .refine((identity) => identity.jwksUrl === null || identity.issuer !== null, {
      path: ['issuer'],
      message: 'is required with jwksUrl',
    }),
  classifier: z
    .strictObject({ url: outboundUrl.nullable().default(null), fallback: z.enum(['approve', 'hold']).default('hold') })
    .nullable()
    .default(null),
})

export type TenantSettings = z.infer<typeof tenantSettingsSchema>

/** The settings in force: what is stored and known to this release, over the defaults. */
export const tenantSettings = (stored: unknown): TenantSettings => readStored(tenantSettingsSchema, stored)
