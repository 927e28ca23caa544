import { z } from 'zod'

import { readStored } from '../stored.ts'
import { integer, isDistinct, wrong } from '../input/schemas.ts'
import { atMost, isCleanUrl, noNul, shownOrNull } from '../input/texts.ts'

// Settings that are changed are checked further (`entryErrors`). Stored ones are not: an entry of
// before that matches nothing stays where its admin sees it.
const word = noNul(atMost(100, z.string().trim().min(1, { abort: true }))).refine(
  (text) => /[\p{L}\p{N}\p{So}\p{Sc}]/u.test(text),
  'must have a letter, a digit or a symbol',
)
export const wordListSchema = z.array(word).max(1000)
// The address itself is checked when the setting is changed, and again before each request to it.
const outboundUrl = atMost(2048, z.string())
  .refine((text) => isCleanUrl(text) && URL.canParse(text), wrong('invalid_url', 'must be a URL'))
  .meta({ format: 'uri' })
// Apps and browser extensions have origins of their own, which the URL parser does not know.
const APP_ORIGIN = /^(capacitor|ionic|tauri|chrome-extension|moz-extension):\/\/[a-z0-9-]+(\.[a-z0-9-]+)*$/
const PATTERN = /^(https?:\/\/)\*(\.[^.*]+){2,}$/

/** `*` stands for the first label of a host: of a shorter host it would be too much. */
function isOrigin(text: string): boolean {
  if (APP_ORIGIN.test(text)) return true
  const url = PATTERN.test(text) ? text.replace('*', 'any') : text
  return /^https?:\/\/[^*]+$/.test(url) && URL.canParse(url) && new URL(url).origin === url
}

/** An origin without `*`. */
export const exactOrigin = z
  .string()
  .refine(
    (text) => !text.includes('*') && isOrigin(text),
    wrong('invalid_url', 'must be an origin, such as https://www.example.com'),
  )
  .meta({ format: 'uri' })

const origin = z
  .string()
  .refine(isOrigin, wrong('invalid_url', 'must be an origin, such as https://www.example.com or https://*.example.com'))
  .meta({ format: 'uri' })

/**
 * A type of reaction, chosen by the tenant. Clients keep counts in objects by type, where
 * `__proto__` would not be a key.
 */
export const reactionType = z
  .string()
  .regex(/^[a-z0-9_+-]{1,32}$/, 'must be 1 to 32 of a-z, 0-9, _, + and -')
  .refine((type) => type !== '__proto__', wrong('wrong_format', 'must not be __proto__'))

/** A choice of values, each with its meaning. `title` names the GraphQL type. */
const choice = <Name extends string>(title: string, description: string, values: Readonly<Record<Name, string>>) =>
  z.enum(Object.keys(values) as [Name, ...Name[]]).meta({ title, description, values })

/** The most badges that a reader can have. */
export const MAX_BADGES = 10

/**
 * The id of a badge. Clients keep labels in objects by id, where `__proto__` would not be a key.
 */
export const badgeId = z
  .string()
  .regex(/^[a-z0-9_-]{1,32}$/, 'must be 1 to 32 of a-z, 0-9, _ and -')
  .refine((id) => id !== '__proto__', wrong('wrong_format', 'must not be __proto__'))

const badge = z
  .strictObject({
    id: badgeId.describe('What `badges` of an author has.'),
    label: noNul(atMost(40, z.string().trim().min(1)))
      .refine((text) => shownOrNull(text) !== null, 'must have a visible character')
      .describe('What pages show. 1 to 40 characters.'),
    tone: choice('BadgeTone', 'How a badge looks.', {
      neutral: 'Without emphasis.',
      info: 'As information.',
      success: 'As something good.',
      warning: 'As something to be careful with.',
      danger: 'As something dangerous.',
    })
      .default('neutral')
      .describe('How pages show it.'),
  })
  .meta({ title: 'Badge', description: 'A badge that readers can have. It grants nothing.' })

/** The deepest that a tenant can let threads be. */
export const MAX_DEPTH = 100

/** The roles that a sign-on can give. Only owners make owners. */
const signOnRole = choice('SignOnRole', 'The role that a sign-on gives.', {
  admin: 'All, but to make, change and remove owners.',
  editor: 'To moderate, to change settings, and to read the analytics.',
  moderator: 'To moderate.',
  developer: 'To manage API keys and webhooks, and to read the analytics.',
  analyst: 'To read the analytics.',
})

const claimText = noNul(atMost(255, z.string().min(1)))
const MAX_ROLE_VALUES = 100

const signOn = z
  .strictObject({
    issuer: outboundUrl.describe('The issuer: the https address in front of `/.well-known/openid-configuration`.'),
    clientId: claimText.describe('The id of the client at the provider.'),
    clientSecret: noNul(atMost(1024, z.string().min(1)))
      .exactOptional()
      .meta({ writeOnly: true, description: 'The secret of the client. It is stored sealed, and never shown.' }),
    emailDomains: z
      .array(
        z
          .string()
          .max(253)
          .regex(/^[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63})+$/, 'must be a domain in lower case, such as example.com'),
      )
      .min(1)
      .max(50)
      .describe('The domains of the addresses that may sign in.'),
    roleClaim: claimText
      .nullable()
      .default(null)
      .describe('The claim that names roles: a text, or a list of texts. `a.b` is the claim `b` in the claim `a`.'),
    roles: z
      .record(claimText, signOnRole)
      .refine((roles) => Object.keys(roles).length <= MAX_ROLE_VALUES, `must have at most ${MAX_ROLE_VALUES} values`)
      .default({})
      .describe('The role of each value of the claim. Of several values the first role in the order of roles counts.'),
    defaultRole: signOnRole
      .nullable()
      .default(null)
      .describe('The role without such a value; null: the sign-on is refused.'),
    only: z.boolean().default(false).describe('Whether passwords are only for owners.'),
  })
  .meta({ title: 'OidcSettings', description: 'Single sign-on at the identity provider of the tenant.' })
  .nullable()
  .default(null)
  .describe('Single sign-on at the identity provider of the tenant (OpenID Connect).')

export type OidcSettings = NonNullable<z.infer<typeof signOn>>

export const moderationModeSchema = choice('ModerationMode', 'When moderators see comments.', {
  none: 'Only comments that a rule holds wait for a moderator.',
  pre: 'Every comment waits for a moderator.',
  post: 'Comments appear at once; moderators look afterwards at those that a rule would have held.',
})

export const slowModeSchema = integer(0, 3600).describe(
  'Seconds in which a reader can post one comment in the same discussion; 0: any number.',
)

export type ModerationMode = z.output<typeof moderationModeSchema>

/** A delivery policy, without its defaults. Times in milliseconds. */
const policy = {
  maxAttempts: integer(1, 10).describe('Attempts per delivery.'),
  backoffBaseMs: integer(10, 60_000).describe(
    'Milliseconds to wait after the first failed attempt, doubled each time.',
  ),
  timeoutMs: integer(100, 30_000).describe('Milliseconds that one attempt may take.'),
  breakerThreshold: integer(1, 100).describe('Failures in a row that open the circuit.'),
  breakerCooldownMs: integer(100, 3_600_000).describe('Milliseconds that the circuit stays open.'),
  disableThreshold: integer(1, 1000).describe(
    'Failures in a row that disable the endpoint, at least breakerThreshold.',
  ),
  schedule: choice('WebhookSchedule', 'How long after a failed attempt the next one is made.', {
    short: 'After `backoffBaseMs`, doubled each time: `maxAttempts` attempts.',
    days: '5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h and 24 h after each other: ten attempts, whatever `maxAttempts` is.',
  }),
  ordered: z
    .boolean()
    .describe('Whether a delivery waits until the earlier ones of its discussion are delivered or given up.'),
}

export const webhookPolicySchema = z
  .strictObject({
    maxAttempts: policy.maxAttempts.default(3),
    backoffBaseMs: policy.backoffBaseMs.default(1000),
    timeoutMs: policy.timeoutMs.default(10_000),
    breakerThreshold: policy.breakerThreshold.default(10),
    breakerCooldownMs: policy.breakerCooldownMs.default(60_000),
    disableThreshold: policy.disableThreshold.default(50),
    schedule: policy.schedule.default('short'),
    ordered: policy.ordered.default(false),
  } satisfies Record<keyof typeof policy, z.ZodType>)
  .refine(({ disableThreshold, breakerThreshold }) => disableThreshold >= breakerThreshold, {
    path: ['disableThreshold'],
    message: 'must be at least breakerThreshold',
  })
  .meta({
    title: 'WebhookDefaults',
    description: 'How deliveries are attempted, unless the endpoint has its own values.',
  })

type Overrides = { [Name in keyof typeof policy]: z.ZodExactOptional<(typeof policy)[Name]> }

/** The part of the policy that an endpoint overrides. */
export const policyOverridesSchema = z.strictObject(
  Object.fromEntries(Object.entries(policy).map(([name, each]) => [name, each.exactOptional()])) as Overrides,
)

/** How deliveries to one endpoint are attempted, retried and given up. */
export type WebhookPolicy = z.infer<typeof webhookPolicySchema>

/**
 * The settings of one tenant, with their defaults. GraphQL, REST, the reference and the console's
 * form are generated from this, with these descriptions.
 */
export const tenantSettingsSchema = z.strictObject({
  moderationMode: moderationModeSchema.default('none'),
  bannedWords: wordListSchema
    .default([])
    .describe(
      'Words and phrases with which a comment is refused. They match whole words, with `*` at an end parts of words. `*` inside a word stands for itself.',
    ),
  suspectWords: wordListSchema
    .default([])
    .describe('Words and phrases that hold a comment for a moderator. They match as bannedWords do.'),
  maxLinks: integer(0, 100).default(5).describe('Links that a comment may have before it is held.'),
  holdFirstComments: integer(0, 100).default(0).describe("How many of a reader's first comments are held."),
  holdRepeatedText: integer(0, 100)
    .default(0)
    .describe('How often readers can post the same text in 24 hours, all together, before it is held; 0: any number.'),
  holdAfterRejections: integer(0, 20)
    .default(0)
    .describe("Rejections in a row after which a reader's comments are held; 0: never."),
  reportThreshold: integer(1, 1000).default(5).describe('Reports that bring a comment before a moderator.'),
  editWindowSeconds: integer(0, 31_536_000).default(900).describe('Seconds in which an author can edit.'),
  showEditHistory: z
    .boolean()
    .default(false)
    .describe('Whether readers can read the earlier texts of an edited comment that were public.'),
  maxDepth: integer(0, MAX_DEPTH).default(10).describe('How deep replies can be nested.'),
  slowModeSeconds: slowModeSchema.default(0),
  autoCloseDays: integer(1, 3650)
    .nullable()
    .default(null)
    .describe('Days after which a discussion is locked; null: never.'),
  reactionTypes: z
    .array(reactionType)
    .min(1)
    .max(32)
    .refine(isDistinct, 'must not repeat a type')
    .default(['like', 'love', 'laugh', 'wow', 'sad', 'angry'])
    .describe('The reactions that readers can give.'),
  badges: z
    .array(badge)
    .max(20)
    .refine((badges) => new Set(badges.map(({ id }) => id)).size === badges.length, 'must not repeat an id')
    .default([])
    .describe('The badges that readers can have.'),
  erasureMode: choice('ErasureMode', "What happens to an erased reader's comments.", {
    anonymise: 'Each stays as a tombstone, without its text and its author.',
    delete: 'They are deleted; one with replies stays as a tombstone.',
  }).default('anonymise'),
  allowedOrigins: z
    .array(origin)
    .max(100)
    .default([])
    .describe(
      'Origins of web pages and apps that may open streams and use GraphQL. `*` stands for the first label of a host: `https://*.example.com`.',
    ),
  graphql: z
    .strictObject({
      documents: choice('DocumentPolicy', 'Which GraphQL documents browsers may run.', {
        any: 'Every document within the limits.',
        known: 'Those that the tenant has added, and no others, introspection included.',
      })
        .default('any')
        .describe('Which documents client tokens may run.'),
    })
    .meta({ title: 'GraphQLSettings', description: 'GraphQL in browsers.' })
    .prefault({}),
  staff: z
    .strictObject({
      oidc: signOn,
      signInHours: integer(1, 720).default(12).describe('Hours that a sign-in to the console lasts.'),
      requireTwoFactor: z
        .boolean()
        .default(false)
        .describe('Whether a member who signs in with a password needs a second factor.'),
    })
    .meta({ title: 'StaffSettings', description: 'The people of the console. Only an owner changes these.' })
    .prefault({}),
  activeKeyBudget: integer(1, 1000).default(20).describe('How many active API keys there can be.'),
  rateLimit: z
    .strictObject({
      perSecond: integer(1, 100_000).default(500).describe('Requests per second, sustained.'),
      burst: integer(1, 1_000_000).default(1000).describe('Requests at once.'),
    })
    .meta({ title: 'RateLimitSettings', description: 'How much each API key may ask.' })
    .prefault({}),
  stream: z
    .strictObject({
      replayHours: integer(1, 720).default(24).describe('Hours that an event can be replayed.'),
      replayEvents: integer(100, 100_000).default(10_000).describe('Events of one discussion that can be replayed.'),
      maxStreams: integer(1, 1_000_000)
        .default(5000)
        .describe('Streams open at once. Tickets open nine tenths of them at most.'),
      maxStreamsPerReader: integer(1, 1000).default(20).describe("Streams open at once with one reader's tickets."),
      maxStreamsPerTicket: integer(1, 1_000_000).default(5).describe('Streams open at once with one ticket.'),
      maxStreamsPerAddress: integer(1, 1_000_000)
        .default(200)
        .describe('Streams open at once with tickets from one address.'),
      maxDurationSeconds: integer(1, 86_400).default(900).describe('Seconds after which a stream ends and resumes.'),
    })
    .meta({ title: 'StreamSettings', description: 'Live streams.' })
    .prefault({}),
  ticket: z
    .strictObject({
      connectSeconds: integer(1, 3600).default(60).describe('Seconds that a ticket admits a first connection.'),
      reconnectSeconds: integer(1, 86_400)
        .default(3600)
        .describe('Seconds that a ticket admits a connection that resumes.'),
    })
    .meta({ title: 'TicketSettings', description: 'Stream tickets.' })
    .prefault({}),
  clientToken: z
    .strictObject({
      perSecond: integer(1, 10_000).default(20).describe('Requests per second with one token, sustained.'),
      burst: integer(1, 100_000).default(200).describe('Requests at once with one token.'),
      maxLivePerReader: integer(1, 1000).default(50).describe('Live tokens of one reader.'),
      maxLive: integer(1, 1_000_000).default(100_000).describe('Live tokens of all browsers together.'),
    })
    .meta({ title: 'ClientTokenSettings', description: 'Tokens with which browsers use GraphQL.' })
    .prefault({}),
  webhookEndpoints: integer(1, 1000)
    .default(25)
    .describe('How many webhook endpoints there can be, disabled ones included.'),
  webhookPolicy: webhookPolicySchema.prefault({}),
  deliveryRetentionDays: integer(1, 365).default(30).describe('Days that finished deliveries are kept.'),
  auditRetentionDays: integer(1, 36_500).default(1095).describe('Days that the audit log keeps its entries.'),
  analyticsRetentionDays: integer(93, 36_500)
    .default(400)
    .describe('Days for which the top discussions and readers, and the decisions of the team, can be asked.'),
  identity: z
    .strictObject({
      issuer: noNul(atMost(2048, z.string().min(1)))
        .nullable()
        .default(null)
        .describe('The `iss` of assertions that are signed with a key of jwksUrl.'),
      jwksUrl: outboundUrl
        .nullable()
        .default(null)
        .describe('The https address of the public keys that may sign assertions (RFC 7517); needs an issuer.'),
      audience: claimText
        .nullable()
        .default(null)
        .describe("The `aud` of the issuer's tokens that the pages of sites send; null: the slug."),
      maxAgeSeconds: integer(3600, 86_400)
        .default(3600)
        .describe('Seconds after its `iat` in which such a token is taken.'),
      claims: z
        .strictObject({
          name: claimText.default('name').describe('The claim with the name.'),
          avatarUrl: claimText.default('picture').describe('The claim with the https address of a picture.'),
          profileUrl: claimText.default('profile').describe('The claim with the https address of a page.'),
        })
        .meta({
          title: 'IdentityClaims',
          description: "The claims of the issuer's tokens with the profile of a reader.",
        })
        .prefault({})
        .describe('The claims of such a token with the profile of the reader.'),
    })
    .meta({ title: 'IdentitySettings', description: 'Reader assertions that are signed with public keys.' })
    .prefault({})
    .refine((identity) => identity.jwksUrl === null || identity.issuer !== null, {
      path: ['issuer'],
      message: 'is required with jwksUrl',
    }),
  sites: z
    .strictObject({
      cacheSeconds: integer(0, 60)
        .default(5)
        .describe('Seconds in which a shared cache may answer signed-out readers by itself.'),
    })
    .meta({ title: 'SiteSettings', description: 'Pages that ask the service by the public key of a site.' })
    .prefault({}),
  guests: z
    .strictObject({
      mailUrl: outboundUrl
        .nullable()
        .default(null)
        .describe(
          'The https address that gets the mails to send. Without it, and without a mail secret, no site takes guests.',
        ),
      hold: integer(0, 100)
        .default(1)
        .describe('How many comments of a guest must be approved before one appears without a moderator.'),
    })
    .meta({ title: 'GuestSettings', description: 'People who write on sites with a confirmed e-mail address.' })
    .prefault({}),
  classifier: z
    .strictObject({
      url: outboundUrl.nullable().default(null).describe('The https address that is asked.'),
      fallback: choice('ClassifierFallback', 'What happens to a comment while the classifier does not answer.', {
        approve: 'It is approved.',
        hold: 'It waits for a moderator.',
      })
        .default('hold')
        .describe('What happens to a comment while it does not answer.'),
    })
    .meta({ title: 'ClassifierSettings', description: 'A service of the tenant that judges new comments.' })
    .nullable()
    .default(null)
    .describe('A service of the tenant that judges new comments.'),
})

export type TenantSettings = z.infer<typeof tenantSettingsSchema>

/** The settings that pages for readers need; none is a secret. */
export const PUBLIC_SETTINGS = [
  'reactionTypes',
  'editWindowSeconds',
  'showEditHistory',
  'maxDepth',
  'badges',
] as const satisfies readonly (keyof TenantSettings)[]

/** The settings in force: the stored ones that this release knows, over the defaults. */
export const tenantSettings = (stored: unknown): TenantSettings => readStored(tenantSettingsSchema, stored)
