// What a backend answers, and the page's function for tokens.
import type { Comment, Discussion, StreamTicket } from '../browser/stream.ts'

/** A comment as a page of comments shows it to this reader. */
export interface PageComment extends Comment {
  replies?: CommentPage
}

export interface CommentPage {
  data: PageComment[]
  nextCursor: string | null
  hasMore: boolean
}

/** The signed-in reader; `id` is an author's `externalId`, but after a merge. */
export interface Me {
  id: string
  name: string | null
  avatarUrl: string | null
  /** Null without a ban, or missing from an older backend. */
  ban?: { until: string | null } | null
}

export interface PublicSettings {
  /** Missing from an older service. */
  badges?: { id: string; label: string; tone: string }[]
  reactionTypes: string[]
  editWindowSeconds: number
  /** Missing from an older service. */
  showEditHistory?: boolean
  maxDepth: number
  /** Whether a site takes comments of people who confirm an e-mail address. */
  guests?: boolean
  /** False at a site that takes no writes. */
  posting?: false
  /** Why not, where its owner has not closed it: no guests, and no issuer who signs readers in. */
  closed?: 'nobody_yet'
}

/** All that a page shows first; the last three are null before the first comment. */
export interface First {
  settings: PublicSettings
  reader: Me | null
  discussion: Discussion | null
  comments: CommentPage | null
  /** The reader's comments that wait or were rejected; missing from an older backend. */
  own?: PageComment[] | null
  ticket: (StreamTicket & { expiresAt: string }) | null
}

/**
 * The token of the reader who is signed in on a page of a site; null for none. Asked with true
 * after the service has refused the last one.
 */
export type Identity = (isRefused: boolean) => Token | Promise<Token>
type Token = string | null | undefined
