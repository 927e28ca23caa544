import { z } from 'zod'

import { hasAtMostValues } from '../core/input/json-shape.ts'
import { integer } from '../core/input/schemas.ts'
import { reachOf } from '../core/input/validate.ts'
import { badgeId, MAX_BADGES } from '../core/settings/tenant.ts'
import { carriedSchema } from '../domains/comments/fields.ts'
import { causesSchema, KINDS as NOTICE_KINDS } from '../domains/notices/causes.ts'
import { DECISION_ACTIONS, DECISION_REASONS } from '../domains/comments/decision.ts'
import { HOLD_REASONS } from '../domains/comments/rules.ts'
import { claimedAs } from '../domains/readers/fields.ts'

/**
 * The JSON Lines form: the format of exports, one item a line, and of the items that every source
 * of an import yields. From a foreign source only `kind` and the ids are required; unknown fields
 * are left out. Ids are the source's own, any text, unique per kind. Items may come in any order: a
 * comment may precede its parent, author and discussion.
 */
export const FORM_VERSION = 1

/** Characters that PostgreSQL cannot store become U+FFFD, as CommonMark does with NUL. */
const text = z.string().overwrite((given) => given.toWellFormed().replaceAll('\0', '\u{FFFD}'))

const isStorable = (given: string): boolean => given.isWellFormed() && !given.includes('\0')

/** A text that must stay unchanged, because other items refer to it. */
const name = z.string().refine(isStorable, 'must be well-formed Unicode without NUL')
const id = name.min(1).max(500).describe('The id at the source, unique among items of this kind')
const instant = z.iso
  .datetime({ offset: true, error: 'must be an RFC 3339 date and time' })
  .refine((given) => reachOf(Date.parse(given)) === null, 'must be from 1970 to 9999')
const time = instant.describe('RFC 3339, from 1970 to 9999')
const past = instant.describe(
  'RFC 3339, from 1970 on. A time in the future becomes the time of the import; a createdAt more than a day ahead is refused',
)
const url = z.string().max(2048)

const MAX_JSON_DEPTH = 32
const MAX_JSON_LENGTH = 1_000_000

/** Checks a `jsonb` value, without recursion, because it may be nested to any depth. */
function isBounded(given: Record<string, unknown>): boolean {
  let length = 0
  let level: unknown[] = [given]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_JSON_DEPTH) return false
    const next: unknown[] = []
    for (const value of level) {
      length += typeof value === 'string' ? value.length : 1
      if (typeof value === 'string' && !isStorable(value)) return false
      // Names of fields are checked like other texts.
      if (typeof value === 'object' && value !== null) for (const entry of Object.entries(value)) next.push(...entry)
    }
    if (length + next.length > MAX_JSON_LENGTH) return false
    level = next
  }
  return true
}

const json = z
  .record(z.string(), z.unknown())
  .refine(isBounded, `must be JSON of at most ${MAX_JSON_LENGTH} characters and ${MAX_JSON_DEPTH} levels, without NUL`)

/** The largest numbers in an export: far below the limits of a column or a double. */
const MAX_SEQ = 1_000_000_000_000
const MAX_REVISION = 1_000_000

const WITH_HEADER = 'Only taken from an export of this service'

/** The first line of an export. A file that begins with it keeps its ids. */
export const headerItem = z.object({
  kind: z.literal('header'),
  form: z.literal('engagement-service'),
  version: z.literal(FORM_VERSION),
  tenant: z.string().describe('The slug of the tenant'),
  exportedAt: time.describe('The instant that the export shows'),
})

/** The tenant's settings. Only a tenant that has set nothing takes them. */
export const settingsItem = z.object({
  kind: z.literal('settings'),
  settings: json.describe('The values that differ from the defaults: see the tenant settings'),
})

const notes = z
  .array(
    z.object({
      id,
      text,
      actorKind: z.enum(['key', 'admin', 'system']),
      actorId: name.nullish(),
      createdAt: past,
    }),
  )
  .optional()
  .describe(`What moderators have noted on it, oldest first. ${WITH_HEADER}`)

const badges = z.array(badgeId).max(MAX_BADGES).optional()

/** A person who commented, reacted or reported. */
export const readerItem = z.object({
  kind: z.literal('reader'),
  id,
  externalId: z.string().optional().describe('The id at the tenant; the default is `<source>:<id>`'),
  email: text.optional().describe('Only to find the person in `--authors`. It is never stored'),
  ...claimedAs(({ claim }) => (claim === 'name' ? text : url).nullish()),
  profileIssuedAt: past
    .nullish()
    .describe(`When the tenant last vouched for this profile: a newer one replaces it. ${WITH_HEADER}`),
  createdAt: time.nullish(),
  ban: z
    .object({
      at: past.nullish(),
      until: time.nullish().describe('Null: for good'),
      reason: text.nullish(),
      shadow: z.boolean().optional(),
    })
    .nullish(),
  trust: z
    .enum(['normal', 'hold', 'never_hold'])
    .optional()
    .describe('Which rules hold their comments. The default is normal'),
  assignedBadges: badges.describe('The badges that moderators have given them: ids of the setting `badges`'),
  claimedBadges: badges.describe('The badges that the tenant gave them with this profile'),
  formerly: z
    .array(z.object({ id, externalId: z.string(), mergedAt: past }))
    .optional()
    .describe(`Readers who were merged into this one, earliest first: their external ids lead here. ${WITH_HEADER}`),
  notes,
})

/** A page with comments. */
export const discussionItem = z.object({
  kind: z.literal('discussion'),
  id,
  externalId: z.string().optional().describe('The tenant’s key for the page; the default comes from `--page`'),
  url: url.nullish().describe('The address of the page'),
  title: text.nullish(),
  state: z.enum(['open', 'locked', 'archived']).optional(),
  seq: integer(0, MAX_SEQ)
    .optional()
    .describe(`The number of its last event; the next one has the number after it. ${WITH_HEADER}`),
  createdAt: time.nullish(),
  updatedAt: past.nullish(),
  lastCommentedAt: past.nullish().describe(WITH_HEADER),
  activeAt: past.nullish().describe(`Its place in the list of active discussions, to the minute. ${WITH_HEADER}`),
  moderationMode: z.enum(['none', 'pre', 'post']).nullish().describe('Null: as the setting of the tenant says'),
  closesAt: time.nullish().describe('When it is locked. Null: as the setting autoCloseDays of the tenant says'),
  slowModeSeconds: integer(0, 3600)
    .nullish()
    .describe('Seconds in which a reader can post one comment in it. Null: as the setting of the tenant says'),
  autoClosedAt: past.nullish().describe('When the service locked it because of its age or its closesAt'),
})

/** A comment. */
export const commentItem = z.object({
  kind: z.literal('comment'),
  id,
  discussionId: id.describe('`id` of the discussion’s item'),
  parentId: id.nullish().describe('`id` of the comment that it replies to'),
  authorId: id.nullish().describe('`id` of the reader’s item; null if the author was erased'),
  body: text.nullish().describe('Markdown; null for a tombstone'),
  status: z.enum(['pending', 'approved', 'rejected', 'deleted']).optional().describe('The default is approved'),
  createdAt: time,
  editedAt: past.nullish(),
  deletedAt: past.nullish(),
  pinnedAt: past.nullish(),
  firstApprovedAt: past.nullish().describe('The default is createdAt where it is approved'),
  holdReason: z.enum(HOLD_REASONS).nullish().describe('Why it waits for a moderator or is flagged'),
  flagged: z.boolean().optional().describe('In view, but in a moderation queue because of a rule'),
  holdDetails: z
    .array(
      z.object({
        rule: z.enum(['banned_word', 'suspect_word', 'too_many_links', 'repeated_text']),
        match: text,
        start: z.int().min(0).nullable(),
        end: z.int().min(0).nullable(),
      }),
    )
    .max(20)
    .nullish()
    .describe('What the rule of holdReason has found in the text'),
  reviewedAt: past.nullish().describe('When a moderator last looked at its present text'),
  decision: z
    .object({
      action: z.enum(DECISION_ACTIONS),
      reason: z.enum(DECISION_REASONS).nullable(),
      message: text.nullable(),
      automated: z.boolean(),
      at: instant,
    })
    .nullish()
    .describe('The last decision on its present text, for its author'),
  revision: integer(1, MAX_REVISION)
    .optional()
    .describe(`The default is one more than there are revisions. ${WITH_HEADER}`),
  revisions: z
    .array(
      z.object({
        body: text,
        createdAt: time.describe('When it was written'),
        replacedAt: past.nullish().describe('The default is when the next one was written'),
        wasPublic: z
          .boolean()
          .optional()
          .describe('Whether it was public when it was replaced: then readers may see it. The default is false'),
      }),
    )
    .optional()
    .describe('The bodies that edits have replaced, oldest first, without the present one'),
  notes,
  ...carriedSchema.partial().shape,
})

/** One reader's reaction on one comment. */
export const reactionItem = z.object({
  kind: z.literal('reaction'),
  commentId: id,
  readerId: id,
  type: text
    .nullable()
    .describe('One of the tenant’s reaction types; null for one removed by a reader banned in shadow'),
  createdAt: time.nullish(),
  counted: z.boolean().optional().describe('False for what a reader banned in shadow has chosen, which only they see'),
})

/** One reader's report of one comment. */
export const reportItem = z.object({
  kind: z.literal('report'),
  commentId: id,
  readerId: id,
  reason: text,
  note: text.nullish(),
  createdAt: time.nullish(),
  counted: z.boolean().optional().describe('False for a report of a reader banned in shadow, which does not count'),
  answered: z.boolean().optional().describe('A moderator has judged the comment since'),
})

/** A webhook endpoint, without secrets: it is imported as disabled, and needs a new secret. */
export const endpointItem = z.object({
  kind: z.literal('endpoint'),
  id,
  url,
  description: name.nullish(),
  eventTypes: z.array(name).min(1),
  discussionIds: z.array(id).min(1).max(100).optional().describe('Only events of these discussions; all without it'),
  policy: json.optional().describe('The values that differ from the tenant’s webhookPolicy'),
  createdAt: time,
})

/** A site, with its public key: its pages go on with another service. */
export const siteItem = z.object({
  kind: z.literal('site'),
  id,
  name: text,
  origins: z.array(name).min(1).max(20),
  publicKey: name,
  posting: z.boolean(),
  guests: z.enum(['off', 'email']).optional().describe('The default is off'),
  createdAt: time,
})

/** A notice channel, without its address, which is a secret: it is imported without one. */
export const noticeItem = z.object({
  kind: z.literal('notice'),
  id,
  form: z.enum(NOTICE_KINDS).describe('Whose form its messages have'),
  host: name,
  on: causesSchema,
  createdAt: time,
})

/** A reader who has muted another one. */
export const muteItem = z.object({
  kind: z.literal('mute'),
  id,
  readerId: id.describe('`id` of the item of the reader who muted, which comes before'),
  mutedId: id.describe('`id` of the item of the muted reader, which comes before'),
  createdAt: time,
})

/** An entry of the audit log. */
export const auditItem = z.object({
  kind: z.literal('audit'),
  id,
  actorKind: z.enum(['key', 'admin', 'system']),
  actorId: name.nullish(),
  action: name.max(100),
  targetType: name.max(100),
  targetId: name.max(500).nullish(),
  before: json.nullish(),
  after: json.nullish(),
  at: time,
})

const ITEMS = [
  headerItem,
  settingsItem,
  readerItem,
  discussionItem,
  commentItem,
  reactionItem,
  reportItem,
  endpointItem,
  siteItem,
  noticeItem,
  muteItem,
  auditItem,
] as const

export const KINDS = ITEMS.map(({ shape }) => shape.kind.value)

export const item = z.discriminatedUnion('kind', ITEMS, `must be one of ${KINDS.join(', ')}`)

/**
 * The most values in an item, far more than a comment system writes. A line of 4 MB may have two
 * million, and the check of each takes some microseconds, in which the process does nothing
 * else.
 */
const MAX_VALUES = 20_000

/** Why an item is not checked at all; null if it is. */
export const tooMuchIn = (given: unknown): string | null =>
  hasAtMostValues(given, MAX_VALUES) ? null : `has more than ${MAX_VALUES} values`

/** The most characters of a field's name in a message. */
const MAX_NAME = 50
/** The most unknown fields that are counted. */
const MAX_NAMES = 100

/** The unknown fields of an item, in words: `"ban.untill", which is no field of this kind`. */
export function unknownIn(given: { kind: string }): string | null {
  const schema = ITEMS.find(({ shape }) => shape.kind.value === given.kind)
  const found = new Set<string>()
  for (const field of unknownFields(schema, given, '')) {
    if (found.add(field).size > MAX_NAMES) break
  }
  const [first, ...more] = found
  if (first === undefined) return null
  const shown = JSON.stringify(first.slice(0, MAX_NAME)).replaceAll(/\p{C}/gu, escaped)
  const count = found.size > MAX_NAMES ? `more than ${MAX_NAMES - 1}` : more.length
  const others = more.length === 0 ? '' : `, and ${count} more like it`
  return `${shown}, which is no field of this kind${others}`
}

/** Control characters, which a terminal might execute. */
const escaped = (character: string): string => `\\u{${character.codePointAt(0)?.toString(16)}}`

function* unknownFields(schema: unknown, given: unknown, path: string): Generator<string> {
  if (typeof given !== 'object' || given === null) return
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) {
    yield* unknownFields(schema.unwrap(), given, path)
  } else if (schema instanceof z.ZodArray && Array.isArray(given)) {
    for (const each of given) yield* unknownFields(schema.element, each, path)
  } else if (schema instanceof z.ZodObject) {
    const { shape } = schema
    for (const field in given) {
      if (Object.hasOwn(shape, field)) {
        yield* unknownFields(shape[field], (given as Record<string, unknown>)[field], `${path}${field}.`)
      } else yield path + field
    }
  }
}

export type HeaderItem = z.input<typeof headerItem>
export type SettingsItem = z.input<typeof settingsItem>
export type NoticeItem = z.input<typeof noticeItem>
export type EndpointItem = z.input<typeof endpointItem>
export type SiteItem = z.input<typeof siteItem>
export type MuteItem = z.input<typeof muteItem>
export type AuditItem = z.input<typeof auditItem>
export type ReaderItem = z.input<typeof readerItem>
export type DiscussionItem = z.input<typeof discussionItem>
export type CommentItem = z.input<typeof commentItem>
export type ReactionItem = z.input<typeof reactionItem>
export type ReportItem = z.input<typeof reportItem>
export type Item = z.input<typeof item>

/**
 * An item, or a part of the source that cannot be taken. `place` says where it is, as `line 12`,
 * and is kept in the import's report: it names no person. `changed` says how the item differs from
 * the file.
 */
export type Found = { place: string; item: Item; changed?: string } | Refusal

export interface Refusal {
  place: string
  refused: string
  /** It lacks what every item of the format has. */
  isForeign?: boolean
}

/** What an import reads: a path on this disk, or a file that is stored elsewhere. */
export type SourceFile = string | StoredFile

/** A file that is no file of this disk. */
export interface StoredFile {
  name: string
  /** Its size. */
  bytes: number
  /** Its bytes from a position on. */
  read(from: number): AsyncIterable<Buffer>
}

/** A file format that an import reads. */
export interface Source {
  /** The format's name in sentences. */
  readonly about: string
  /**
   * Reads a file from beginning to end, in constant memory. An error in one item yields `refused`;
   * a file of another format throws SourceError. `onRead` gets the number of bytes read. `salt` is
   * a secret of the tenant, for ids made of private data.
   */
  readonly read: (file: SourceFile, onRead?: OnRead, salt?: string) => AsyncIterable<Found>
}

export type OnRead = (bytes: number) => void

/** The file is not of the format in `--from`, or is damaged. */
export class SourceError extends Error {}
