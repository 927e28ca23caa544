// What the elements of the widget tell the page: `engagement-<name>`, with these details.
import type { Comment, ReplyNotification } from '../browser/stream.ts'

/** The reader who is signed in. */
export interface SignedInReader {
  /** As the publisher knows them. */
  id: string
  name: string | null
  avatarUrl: string | null
}

interface Failure {
  error: unknown
  /** What has failed, such as `load`, `stream` or `post`. */
  action: string
}

/** The events of `<engagement-thread>`. */
export interface ThreadEvents {
  /** The comments are there, also again after a reload. */
  ready: { count: number; reader: SignedInReader | null }
  /** The reader has posted a comment. */
  posted: { comment: Comment }
  /** Somebody has answered the reader. */
  reply: ReplyNotification
  /**
   * A reader who is not signed in wants to write. `preventDefault()` keeps the widget from going to
   * the address of `sign-in`.
   */
  'sign-in': { action: string }
  error: Failure
}

/** The events of `<engagement-latest>` and `<engagement-most-discussed>`. */
export interface ListEvents {
  /** The list is there. */
  ready: { count: number }
  error: Failure
}
