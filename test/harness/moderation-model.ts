/**
 * A model of one discussion, without a database: the states of comments, and what each command must
 * change (docs/reference/choices/moderation.md, moderation).
 */

export const READERS = ['ann', 'bob'] as const

export type Actor = (typeof READERS)[number] | 'moderator'

type Kind =
  | 'create'
  | 'reply'
  | 'edit'
  | 'delete'
  | 'approve'
  | 'reject'
  | 'pin'
  | 'unpin'
  | 'report'
  | 'lock'
  | 'unlock'
  | 'archive'
  | 'mode'

export interface Command {
  kind: Kind
  actor: Actor
  /** Which comment, counted in the order of their making. */
  target: number
}

export interface ModelComment {
  author: Actor
  parent: ModelComment | null
  status: 'pending' | 'approved' | 'rejected' | 'deleted'
  isPinned: boolean
  wasApproved: boolean
  reporters: Set<Actor>
  /** How many reports a moderator has answered. */
  answered: number
}

/** `<type> <audience>`, in the order of their numbers. */
type ModelEvent = string

/** The code of a refusal, or `ok`. */
export type Outcome = string

export const REPORT_THRESHOLD = 2

export class ModerationModel {
  state: 'open' | 'locked' | 'archived' = 'open'
  mode: 'none' | 'pre' = 'none'
  readonly comments: ModelComment[] = []
  readonly events: ModelEvent[] = []

  repliesOf(comment: ModelComment | null): ModelComment[] {
    return this.comments.filter(({ parent }) => parent === comment)
  }

  isInView(comment: ModelComment): boolean {
    return comment.status === 'approved' || this.replyCount(comment) > 0
  }

  replyCount(comment: ModelComment): number {
    return this.repliesOf(comment).filter((reply) => this.isInView(reply)).length
  }

  get commentCount(): number {
    return this.comments.filter(({ status }) => status === 'approved').length
  }

  /** Runs a command on the model, and returns what the service must answer. */
  run({ kind, actor }: Command, comment: ModelComment | null): Outcome {
    if (kind === 'mode') return this.#toggleMode()
    if (kind === 'lock' || kind === 'unlock' || kind === 'archive') return this.#changeState(kind)
    if (kind === 'create') return this.#create(actor, null)
    if (comment === null) throw new Error(`${kind} needs a comment`)
    if (kind === 'reply') return this.#create(actor, comment)
    if (kind === 'edit') return this.#edit(actor, comment)
    if (kind === 'delete') return this.#delete(actor, comment)
    if (kind === 'report') return this.#report(actor, comment)
    return this.#judge(kind, comment)
  }

  #toggleMode(): Outcome {
    this.mode = this.mode === 'none' ? 'pre' : 'none'
    return 'ok'
  }

  #changeState(kind: 'lock' | 'unlock' | 'archive'): Outcome {
    const next = ({ lock: 'locked', unlock: 'open', archive: 'archived' } as const)[kind]
    if (next === this.state) return 'ok'
    if (this.state === 'archived') return 'invalid_transition'
    this.state = next
    this.events.push(`discussion_${kind}${kind === 'archive' ? 'd' : 'ed'} public`)
    return 'ok'
  }

  #create(author: Actor, parent: ModelComment | null): Outcome {
    if (this.state !== 'open') return `discussion_${this.state}`
    if (parent !== null && parent.status !== 'approved') return 'not_found'
    const isHeld = this.mode === 'pre'
    const comment: ModelComment = {
      author,
      parent,
      status: isHeld ? 'pending' : 'approved',
      isPinned: false,
      wasApproved: !isHeld,
      reporters: new Set(),
      answered: 0,
    }
    this.comments.push(comment)
    this.events.push(`comment_created ${isHeld ? 'tenant' : 'public'}`)
    if (!isHeld) this.#notify(comment)
    return 'ok'
  }

  #edit(actor: Actor, comment: ModelComment): Outcome {
    if (actor !== comment.author) return comment.status === 'approved' ? 'not_author' : 'not_found'
    if (comment.status === 'deleted') return 'not_found'
    if (this.state !== 'open') return `discussion_${this.state}`
    if (comment.status === 'rejected') return 'invalid_transition'
    const next = this.mode === 'pre' ? 'pending' : comment.status
    return this.#move(comment, next, 'comment_edited', next === 'approved' && comment.isPinned)
  }

  #delete(actor: Actor, comment: ModelComment): Outcome {
    if (actor !== 'moderator' && actor !== comment.author) {
      return comment.status === 'approved' ? 'not_author' : 'not_found'
    }
    if (this.state === 'archived') return 'discussion_archived'
    return comment.status === 'deleted' ? 'ok' : this.#move(comment, 'deleted', 'comment_deleted')
  }

  #judge(kind: 'approve' | 'reject' | 'pin' | 'unpin', comment: ModelComment): Outcome {
    const { status, isPinned, reporters, answered } = comment
    if (this.state === 'archived') return 'discussion_archived'
    if (kind === 'pin' || kind === 'unpin') {
      if (status !== 'approved') return 'invalid_transition'
      return isPinned === (kind === 'pin') ? 'ok' : this.#move(comment, status, `comment_${kind}ned`, !isPinned)
    }
    const next = kind === 'approve' ? 'approved' : 'rejected'
    const answersReports = kind === 'approve' && reporters.size > answered
    if (status === 'deleted' || (status === next && !answersReports)) return 'invalid_transition'
    comment.answered = reporters.size
    if (status === next) return 'ok'
    const isFirst = next === 'approved' && !comment.wasApproved
    this.#move(comment, next, `comment_${next}`)
    if (isFirst && comment.parent?.status !== 'deleted') this.#notify(comment)
    return 'ok'
  }

  #report(actor: Actor, comment: ModelComment): Outcome {
    if (comment.author === actor && comment.status !== 'deleted') return 'invalid_transition'
    if (comment.reporters.has(actor)) return 'already_reported'
    if (comment.status !== 'approved') return 'not_found'
    if (this.state === 'archived') return 'discussion_archived'
    comment.reporters.add(actor)
    if (comment.reporters.size - comment.answered < REPORT_THRESHOLD) return 'ok'
    return this.#move(comment, 'pending', 'comment_edited')
  }

  #move(comment: ModelComment, status: ModelComment['status'], event: string, isPinned = false): Outcome {
    const isPublic = comment.status === 'approved' || status === 'approved'
    const isTombstoneChanged = status === 'deleted' && this.replyCount(comment) > 0
    Object.assign(comment, { status, isPinned, wasApproved: comment.wasApproved || status === 'approved' })
    this.events.push(`${event} ${isPublic || isTombstoneChanged ? 'public' : 'tenant'}`)
    return 'ok'
  }

  #notify({ author, parent }: ModelComment): void {
    if (parent !== null && parent.author !== author) this.events.push('notification_reply recipient')
  }
}
