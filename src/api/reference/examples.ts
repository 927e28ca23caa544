import type { Schema } from './json-schema.ts'

const ID = '01980000-0000-7000-8000-000000000001'
const OTHER_ID = '01980000-0000-7000-8000-000000000002'
const READER_ID = '01980000-0000-7000-8000-000000000003'
const KID = '3f9c2a71'
const HEX = '5f0c3b1d9a7e48264c1b0e9d8a7f6352410f3e2d1c0b9a8796857463524130ff'
const NOW = '2026-11-21T02:30:00.000Z'

/**
 * The example of a field, by its name or by `<schema>.<name>`. Other examples are made from the
 * field's schema.
 */
const VALUES: Readonly<Record<string, unknown>> = {
  id: ID,
  externalId: 'article-1',
  externalIds: ['article-1', 'article-2'],
  title: 'A good article',
  search: 'good art',
  'Discussion.url': 'https://www.example.com/article-1',
  lastEventId: '42',
  commentCount: 12,
  parentId: null,
  depth: 0,
  replyCount: 2,
  body: 'First, and in **Markdown**.',
  bodyHtml: '<p>First, and in <strong>Markdown</strong>.</p>\n',
  'Comment.status': 'approved',
  'ModerationOutcome.status': 'approved',
  'ModerationOutcome.code': null,
  'ModerationOutcome.detail': null,
  pinnedAt: null,
  editedAt: null,
  deletedAt: null,
  revokedAt: null,
  lastUsedAt: NOW,
  circuitOpenUntil: null,
  disabledReason: null,
  nextAttemptAt: null,
  until: null,
  reactionCounts: { like: 3, love: 1 },
  viewerReaction: null,
  tombstones: [],
  'Reaction.type': 'like',
  'EventActor.readerId': READER_ID,
  'EventActor.externalId': 'reader-1',
  'Reader.id': READER_ID,
  'ReaderRecord.id': READER_ID,
  'Reader.externalId': 'reader-1',
  'ReaderRecord.externalId': 'reader-1',
  'EventRecipient.externalId': 'reader-1',
  name: 'Ann',
  avatarUrl: 'https://www.example.com/ann.png',
  profileUrl: 'https://www.example.com/readers/ann',
  ban: null,
  note: 'The same link on every page.',
  label: 'The backend of www.example.com',
  prefix: 'ek_5f0c3b1d',
  key: `ek_${HEX}`,
  capabilities: ['moderate_content'],
  expiresAt: null,
  'StreamTicket.expiresAt': NOW,
  'LoginPayload.expiresAt': NOW,
  'MeResponse.expiresAt': NOW,
  'ChangePasswordPayload.expiresAt': NOW,
  'SwitchTenantPayload.expiresAt': NOW,
  'AcceptInvitationPayload.expiresAt': NOW,
  'Invitation.expiresAt': NOW,
  'ConfirmTotpPayload.expiresAt': NOW,
  'BeginTotpPayload.secret': 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP',
  otpauthUrl: 'otpauth://totp/Engagement%20Service:demo:ann@example.com?secret=JBSWY3DPEHPK3PXP',
  recoveryCodes: ['1f0c-77ab-93d2-e845'],
  'LoginBody.code': '123456',
  'ConfirmTotpBody.code': '123456',
  'AcceptInvitationBody.code': '123456',
  twoFactor: true,
  'Invitation.url': `https://comments.example.com/console/invitation#in_${HEX}`,
  'Member.state': 'active',
  'Member.role': 'editor',
  kid: KID,
  secret: `whs_${HEX}`,
  'CreateIdentitySecretPayload.secret': HEX,
  ticket: 'eyJhbGciOiJIUzI1NiJ9.eyJkIjoiMDE5ODAwMDAifQ.c2lnbmF0dXJl',
  token: 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIwMTk4MDAwMCJ9.c2lnbmF0dXJl',
  streamUrl: `https://comments.example.com/api/v1/stream/${ID}?ticket=eyJhbGciOiJIUzI1NiJ9`,
  'WebhookEndpoint.url': 'https://www.example.com/hooks',
  'WebhookEndpoint.description': 'Our moderation tool',
  eventTypes: ['comment_created', 'reaction_toggled'],
  eventType: 'comment_created',
  state: 'open',
  'WebhookEndpoint.state': 'verified',
  consecutiveFailures: 0,
  error: null,
  statusCode: 204,
  durationMs: 87,
  responseSnippet: '',
  'Delivery.status': 'delivered',
  'DeliveryDetail.status': 'delivered',
  'DeliveryDetail.body': `{"id":"${OTHER_ID}","type":"comment_created"}`,
  headers: { 'Content-Type': 'application/json', 'X-Service-Event': 'comment_created' },
  email: 'admin@example.com',
  password: 'a long pass phrase',
  new: 'another long pass phrase',
  slug: 'demo',
  maxAttempts: 3,
  backoffBaseMs: 1000,
  timeoutMs: 10_000,
  breakerThreshold: 10,
  breakerCooldownMs: 60_000,
  disableThreshold: 50,
  perSecond: 500,
  burst: 1000,
  reactionTypes: ['like', 'love', 'laugh', 'wow', 'sad', 'angry'],
  bannedWords: ['casino'],
  suspectWords: ['discount'],
  allowedOrigins: ['https://www.example.com'],
  autoCloseDays: null,
  issuer: null,
  jwksUrl: null,
  classifier: null,
  nextCursor: 'WyJyZWNlbnQiLCIwMTk4MDAwMCJd',
  hasMore: true,
}

/** Bodies that show more than the required fields, by operation. */
const BODIES: Readonly<Record<string, Record<string, unknown>>> = {
  CreateDiscussion: { externalId: 'article-1', title: 'A good article', url: 'https://www.example.com/article-1' },
  CreateComment: { body: 'First, and in **Markdown**.' },
  UpdateComment: { body: 'First, and edited.' },
  ToggleReaction: { type: 'like' },
  SetReaction: { type: 'love' },
  ReportComment: { reason: 'spam', note: 'The same link on every page.' },
  BanReader: { until: '2030-01-01T00:00:00.000Z', reason: 'Spam, after two warnings' },
  CreateStreamTicket: { discussionId: ID },
  CreateWebhookEndpoint: { url: 'https://www.example.com/hooks', eventTypes: ['comment_created'] },
  UpdateWebhookEndpoint: { description: 'Our moderation tool', policy: { maxAttempts: 5 } },
  WordMatches: { words: ['casino'] },
  UpdateSettings: { moderationMode: 'pre', bannedWords: ['casino'], stream: { replayHours: 48 } },
}

/** The named schemas, targets of references. */
export type Schemas = Readonly<Record<string, Schema>>

/** An example body for requests of `operation`. */
export function exampleBody(operation: string, schema: Schema, schemas: Schemas): unknown {
  const given = BODIES[operation]
  if (given !== undefined) return given
  const { properties = {}, required = [] } = followed(schema, schemas) as { required?: string[] } & Schema
  return Object.fromEntries(required.map((name) => [name, valueOf(name, undefined, properties[name] ?? {}, schemas)]))
}

/**
 * An example of `schema`. `name` is the name of its field, `owner` that of the enclosing schema.
 */
export function exampleOf(schema: Schema, schemas: Schemas, owner?: string): unknown {
  const own = nameOf(schema) ?? owner
  const { type, properties, items, anyOf, enum: values } = followed(schema, schemas)
  if (Array.isArray(anyOf)) return exampleOf(anyOf[0] as Schema, schemas, own)
  if (Array.isArray(values)) return values[0]
  if (properties !== undefined) {
    const entries = Object.entries(properties)
    return Object.fromEntries(entries.map(([name, value]) => [name, valueOf(name, own, value, schemas)]))
  }
  if ([type].flat().includes('array')) return [exampleOf(items as Schema, schemas, owner)]
  return plainExample(followed(schema, schemas))
}

function valueOf(name: string, owner: string | undefined, schema: Schema, schemas: Schemas): unknown {
  const qualified = `${owner ?? ''}.${name}`
  for (const key of [qualified, name]) {
    // A name alone is not enough: fields of the same name can have different types.
    if (Object.hasOwn(VALUES, key) && fits(VALUES[key], followed(schema, schemas), schemas)) return VALUES[key]
  }
  return exampleOf(schema, schemas, owner)
}

function fits(value: unknown, schema: Schema, schemas: Schemas): boolean {
  const { type, anyOf, enum: values } = schema
  if (Array.isArray(anyOf)) return anyOf.some((choice) => fits(value, followed(choice as Schema, schemas), schemas))
  if (Array.isArray(values)) return values.includes(value)
  if (type === undefined) return true
  const actual = Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value
  return [type].flat().includes(actual === 'number' ? 'integer' : actual)
}

function plainExample({ type, format, minimum }: Schema): unknown {
  const [first] = [type].flat()
  if (first === 'integer' || first === 'number') return Math.max(Number(minimum ?? 0), 1)
  if (first === 'boolean') return true
  if (first === 'null') return null
  if (first === 'object') return {}
  if (format === 'uuid') return OTHER_ID
  if (format === 'date-time') return NOW
  return format === 'uri' ? 'https://www.example.com/' : 'text'
}

const nameOf = ({ $ref }: Schema): string | undefined =>
  typeof $ref === 'string'
    ? $ref
        .split('/')
        .at(-1)
        ?.replace(/(\D)\d+$/, '$1')
    : undefined

function followed(schema: Schema, schemas: Schemas): Schema {
  const { $ref } = schema
  if (typeof $ref !== 'string') return schema
  return schemas[$ref.split('/').at(-1) ?? ''] ?? {}
}
