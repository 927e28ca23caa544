import type { Comment, StreamEvent } from '../browser/stream.ts'
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

type CommentEvent = Extract<StreamEvent, { type: `comment_${string}` }>

/** A mention without a name. */
export const NAMELESS = /data-reader="([\da-f-]+)">@(?=<)/g

const newList = (): List => ({ ids: [], waiting: [], cursor: null, hasMore: false, isLoaded: false, isOpen: false })
export const TOP = ''
const isPublic = (comment: Comment | undefined): boolean => comment?.status === 'approved'
/** A comment that is not approved has a tombstone in view while it has a reply in view. */
const isInView = (comment: Comment | undefined): boolean => isPublic(comment) || !!comment?.replyCount

/** The part of a discussion that the page shows, updated by events. It does not use the DOM. */
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
  #count = 0
  /** The reader's own, counted before their events, which not every reader gets. */
  readonly #counted = new Set<string>()

  constructor(sort: Sort) {
    this.sort = sort
  }

  /**
   * At least the number of visible comments: without a stream, no event counts the reader's own.
   */
  get count(): number {
    return Math.max(this.#count, [...this.comments.values()].filter(isPublic).length)
  }
  set count(count: number) {
    this.#count = count
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

  /** Shows the reader's own comment at once. */
  add(comment: PageComment): void {
    if (isPublic(comment) && !this.comments.has(comment.id)) {
      this.#count++
      this.#counted.add(comment.id)
    }
    this.#keep(comment)
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
    this.#keep({ ...comment, status: 'deleted', author: null, body: null, bodyHtml: null })
    if (comment.replyCount > 0) return
    const list = this.list(comment.parentId)
    list.ids = list.ids.filter((one) => one !== id)
  }

  /**
   * Applies an event. `me` is the reader's external id, empty for none: authors may lack one, too.
   */
  apply(event: StreamEvent, me: string): void {
    switch (event.type) {
      case 'discussion_locked':
      case 'discussion_unlocked':
      case 'discussion_archived':
        this.state = event.data.discussion.state
        break
      case 'reaction_toggled': {
        const { commentId, type, reactionCounts, reader } = event.data
        const comment = this.comments.get(commentId)
        if (!comment) break
        const own = reader?.externalId === me ? { viewerReaction: type } : {}
        this.comments.set(commentId, { ...comment, reactionCounts, ...own })
        break
      }
      case 'notification_reply':
        break
      default:
        this.#applyComment(event, me)
    }
  }

  #applyComment({ type, actor, data: { comment, tombstones = [] } }: CommentEvent, me: string): void {
    const { id } = comment
    const before = this.comments.get(id)
    const wasTombstone = tombstones.some((one) => one.id === id)
    // Judged by events alone, whatever the page has loaded: a public stream only has events about
    // comments that are or were public, and names tombstones.
    const wasPublic = !/created|approved/.test(type) && !this.withdrawn.has(id) && !wasTombstone
    const change = Number(isPublic(comment)) - Number(wasPublic)
    if (change <= 0 || !this.#counted.delete(id)) this.#count += change
    if (isPublic(comment)) this.withdrawn.delete(id)
    else this.withdrawn.add(id)
    // Only the author still sees a comment that is withheld. Its event names no author.
    const isOwn = (comment.author ?? before?.author)?.externalId === me
    if (before) {
      const isHeld = isOwn && !/approved|deleted/.test(comment.status)
      // Of their own edit they have an answer, which may tell more.
      const held = type === 'comment_rejected' ? 'rejected' : 'pending'
      const status = actor.kind === 'reader' ? before.status : held
      this.#keep(isHeld ? { ...before, status, replyCount: comment.replyCount } : comment)
      this.#place(comment)
    } else if (change > 0 && isOwn) {
      this.add(comment)
      if (this.#counted.delete(id)) this.#count--
    } else {
      this.#countReply(comment, Number(isInView(comment)) - Number(wasPublic || comment.replyCount > 0))
      // A pinned one may stand above the pages that are left to read.
      if (change > 0 || comment.pinnedAt) {
        this.comments.set(id, comment)
        this.#place(comment)
      }
    }
    for (const tombstone of tombstones) if (tombstone.id !== id) this.#applyTombstone(tombstone)
  }

  /** One above an event's comment has come into view or left it. */
  #applyTombstone(tombstone: Comment): void {
    const { id } = tombstone
    const before = this.comments.get(id)
    // A known one has been counted by its replies. The reader's own stays as they wrote it.
    if (before) {
      if (!before.author) this.#keep(tombstone)
    } else {
      this.#countReply(tombstone, isInView(tombstone) ? 1 : -1)
      if (!isInView(tombstone)) return
      this.comments.set(id, tombstone)
    }
    this.#place(tombstone)
  }

  /** Puts a comment in view into its list. One that is not in view does not wait there. */
  #place({ id, parentId }: Comment): void {
    const list = this.list(parentId)
    const { ids, waiting } = list
    if (!isInView(this.comments.get(id))) list.waiting = waiting.filter((one) => one !== id)
    else if (ids.includes(id) || waiting.includes(id)) return
    // There they do not move anything that the reader is reading.
    else if (parentId === null && (ids.length === 0 || (this.sort === 'oldest' && !list.hasMore))) ids.push(id)
    else waiting.push(id)
  }

  /** Replaces a comment's known state, and updates its parent's count. */
  #keep(comment: PageComment): void {
    const before = this.comments.get(comment.id)
    // One with replies has been counted before it was known here.
    const wasInView = before ? isInView(before) : comment.replyCount > 0
    this.#countReply(comment, Number(isInView(comment)) - Number(wasInView))
    // Events do not contain the viewer's reaction.
    const viewerReaction = comment.viewerReaction ?? before?.viewerReaction ?? null
    this.comments.set(comment.id, { ...comment, bodyHtml: this.#withNames(comment.bodyHtml), viewerReaction })
  }

  /** Events have mentions without names: those of authors who are known here are filled in. */
  #withNames(html: string | null): string | null {
    return (
      html &&
      html.replace(NAMELESS, (written, id: string) => {
        const known = [...this.comments.values()].find(({ author }) => author?.id === id)
        return written + (known?.author?.name ?? '').replace(/[&<>]/g, (sign) => `&#${sign.charCodeAt(0)};`)
      })
    )
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
  #countReply({ parentId }: Comment, change: number): void {
    const parent = this.comments.get(parentId ?? TOP)
    if (parent) this.#keep({ ...parent, replyCount: Math.max(0, parent.replyCount + change) })
  }
}
