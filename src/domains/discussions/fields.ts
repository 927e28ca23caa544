import { z } from 'zod'

import {
  columnsOf,
  fieldsOf,
  type InJson,
  inJson,
  type NamesOf,
  type RowOf,
  type StoredField,
} from '../../core/fields.ts'
import { moderationModeSchema, slowModeSchema } from '../../core/settings/tenant.ts'
import { atMost, externalIdSchema, noNul, webUrl } from '../../core/input/texts.ts'
import { wrong } from '../../core/input/schemas.ts'

type Field = StoredField & {
  /**
   * The tenant gives it, and may leave it out or remove it. The description says what it is, and
   * its bounds.
   */
  given?: z.ZodType
  /** It stands over the tenant's setting of that kind; null for the tenant's. */
  override?: z.ZodType
  /** Only exports, imports and the statement that writes it know it. */
  isApart?: true
  /** Imports compute it, so exports leave it out. */
  isComputed?: true
}

/** The fields of a discussion, in the order of its JSON, where `lastEventId` stands for `seq`. */
export const FIELDS = {
  id: { type: 'uuid', help: 'The id of the discussion in this service.' },
  externalId: { type: 'text', help: "The tenant's own key for the page." },
  title: {
    type: 'text',
    isNullable: true,
    given: noNul(atMost(500, z.string())).describe('The title of the page, at most 500 characters.'),
    help: 'The title of the page.',
  },
  url: {
    type: 'text',
    isNullable: true,
    given: webUrl.describe('The http or https address of the page.'),
    help: 'The address of the page.',
  },
  state: { type: 'discussion_state', help: 'Who may write in it.' },
  commentCount: { type: 'int', isComputed: true, help: 'The number of approved comments, exact at every commit.' },
  seq: { type: 'bigint', help: 'The stream position of this answer. Open the stream with it to miss nothing.' },
  createdAt: { type: 'timestamptz', help: 'When it was created.' },
  updatedAt: { type: 'timestamptz', help: 'When anything in it last changed.' },
  lastCommentedAt: {
    type: 'timestamptz',
    isNullable: true,
    help: 'When the last comment that came into view was posted. It stays when that comment leaves the view.',
  },
  moderationMode: {
    type: 'moderation_mode',
    isNullable: true,
    override: moderationModeSchema.describe("When moderators see its comments, over the tenant's moderationMode."),
    help: "When moderators see its comments. Null: as the tenant's setting says.",
  },
  closesAt: {
    type: 'timestamptz',
    isNullable: true,
    override: z
      .date()
      .describe("When it is locked, over the tenant's autoCloseDays. A time in the past locks it at once."),
    help: "When it is locked. Null: as the tenant's autoCloseDays says.",
  },
  slowModeSeconds: {
    type: 'int',
    isNullable: true,
    override: slowModeSchema.describe(
      "Seconds in which a reader can post one comment in it, over the tenant's slowModeSeconds; 0: any number.",
    ),
    help: "Seconds in which a reader can post one comment in it; 0: any number. Null: as the tenant's setting says.",
  },
  /** Its place in the list of active discussions, to the minute. */
  activeAt: { type: 'timestamptz' },
  /** When the service locked it because of its age. */
  autoClosedAt: { type: 'timestamptz', isNullable: true, isApart: true },
} as const satisfies Record<string, Field>

type Fields = typeof FIELDS

/** A row of `discussions`. */
export type Stored = RowOf<Fields>

type Column = Exclude<keyof Fields, NamesOf<Fields, { isApart: true }>>

export type DiscussionRow = Pick<Stored, Column>

const NAMES = fieldsOf(FIELDS)

export const DISCUSSION_COLUMNS = columnsOf(
  FIELDS,
  NAMES.filter((name) => !('isApart' in FIELDS[name])),
)

export type ExportedColumn = Exclude<keyof Fields, NamesOf<Fields, { isComputed: true }>>

/** What a tenant's export has of a discussion. */
export const EXPORTED = NAMES.filter((name): name is ExportedColumn => !('isComputed' in FIELDS[name]))

type ShownColumn = NamesOf<Fields, { help: string }>

const SHOWN_COLUMNS = NAMES.filter((name): name is ShownColumn => 'help' in FIELDS[name])

/** A comment thread on one page of the tenant. Times are RFC 3339. */
export type Discussion = { [Name in Exclude<ShownColumn, 'seq'>]: InJson<DiscussionRow[Name]> } & {
  /** The position of the stream at this state. */
  lastEventId: string
}

/** The fields of a discussion's JSON, in their order. */
export const JSON_FIELDS = SHOWN_COLUMNS.map((name): keyof Discussion => (name === 'seq' ? 'lastEventId' : name))

/** A discussion with null for what it may lack. */
export const withNulls = (given: Omit<Discussion, NamesOf<Fields, { isNullable: true }>> & Partial<Discussion>) =>
  Object.fromEntries(JSON_FIELDS.map((name) => [name, given[name] ?? null])) as unknown as Discussion

export const toDiscussion = (row: DiscussionRow): Discussion =>
  Object.fromEntries(
    JSON_FIELDS.map((name) => [name, name === 'lastEventId' ? String(row.seq) : inJson(row[name])]),
  ) as unknown as Discussion

type Given = NamesOf<Fields, { given: z.ZodType }>

/** What the tenant gives beside the external id. */
export const GIVEN = NAMES.filter((name): name is Given => 'given' in FIELDS[name])

type Override = NamesOf<Fields, { override: z.ZodType }>

/** What moderators set over the tenant's settings. */
export const OVERRIDES = NAMES.filter((name): name is Override => 'override' in FIELDS[name])

/** What a change may give beside the external id. */
export const CHANGED = [...GIVEN, ...OVERRIDES]

type Changed = Given | Override

/** What of a discussion a tenant may change. */
export type DiscussionFields = Pick<DiscussionRow, 'externalId' | Changed>

type GivenInput = { [Name in Given]: z.ZodOptional<z.ZodNullable<Fields[Name]['given']>> }

/** The schemas of the given fields. A rule is added to their descriptions. */
export const givenInput = (rule?: string): GivenInput =>
  inputOf(
    GIVEN.map((name) => [name, FIELDS[name].given]),
    rule,
  ) as GivenInput

type OverrideInput = { [Name in Override]: z.ZodOptional<z.ZodNullable<Fields[Name]['override']>> }

/** The schemas of the overrides. */
export const overrideInput = (rule?: string): OverrideInput =>
  inputOf(
    OVERRIDES.map((name) => [name, FIELDS[name].override]),
    rule,
  ) as OverrideInput

const inputOf = (schemas: readonly [string, z.ZodType][], rule: string | undefined): object =>
  Object.fromEntries(
    schemas.map(([name, given]) => {
      const schema = given.nullish()
      return [name, rule === undefined ? schema : schema.describe(`${given.description} ${rule}`)]
    }),
  )

// URL parsers drop such a segment of a path, also in percent-encoding, and the request reaches
// another route.
export const isDotSegment = (externalId: string): boolean => externalId === '.' || externalId === '..'

export const DOT_SEGMENT = 'must not be . or .., which URLs drop from a path'

export const newExternalIdSchema = externalIdSchema.refine((text) => !isDotSegment(text), wrong('invalid', DOT_SEGMENT))

export const discussionInput = z.object({ externalId: newExternalIdSchema, ...givenInput() })

export const discussionChanges = discussionInput.partial().extend(overrideInput())

/** Absent fields stay as they are. */
export type DiscussionChanges = z.output<typeof discussionChanges>

/** Undefined keeps the old value. */
export type DiscussionInput = z.output<typeof discussionInput>

/** Whether the input would change one of these fields. */
export const differs = (row: DiscussionRow, input: Omit<DiscussionChanges, 'externalId'>): boolean =>
  CHANGED.some((name) => input[name] !== undefined && inJson(input[name]) !== inJson(row[name]))

/** The fields of a discussion with these changes; undefined keeps the old value. */
export const changedRow = (row: DiscussionFields, changes: DiscussionChanges): DiscussionFields => ({
  externalId: changes.externalId ?? row.externalId,
  ...pickChanged((name) => (changes[name] === undefined ? row[name] : changes[name])),
})

/** What the audit log holds of a discussion. */
export const auditForm = (row: DiscussionFields): DiscussionFields => ({
  externalId: row.externalId,
  ...pickChanged((name) => row[name]),
})

const pickChanged = (valueOf: (name: Changed) => unknown) =>
  Object.fromEntries(CHANGED.map((name) => [name, valueOf(name)])) as unknown as Pick<DiscussionRow, Changed>
