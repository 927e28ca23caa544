import type { Id } from '../../core/ids.ts'
import type { CommentStatus, DiscussionState } from '../../generated/prisma/enums.ts'
import type { HoldReason } from '../comments/rules.ts'
import type { ReportReason } from '../moderation/reports.ts'
import type { AuditItem, EndpointItem, Item, SettingsItem } from './item.ts'
import type { Key } from './keys.ts'

// Items of a file once they have been checked, as they are stored. Keys stand for what they refer
// to.

/** An item as it stands in the file, and how its source has changed it, if it has. */
export type ReadItem = Item & { changed?: string }

interface Imported {
  key: Key
  /** Where it stands in the file. */
  place: string
  /** The id that it keeps; null where it gets one of its key and time. */
  keptId: Id | null
  item: ReadItem
}

/** One who was merged into a reader. */
export interface ImportedFormerReader {
  key: Key
  id: Id
  externalId: string
  mergedAt: Date
}

export interface ImportedReader extends Imported {
  kind: 'reader'
  externalId: string
  name: string | null
  avatarUrl: string | null
  profileUrl: string | null
  profileIssuedAt: Date | null
  bannedAt: Date | null
  bannedUntil: Date | null
  banReason: string | null
  shadowBanned: boolean
  formerly: ImportedFormerReader[]
  /** Null where the source does not know: then that of the first comment beside which it comes. */
  createdAt: Date | null
}

export interface ImportedDiscussion extends Imported {
  kind: 'discussion'
  externalId: string
  title: string | null
  url: string | null
  /** Whether it has no address that its external id could be made of. */
  lacksAddress: boolean
  state: DiscussionState
  seq: number
  /** As of a reader. */
  createdAt: Date | null
  updatedAt: Date | null
  lastCommentedAt: Date | null
  activeAt: Date | null
  autoClosedAt: Date | null
}

export interface ImportedRevision {
  body: string
  replacedAt: Date
}

export interface ImportedComment extends Imported {
  kind: 'comment'
  id: Id
  discussionKey: Key
  parentKey: Key | null
  authorKey: Key | null
  body: string | null
  bodyHtml: string | null
  textDigest: string | null
  status: CommentStatus
  pinnedAt: Date | null
  editedAt: Date | null
  deletedAt: Date | null
  firstApprovedAt: Date | null
  holdReason: HoldReason | null
  flagged: boolean
  revision: number
  revisions: ImportedRevision[]
  createdAt: Date
}

interface OnComment extends Imported {
  commentKey: Key
  readerKey: Key
  /** Null: when the comment was written. */
  createdAt: Date | null
}

export interface ImportedReaction extends OnComment {
  kind: 'reaction'
  type: string
}

export interface ImportedReport extends OnComment {
  kind: 'report'
  reason: ReportReason
  note: string | null
  counted: boolean
  answered: boolean
}

/** What only our own form has. It refers to nothing. */
export type OwnItem = SettingsItem | EndpointItem | AuditItem

/** Where it stands, and how its source has changed it, if it has. */
export interface PlacedOwn<Row = OwnItem> {
  place: string
  row: Row
  changed: string | undefined
}

export type ImportedItem = ImportedReader | ImportedDiscussion | ImportedComment | ImportedReaction | ImportedReport
