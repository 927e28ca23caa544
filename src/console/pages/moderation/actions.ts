import { useRef } from 'react'

import {
  ModerateCommentsDocument,
  ModerationQueueDocument,
  type ModerationQueueStatus,
} from '../../../generated/console.ts'
import { wordsOf } from '../../api/errors.ts'
import { useWrite } from '../../api/queries.ts'
import { type Entry, isWaiting } from './queue.ts'
import { type Before, DONE, inverseOf, type Step, type Verb } from './undo.ts'

/** Reports the result of an action, and whether it can be undone. */
type Tell = (words: string, canUndo: boolean) => void

/** Undoes one action, and returns a message about the result. */
type Undo = () => Promise<string>

interface Done {
  undo: Undo
  /** False if `undo` can only explain why it is impossible. */
  canUndo: boolean
  /** The comments that were changed. */
  ids: readonly string[]
}

interface Applied {
  changed: Before[]
  failure: string | null
}

interface Queue {
  status: ModerationQueueStatus
  change: (id: string, news: Partial<Entry>) => void
}

/** The service's bound for one request. */
const MOST_AT_ONCE = 100

const beforeOf = ({ item, status, pinnedAt }: Entry): Before => ({
  id: item.comment.id,
  revision: item.comment.revision,
  status,
  isPinned: pinnedAt !== null,
})

/** The actions on the comments in view, one or many. `tell` gets the result of each. */
export function useActions({ status: queue, change }: Queue, tell: Tell) {
  const { mutateAsync } = useWrite(ModerateCommentsDocument, [ModerationQueueDocument])
  const all = useRef<Done[]>([])
  const say = (words: string): void => tell(words, all.current.at(-1)?.canUndo ?? false)

  /**
   * Applies an action, and marks the result at each comment. Returns the comments that were
   * changed, and why a request failed.
   */
  const apply = async (verb: Verb, comments: readonly Before[]): Promise<Applied> => {
    let failure: string | null = null
    for (const { id } of comments) change(id, { isBusy: true, refusal: null })
    const done = new Set<string>()
    for (let from = 0; from < comments.length; from += MOST_AT_ONCE) {
      const some = comments.slice(from, from + MOST_AT_ONCE)
      const ids = some.map(({ id }) => id)
      // Only the text that was read here may come into view, not a later edit of its author.
      const revisions = verb === 'approve' ? some.map(({ revision }) => revision) : null
      try {
        const { moderateComments } = await mutateAsync({ input: { ids, action: verb, revisions } })
        for (const { commentId: id, ok, status, detail } of moderateComments.outcomes) {
          if (ok) done.add(id)
          change(id, ok && status != null ? judged(verb, status, queue) : { isBusy: false, refusal: detail ?? null })
        }
      } catch (error) {
        // No comment was refused: the service was not reached, or does not take the whole request.
        failure = wordsOf(error)
        for (const id of ids) change(id, { isBusy: false, refusal: failure })
      }
    }
    return { changed: comments.filter(({ id }) => done.has(id)), failure }
  }

  const takeBack = async (step: Step): Promise<string> => {
    const { steps, because } = inverseOf(step)
    let count = 0
    for (const { verb, comments } of steps) {
      const { changed, failure } = await apply(verb, comments)
      count = Math.max(count, changed.length)
      if (count === 0) throw new Error(failure ?? 'It could not be undone.')
    }
    const words = count === 0 ? [] : [`Undone: no longer ${DONE[step.verb].toLowerCase()}.`]
    return [...words, ...(because === null ? [] : [because])].join(' ')
  }

  const judge = async (verb: Verb, entries: readonly Entry[]): Promise<void> => {
    const { changed: comments, failure } = await apply(verb, entries.map(beforeOf))
    const step = { verb, comments }
    if (comments.length > 0) {
      const ids = comments.map(({ id }) => id)
      all.current.push({ undo: () => takeBack(step), canUndo: inverseOf(step).steps.length > 0, ids })
    }
    say(
      failure === null
        ? wordsFor(verb, comments.length, entries.length - comments.length)
        : failureOf(verb, comments.length, failure),
    )
  }

  /** Undoes the last action. Where that is impossible, returns a comment that it has changed. */
  const undo = async (): Promise<string | undefined> => {
    const last = all.current.pop()
    if (last === undefined) {
      say('There is nothing to undo.')
      return undefined
    }
    try {
      say(await last.undo())
    } catch (error) {
      all.current.push(last)
      say(wordsOf(error))
    }
    return last.canUndo ? undefined : last.ids[0]
  }

  /** Notes the last action, which `last` undoes. */
  const remember = (words: string, last: Undo): void => {
    all.current.push({ undo: last, canUndo: true, ids: [] })
    say(words)
  }

  return { judge, undo, remember, say }
}

function judged(verb: Verb, status: Entry['status'], queue: ModerationQueueStatus): Partial<Entry> {
  const news = { status, isBusy: false, refusal: null, pinnedAt: verb === 'pin' ? new Date().toISOString() : null }
  // A pin is no judgement: a comment that waited for one still does.
  return verb === 'pin' || verb === 'unpin' ? news : { ...news, dealtBy: isWaiting(status, queue) ? null : 'me' }
}

const failureOf = (verb: Verb, done: number, failure: string): string =>
  done === 0 ? `Nothing was done. ${failure}` : `${DONE[verb]}: ${done}, and no others. ${failure}`

function wordsFor(verb: Verb, done: number, refused: number): string {
  if (refused === 0) return done === 1 ? `${DONE[verb]}.` : `${DONE[verb]}: ${done} comments.`
  const why = refused === 1 ? 'one was refused, and says why' : `${refused} were refused, and say why`
  return done === 0 ? `Nothing was done: ${why}.` : `${DONE[verb]}: ${done} of ${done + refused}; ${why}.`
}
