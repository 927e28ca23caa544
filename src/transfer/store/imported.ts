import type { Id } from '../../core/ids.ts'
import type { Column, Stored } from '../../domains/comments/fields.ts'
import type * as discussions from '../../domains/discussions/fields.ts'
import type * as readers from '../../domains/readers/fields.ts'
import type { HoldReason } from '../../domains/comments/rules.ts'
import type { ReportReason } from '../../domains/moderation/reports.ts'
import type { AuditItem, EndpointItem, Item, MuteItem, SettingsItem, SiteItem } from '../item.ts'
import type { Key } from '../../domains/imports/keys.ts'

// Checked items of a file, as they are stored. Keys stand for the items that they refer to.

/** An item as in the file, and how its source has changed it, if so. */
export type ReadItem = Item & { changed?: string }

export interface Imported {
  key: Key
  /** The place in the file. */
  place: string
  /** The id that it keeps; null if it gets one made of its key and time. */
  keptId: Id | null
  item: ReadItem
}

/** A reader who was merged into another. */
export interface ImportedFormerReader {
  key: Key
  id: Id
  externalId: string
  mergedAt: Date
}

/** Null where the source does not know: then it is when the item was made. */
type Unknown<Row, Name extends keyof Row> = Omit<Row, 'id' | Name> & { [Each in Name]: Row[Each] | null }

// An item of which the source does not say when it was made is as old as the first comment that
// comes with it.

export interface ImportedReader
  extends Imported, Unknown<Pick<readers.Stored, readers.ExportedColumn>, 'profileIssuedAt' | 'createdAt'> {
  kind: 'reader'
  formerly: ImportedFormerReader[]
  notes: ImportedNote[]
}

export interface ImportedDiscussion
  extends
    Imported,
    Unknown<Pick<discussions.Stored, discussions.ExportedColumn>, 'createdAt' | 'updatedAt' | 'activeAt'> {
  kind: 'discussion'
  /** Whether it has no address from which its external id could be made. */
  lacksAddress: boolean
}

/** What a moderator has noted on a reader or a comment. */
export interface ImportedNote {
  id: Id
  text: string
  actorKind: string
  actorId: Id | null
  createdAt: Date
}

export interface ImportedRevision {
  body: string
  replacedAt: Date
  wasPublic: boolean
}

/** Columns of a comment that its place tells, and what hangs on it. */
const PLACE_COLUMNS = ['discussionId', 'parentId', 'depth', 'authorId', 'replyCount', 'reactionCounts'] as const

export type PlaceColumn = (typeof PLACE_COLUMNS)[number]

export const isOfPlace = (name: Column): name is PlaceColumn => PLACE_COLUMNS.some((each) => each === name)

export interface ImportedComment extends Imported, Omit<Stored, PlaceColumn> {
  kind: 'comment'
  discussionKey: Key
  parentKey: Key | null
  authorKey: Key | null
  holdReason: HoldReason | null
  revisions: ImportedRevision[]
  notes: ImportedNote[]
}

interface OnComment extends Imported {
  commentKey: Key
  readerKey: Key
  /** Null: when the comment was written. */
  createdAt: Date | null
}

export interface ImportedReaction extends OnComment {
  kind: 'reaction'
  /** Null for one that was removed, of those that do not count. */
  type: string | null
  /** Whether others see it. */
  counted: boolean
}

/** What a reader has at most one of on a comment. */
export type PairKind = 'reaction' | 'shadow_reaction' | 'report'

export const pairKindOf = (row: ImportedReaction | ImportedReport): PairKind =>
  row.kind === 'reaction' && !row.counted ? 'shadow_reaction' : row.kind

export interface ImportedReport extends OnComment {
  kind: 'report'
  reason: ReportReason
  note: string | null
  counted: boolean
  answered: boolean
}

/** Items that only our own form has. */
export type OwnItem = SettingsItem | EndpointItem | SiteItem | MuteItem | AuditItem

/** Whether an item refers to others, which come before it. */
export const comesLast = ({ row }: PlacedOwn): boolean => row.kind === 'audit' || row.kind === 'mute'

/** The place in the file, and how the source has changed the item, if so. */
export interface PlacedOwn<Row = OwnItem> {
  place: string
  row: Row
  changed: string | undefined
}

export type ImportedItem = ImportedReader | ImportedDiscussion | ImportedComment | ImportedReaction | ImportedReport
