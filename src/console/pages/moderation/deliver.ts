import { type CommentStatus, ModerateCommentsDocument } from '../../../generated/console.ts'
import { wordsOf } from '../../api/errors.ts'
import { requestToTheEnd } from '../../api/request.ts'
import type { Decision } from '../../ui/decision.ts'
import type { Verb } from './undo.ts'

/** A comment, and the revision of its text that the console has got. */
export interface Target {
  id: string
  revision: number
}

/** A comment after an action. */
export interface Done {
  status: CommentStatus
  /** What its author is told of the last decision on it. */
  decision: Decision | null
}

/** What the service has done, by the comments' ids. */
export interface Outcome {
  done: ReadonlyMap<string, Done>
  /** Why comments were refused. */
  refused: ReadonlyMap<string, string>
  /** Why a whole request failed: the service was not reached, or does not take it. */
  failure: string | null
}

/** The service's bound for one request. */
const MOST_AT_ONCE = 100

/** Tells the service of an action on comments. */
export async function deliver(verb: Verb, comments: readonly Target[], decision: Decision | null): Promise<Outcome> {
  const done = new Map<string, Done>()
  const refused = new Map<string, string>()
  let failure: string | null = null
  const post = async (some: readonly Target[]): Promise<void> => {
    const ids = some.map(({ id }) => id)
    // The service refuses to approve a text that its author has edited since.
    const revisions = verb === 'approve' || verb === 'review' ? some.map(({ revision }) => revision) : null
    try {
      const input = { ids, action: verb, revisions, ...decision }
      const { moderateComments } = await requestToTheEnd(ModerateCommentsDocument, { input })
      for (const { commentId: id, ok, status, detail, decision: told } of moderateComments.outcomes) {
        if (ok && status != null) done.set(id, { status, decision: told ?? null })
        else refused.set(id, detail ?? 'It was refused.')
      }
    } catch (error) {
      failure = wordsOf(error)
    }
  }
  // All at once: a page that is being closed waits for no answer.
  const parts = Array.from({ length: Math.ceil(comments.length / MOST_AT_ONCE) }, (_, n) =>
    comments.slice(n * MOST_AT_ONCE, (n + 1) * MOST_AT_ONCE),
  )
  await Promise.all(parts.map(post))
  return { done, refused, failure }
}
