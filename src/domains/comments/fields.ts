import { z } from 'zod'

import { fieldsOf, type NamesOf as Names, type RowOf, type StoredField } from '../../core/fields.ts'
import { atMost, noNul, trimMarkdown } from '../../core/input/texts.ts'
import type { Decision } from './decision.ts'
import type { HoldDetail } from './hold-details.ts'
import { withLowerCaseIds } from './text/mentions.ts'

export const MAX_BODY_LENGTH = 10_000

export const bodySchema = noNul(
  atMost(MAX_BODY_LENGTH, z.string().overwrite(trimMarkdown).overwrite(withLowerCaseIds).min(1)),
)

/** The values that the types of their columns do not tell. */
interface Special {
  reactionCounts: Record<string, number>
  decision: Decision
  holdDetails: HoldDetail[]
  /** Beyond what a number can hold. */
  textDigest: string
}

/** Who gives a field when a comment is posted. */
type Giver =
  /**
   * A reader gives those with a schema, the service the others. A schema of a field that may be
   * left out is `….nullable().default(null)`.
   */
  | { by: 'caller'; schema?: z.ZodType }
  /** The statement that creates the comment. */
  | { by: 'statement' }
  /** The column's default, here as SQL. */
  | { by: 'default'; initially: string }
  /** It is looked up for each viewer, and has no column. */
  | { by: 'viewer' }

/** A text that its author wrote is left out of tombstones, and erased with the author. */
type Type = { type: 'text'; isText: boolean } | { type: Exclude<StoredField['type'], 'text'> }

export type Field = StoredField &
  Giver &
  Type & {
    /** Imports compute it, so exports leave it out. */
    isComputed?: true
    /** Shown to the comment's author alone: it is null for everyone else. */
    isForAuthor?: true
  }

/**
 * The fields of a comment, in the order of its JSON, where `author` stands in the place of
 * `authorId`.
 */
export const FIELDS = {
  id: { type: 'uuid', by: 'caller', help: 'The id of the comment.' },
  discussionId: { type: 'uuid', by: 'caller', help: 'The discussion that it belongs to.' },
  parentId: {
    type: 'uuid',
    isNullable: true,
    by: 'caller',
    help: 'The comment that it replies to. Null at the top level.',
  },
  depth: {
    type: 'int',
    by: 'statement',
    isComputed: true,
    help: 'The number of comments above it. 0 at the top level.',
  },
  authorId: { type: 'uuid', isNullable: true, by: 'caller' },
  body: {
    type: 'text',
    isText: true,
    isNullable: true,
    by: 'caller',
    schema: bodySchema.describe('Markdown, 1 to 10 000 characters after trimming.'),
    help: 'The text in Markdown. Null for a tombstone.',
  },
  bodyHtml: {
    type: 'text',
    isText: true,
    isNullable: true,
    by: 'caller',
    isComputed: true,
    help: 'The body as sanitised HTML, safe to insert into a page. Null for a tombstone.',
  },
  status: {
    type: 'comment_status',
    by: 'statement',
    help: 'The state of the comment. Only the text of an approved comment is public.',
  },
  pinnedAt: {
    type: 'timestamptz',
    isNullable: true,
    by: 'default',
    initially: 'NULL',
    help: 'When it was pinned.',
  },
  editedAt: {
    type: 'timestamptz',
    isNullable: true,
    by: 'default',
    initially: 'NULL',
    help: 'When it was last edited. Null for a tombstone.',
  },
  deletedAt: {
    type: 'timestamptz',
    isNullable: true,
    by: 'default',
    initially: 'NULL',
    help: 'When it was deleted.',
  },
  revision: {
    type: 'int',
    by: 'default',
    initially: '1',
    help: 'The version of the text: 1 when posted, one more with each edit. 1 for a tombstone.',
  },
  replyCount: {
    type: 'int',
    by: 'default',
    initially: '0',
    isComputed: true,
    help: 'The number of direct replies in view: approved ones, and tombstones with replies in view.',
  },
  reactionCounts: {
    type: 'jsonb',
    by: 'default',
    initially: "'{}'::json",
    isComputed: true,
    help: 'The number of reactions by type: `{type: n}`.',
  },
  viewerReaction: {
    type: 'text',
    isText: false,
    isNullable: true,
    by: 'viewer',
    help: 'The reaction of the asserted reader. Null without an identity.',
  },
  authorMuted: {
    type: 'bool',
    isNullable: true,
    by: 'viewer',
    help: 'True if the asserted reader has muted the author. Null otherwise, and without an identity.',
  },
  decision: {
    type: 'jsonb',
    isNullable: true,
    by: 'default',
    initially: 'NULL',
    isForAuthor: true,
    help: 'The last decision on it, for its author. Null for everyone else, before a decision, and after an edit.',
  },
  createdAt: { type: 'timestamptz', by: 'statement', help: 'When it was posted.' },
  /** For finding repetitions; null for a short text. */
  textDigest: { type: 'bigint', isNullable: true, by: 'caller', isComputed: true },
  /** Null until it first came into view. */
  firstApprovedAt: { type: 'timestamptz', isNullable: true, by: 'statement' },
  /** Why it is held or was flagged. */
  holdReason: { type: 'text', isText: false, isNullable: true, by: 'statement' },
  /** What the rule of this reason has found. It quotes the text. */
  holdDetails: { type: 'jsonb', isNullable: true, by: 'statement' },
  /** In view, but in a moderation queue because of a rule. */
  flagged: { type: 'bool', by: 'statement' },
  /** When a moderator last looked at the present text. */
  reviewedAt: { type: 'timestamptz', isNullable: true, by: 'default', initially: 'NULL' },
} as const satisfies Record<string, Field>

export type Fields = typeof FIELDS

export type NamesOf<Kind> = Names<Fields, Kind>

export type Column = Exclude<keyof Fields, NamesOf<{ by: 'viewer' }>>

type AuthorsColumn = NamesOf<{ isForAuthor: true }>

/** A field that the API shows to all as it is stored. */
export type ShownColumn = Exclude<Extract<NamesOf<{ help: string }>, Column>, AuthorsColumn>

/** A field that is looked up for each viewer. */
export type ViewersField = NamesOf<{ by: 'viewer' }> | AuthorsColumn

/** A row of `comments`. */
export type Stored = RowOf<Pick<Fields, Column>, Special>

const NAMES = fieldsOf(FIELDS)

export const COLUMNS = NAMES.filter((name): name is Column => FIELDS[name].by !== 'viewer')

export const SHOWN_COLUMNS = COLUMNS.filter(
  (name): name is ShownColumn => 'help' in FIELDS[name] && !('isForAuthor' in FIELDS[name]),
)

const isViewers = (name: keyof Fields): name is ViewersField =>
  FIELDS[name].by === 'viewer' || 'isForAuthor' in FIELDS[name]

/** Those fields as they are in events, which are the same for all viewers. */
export const VIEWERS_FIELDS = Object.fromEntries(NAMES.filter(isViewers).map((name) => [name, null])) as Record<
  ViewersField,
  null
>

/** The fields of a comment's JSON, in their order. */
export const JSON_FIELDS = NAMES.flatMap((name): (ShownColumn | 'author' | ViewersField) | [] => {
  if (name === 'authorId') return 'author'
  return isViewers(name) ? name : (SHOWN_COLUMNS.find((shown) => shown === name) ?? [])
})

/** What the statements that create comments take. */
export const GIVEN = NAMES.filter((name): name is NamesOf<{ by: 'caller' }> => FIELDS[name].by === 'caller')

export type ExportedColumn = Exclude<Column, NamesOf<{ isComputed: true }>>

/** What a tenant's export has of a comment. */
export const EXPORTED = COLUMNS.filter((name): name is ExportedColumn => !('isComputed' in FIELDS[name]))

type Schemas = { -readonly [Name in NamesOf<{ schema: z.ZodType }>]: Fields[Name]['schema'] }

const SCHEMAS = Object.fromEntries(
  GIVEN.flatMap((name) => {
    const field: Field = FIELDS[name]
    return field.by === 'caller' && field.schema !== undefined ? [[name, field.schema]] : []
  }),
) as unknown as Schemas

/** A reader's input for a new comment, beside its place. */
export const newCommentSchema = z.object(SCHEMAS)

/** What a reader may give beside the text. Exports and imports carry it unchanged. */
export const carriedSchema = newCommentSchema.omit({ body: true })

// oxlint-disable-next-line typescript/no-generated-empty-object-type -- no field is like this yet
type Carried = Omit<z.output<typeof newCommentSchema>, 'body'>

/** The carried fields of an item; null where it has none. */
export const carriedOf = (item: object): Carried => carriedSchema.parse(item)
