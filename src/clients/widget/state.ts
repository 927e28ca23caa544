import type { Comment } from '../browser/stream.ts'
import type { CommentPage, PageComment, Sort } from './backend.ts'

/** The comments of one level: the top level, or the replies to one comment. */
export interface List {
  /** In the order shown. */
  ids: string[]
  /**
   * New comments of others, announced but not shown, because they would move what the reader is
   * reading.
   */
  waiting: string[]
  cursor: string | null
  hasMore: boolean
  isLoaded: boolean
  isOpen: boolean
}

const newList = (): List => ({ ids: [], waiting: [], cursor: null, hasMore: false, isLoaded: false, isOpen: false })
export const TOP = ''

/**
 * The part of a discussion that the page shows. It does not use the DOM. `events.ts` has what
 * events change.
 */
export class ThreadState {
  readonly comments = new Map<string, PageComment>()
  readonly #lists = new Map<string, List>()
  /**
   * Comments that were public, loaded or not, and are known to be withdrawn: they no longer count.
   */
  readonly withdrawn = new Set<string>()
  /** Ids of readers whom the reader has muted, as far as it is known here. */
  readonly muted = new Set<string>()
  state: 'open' | 'locked' | 'archived' = 'open'
  sort: Sort
  /** Exact at the position that the page has reached. */
  exactCount = 0
  /** The reader's own, counted before their events, which not every reader gets. */
  readonly counted = new Set<string>()

  /**
   * Methods, because a function that a further file imports as well would be a file of its own.
   */
  isPublic(comment: Comment | undefined): boolean {
    return comment?.status === 'approved'
  }
  /** A comment that is not approved has a tombstone in view while it has a reply in view. */
  isInView(comment: Comment | undefined): boolean {
    return this.isPublic(comment) || !!comment?.replyCount
  }

  constructor(sort: Sort) {
    this.sort = sort
  }

  /**
   * At least the number of visible comments: without a stream, no event counts the reader's own.
   */
  get count(): number {
    return Math.max(this.exactCount, [...this.comments.values()].filter((one) => this.isPublic(one)).length)
  }

  list(parentId: string | null): List {
    const key = parentId ?? TOP
    const list = this.#lists.get(key) ?? newList()
    this.#lists.set(key, list)
    return list
  }

  /** Appends a page to its list. */
  addPage(parentId: string, { data, nextCursor, hasMore }: CommentPage): void {
    const list = this.list(parentId)
    for (const { replies, ...comment } of data) {
      this.comments.set(comment.id, comment)
      if (comment.authorMuted && comment.author) this.muted.add(comment.author.id)
      if (!list.ids.includes(comment.id)) this.#append(list, comment)
      // A few replies are shown with their comment, like a conversation; if there are many, none
      // are shown until the reader opens them.
      if (replies && !replies.hasMore && replies.data.length > 0) {
        const ordered = [...replies.data].sort((a, b) => (a.id < b.id ? -1 : 1))
        this.addPage(comment.id, { ...replies, data: ordered })
      }
    }
    list.waiting = list.waiting.filter((id) => !list.ids.includes(id))
    Object.assign(list, { cursor: nextCursor, hasMore, isLoaded: true, isOpen: true })
  }

  /**
   * Keeps the reader's own comments that nobody else sees, the newest first, for events to change.
   * `writing/own.ts` puts them into their lists.
   */
  hold(own: readonly PageComment[]): void {
    for (const comment of own.toReversed()) {
      // An event that withdraws it again changes no count.
      this.withdrawn.add(comment.id)
      this.keep(comment)
    }
  }

  /** Shows the reader's own comment at once. */
  add(comment: PageComment): void {
    if (this.isPublic(comment) && !this.comments.has(comment.id)) {
      this.exactCount++
      this.counted.add(comment.id)
    }
    this.keep(comment)
    const list = this.list(comment.parentId)
    list.waiting = list.waiting.filter((id) => id !== comment.id)
    if (!list.ids.includes(comment.id)) this.#insert(list, comment)
    list.isOpen = true
  }

  /**
   * Shows announced comments, at most `most`: the newest of the top level, the oldest replies.
   * Returns their ids, oldest first.
   */
  showWaiting(list: List, most: number): string[] {
    const shown = list === this.list(null) ? list.waiting.splice(-most) : list.waiting.splice(0, most)
    for (const id of shown) {
      const comment = this.comments.get(id)
      // Below newer ones that were announced with it and are shown already.
      if (comment) this.#insert(list, comment, (other) => other > id)
    }
    list.isOpen = true
    return shown
  }

  /** Removes the reader's own comment; one with replies stays as a tombstone. */
  remove(id: string): void {
    const comment = this.comments.get(id)
    if (!comment) return
    this.keep({ ...comment, status: 'deleted', author: null, body: null, bodyHtml: null })
    if (comment.replyCount > 0) return
    const list = this.list(comment.parentId)
    list.ids = list.ids.filter((one) => one !== id)
  }

  /** Replaces a comment's known state, and updates its parent's count. */
  keep(comment: PageComment): void {
    const before = this.comments.get(comment.id)
    // One with replies has been counted before it was known here.
    const wasInView = before ? this.isInView(before) : comment.replyCount > 0
    this.countReply(comment, Number(this.isInView(comment)) - Number(wasInView))
    // Events do not contain the viewer's reaction.
    const viewerReaction = comment.viewerReaction ?? before?.viewerReaction ?? null
    this.comments.set(comment.id, { ...comment, viewerReaction })
  }

  /** Whether new comments stand at the end of their list. */
  #isLast({ parentId, pinnedAt }: PageComment): boolean {
    return (parentId !== null || this.sort === 'oldest') && !pinnedAt
  }

  /**
   * Where new comments appear: at the end, or below pinned comments and those that `isAbove` names.
   * One that is pinned appears above all.
   */
  #insert(list: List, comment: PageComment, isAbove: (id: string) => boolean = () => false): void {
    if (this.#isLast(comment)) return this.#append(list, comment)
    const at = list.ids.findIndex((id) => comment.pinnedAt || (!this.comments.get(id)?.pinnedAt && !isAbove(id)))
    list.ids.splice(at < 0 ? Infinity : at, 0, comment.id)
  }

  /** At the end; of the oldest first, above newer ones that are shown already. */
  #append({ ids }: List, comment: PageComment): void {
    const isNewer = (id = ''): boolean => id > comment.id && !this.comments.get(id)?.pinnedAt
    let at = ids.length
    if (this.#isLast(comment)) while (isNewer(ids[at - 1])) at--
    ids.splice(at, 0, comment.id)
  }

  /**
   * A parent that comes into view or leaves it changes its own parent's count, and so on upwards.
   */
  countReply({ parentId }: Comment, change: number): void {
    const parent = this.comments.get(parentId ?? TOP)
    if (parent) this.keep({ ...parent, replyCount: Math.max(0, parent.replyCount + change) })
  }
}
