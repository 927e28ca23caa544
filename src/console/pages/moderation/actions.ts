import { notifications } from '@mantine/notifications'
import { useEffect, useRef } from 'react'

import type { ModerationQueueStatus } from '../../../generated/console.ts'
import { wordsOf } from '../../api/errors.ts'
import type { Decision } from '../../ui/decision.ts'
import { sendAll, sendLater, sendNow, takeBack } from '../../api/outbox.ts'
import { type Entry, isWaiting } from './entries.ts'
import { deliver, type Done, type Outcome, type Target } from './deliver.ts'
import { type CountedOut, countOut } from './view/counts.ts'
import { DONE, inverseOf, type Step, type Verb } from './undo.ts'

/** A comment in view, as far as actions know of it. */
export interface Judgeable extends Pick<Entry, 'status' | 'pinnedAt' | 'dealtBy' | 'decision' | 'refusal'> {
  item: { comment: { id: string; revision: number }; openReportCount?: number; reason?: unknown }
}

/** An action on comments that may wait to be sent. */
interface Judged<E> {
  verb: Verb
  /** The comments as they were before. */
  entries: readonly E[]
  /** How many comments it is about, with those that are not in view. */
  count: number
  send: () => Promise<void>
  /** Lets those that are not in view come into it again. */
  release: () => void
  /** Null for what stays in its queue. */
  counted: CountedOut | null
  /** What the service has answered, once it was asked. */
  outcome: Promise<Outcome> | null
}

/** Another action, such as a ban. `undo` returns a message about the result. */
interface Other {
  undo: () => Promise<string>
}

interface Comments<E> {
  /** The queue; null for a list of any comments. */
  status: ModerationQueueStatus | null
  change: (id: string, news: Partial<Pick<Entry, 'pinnedAt' | 'refusal'>>) => void
  take: (ids: ReadonlySet<string>, verb: Verb) => void
  bring: (entries: readonly E[]) => void
  forget: (done: ReadonlyMap<string, Done>) => void
  stay: (ids: ReadonlySet<string>) => void
  /** The service has taken an action on these. */
  answered?: (ids: Iterable<string>) => void
  /** Fetches again what the service has refused, or what was undone. */
  refresh: () => Promise<void>
}

const idOf = ({ item }: Judgeable): string => item.comment.id

const targetOf = ({ item: { comment } }: Judgeable): Target => ({ id: comment.id, revision: comment.revision })

/** How long a judgement can be taken back before it is sent. */
export const GRACE_MS = 5_000

/** Whether it is in the queue of reported ones: an approved one with a reason was flagged. */
const isReported = ({ status, item: { openReportCount = 0, reason } }: Judgeable): boolean =>
  openReportCount > 0 ? status !== 'rejected' : status === 'approved' && reason != null

const isPin = (verb: Verb): boolean => verb === 'pin' || verb === 'unpin'

/**
 * The actions on the comments in view, one or many. Each shows at once, and is sent after
 * `graceMs`. `tell` gets the result of each, and whether there is something to undo.
 */
export function useActions<E extends Judgeable>(
  { status: queue, change, take, bring, forget, stay, answered, refresh }: Comments<E>,
  graceMs: number,
  tell: (words: string, canUndo: boolean) => void,
) {
  const all = useRef<(Judged<E> | Other)[]>([])
  const isHere = useRef(true)
  useEffect(() => {
    isHere.current = true
    return () => {
      isHere.current = false
      void sendAll()
    }
  }, [])
  const say = (words: string): void => {
    if (isHere.current) tell(words, all.current.length > 0)
    else notifications.show({ color: 'red', message: words })
  }

  /** To undo a later judgement brings back what the earlier one has told the author. */
  const noteDecisions = (done: Outcome['done']): void => {
    for (const each of all.current) {
      if (!('send' in each) || each.outcome !== null) continue
      each.entries = each.entries.map((entry) => {
        const state = done.get(idOf(entry))
        return state?.status === entry.status ? { ...entry, decision: state.decision } : entry
      })
    }
  }

  /** Tells the service, and brings back what it has not taken. */
  const send = async (judged: Judged<E>, outcome: Promise<Outcome>): Promise<void> => {
    const { verb, entries, count, release } = judged
    judged.counted?.send()
    const { done, refused, failure } = await outcome
    judged.counted?.end(done)
    if (!isPin(verb)) forget(done)
    noteDecisions(done)
    answered?.(done.keys())
    if (done.size === count) return
    release()
    bring(
      entries
        .filter((entry) => !done.has(idOf(entry)))
        .map((entry) => ({ ...entry, refusal: refused.get(idOf(entry)) ?? failure })),
    )
    const word = doneOf(judged)
    say(failure === null ? wordsFor(word, done.size, refusedOf(entries, refused)) : failureOf(word, done.size, failure))
    await refresh()
  }

  /** `others` are further comments, which are pending and not in view. `also` is said as well. */
  const judge = (
    verb: Verb,
    entries: readonly E[],
    {
      decision = null,
      others = [],
      also = '',
    }: { decision?: Decision | null; others?: readonly Target[]; also?: string } = {},
  ): void => {
    const ids = new Set(entries.map(idOf))
    const otherIds = new Set(others.map(({ id }) => id))
    const targets = [...entries.map(targetOf), ...others]
    // Lines have left their queues.
    const waiting = entries.filter(({ dealtBy }) => dealtBy === null)
    const leaving = {
      pending: new Set([...waiting.filter(({ status }) => status === 'pending').map(idOf), ...otherIds]),
      reported: new Set(waiting.filter((entry) => queue === 'reported' || isReported(entry)).map(idOf)),
    }
    // The service must get two actions on one comment in their order.
    for (const each of all.current) {
      if ('send' in each && each.entries.some((entry) => ids.has(idOf(entry)))) void sendNow(each.send)
    }
    const judged: Judged<E> = {
      verb,
      entries,
      count: targets.length,
      release: () => stay(otherIds),
      counted: isPin(verb) ? null : countOut(leaving),
      outcome: null,
      send: () => {
        judged.outcome = deliver(verb, targets, decision)
        return send(judged, judged.outcome)
      },
    }
    all.current.push(judged)
    if (isPin(verb)) {
      const pinnedAt = verb === 'pin' ? new Date().toISOString() : null
      for (const id of ids) change(id, { pinnedAt, refusal: null })
    } else {
      take(new Set(targets.map(({ id }) => id)), verb)
    }
    say([wordsFor(doneOf(judged), targets.length), also].filter(Boolean).join(' '))
    // What is deleted is gone: that can always be taken back.
    const waitMs = verb === 'delete' ? Math.max(graceMs, GRACE_MS) : graceMs
    sendLater(judged.send, waitMs)
    if (waitMs === 0) void sendNow(judged.send)
  }

  /** Reverses a judgement that the service has taken, as far as that is possible. */
  const reverse = async ({ verb, entries }: Judged<E>, { done }: Outcome): Promise<string> => {
    const taken = entries.filter((entry) => done.has(idOf(entry)))
    const comments = taken.map((entry) => ({
      id: idOf(entry),
      revision: entry.item.comment.revision,
      status: entry.status,
      isPinned: entry.pinnedAt !== null,
    }))
    const { steps, because } = inverseOf({ verb, comments })
    const states = new Map(done)
    for (const step of steps) await repeat(step, taken, states)
    bring(
      taken.map((entry) => {
        const state = states.get(idOf(entry)) ?? entry
        const dealtBy = isPin(verb) || isWaiting(state.status, queue) ? entry.dealtBy : 'me'
        return { ...entry, status: state.status, decision: state.decision, dealtBy, refusal: null }
      }),
    )
    void refresh()
    const words = steps.length === 0 ? [] : [`Undone: no longer ${DONE[verb].toLowerCase()}.`]
    return [...words, ...(because === null ? [] : [because])].join(' ')
  }

  /** Undoes the last action. Returns a comment that it has brought back. */
  const undo = async (): Promise<string | undefined> => {
    const last = all.current.pop()
    if (last === undefined) {
      say('There is nothing to undo.')
      return undefined
    }
    try {
      if (!('send' in last)) {
        say(await last.undo())
        return undefined
      }
      if (takeBack(last.send)) {
        bring(last.entries)
        last.release()
        last.counted?.end(new Set())
        say(`Undone: not ${doneOf(last).toLowerCase()}.`)
      } else {
        const outcome = await last.outcome
        // All of it was refused, and is in view again.
        if (outcome === null || outcome.done.size === 0) return await undo()
        say(await reverse(last, outcome))
      }
      return last.entries[0] && idOf(last.entries[0])
    } catch (error) {
      all.current.push(last)
      say(wordsOf(error))
      return undefined
    }
  }

  /** Notes the last action, which `undoLast` undoes. */
  const remember = (words: string, undoLast: () => Promise<string>): void => {
    all.current.push({ undo: undoLast })
    say(words)
  }

  return { judge, undo, remember, say }
}

/** Applies one step of an undo, and notes the new states. Throws if none was taken. */
async function repeat(
  { verb, comments }: Step,
  entries: readonly Judgeable[],
  states: Map<string, Done>,
): Promise<void> {
  const ids = new Set(comments.map(({ id }) => id))
  const { done, refused, failure } = await deliver(
    verb,
    entries.filter((entry) => ids.has(idOf(entry))).map(targetOf),
    null,
  )
  if (done.size === 0) throw new Error(failure ?? [...refused.values()][0] ?? 'It could not be undone.')
  for (const [id, state] of done) states.set(id, state)
}

/** One that is approved already is kept. */
const doneOf = ({ verb, entries, count }: Judged<Judgeable>): string =>
  verb === 'approve' && entries.length === count && entries.every(({ status }) => status === 'approved')
    ? 'Kept'
    : DONE[verb]

const failureOf = (word: string, done: number, failure: string): string =>
  done === 0 ? `Nothing was done. ${failure}` : `${word}: ${done}, and no others. ${failure}`

/** What was refused: how many in view, which say why themselves, and the reasons of the others. */
interface Refused {
  inView: number
  others: readonly string[]
}

function refusedOf(entries: readonly Judgeable[], refused: Outcome['refused']): Refused {
  const inView = new Set(entries.map(idOf))
  const others = [...refused].filter(([id]) => !inView.has(id)).map(([, why]) => why)
  return { inView: refused.size - others.length, others }
}

function wordsFor(word: string, done: number, { inView, others }: Refused = { inView: 0, others: [] }): string {
  const refused = inView + others.length
  if (refused === 0) return done === 1 ? `${word}.` : `${word}: ${done} comments.`
  const why = [
    ...(inView === 0 ? [] : [inView === 1 ? 'one was refused, and says why' : `${inView} were refused, and say why`]),
    ...(others.length === 0
      ? []
      : [`${others.length} that ${others.length === 1 ? 'is' : 'are'} not in view: ${[...new Set(others)].join(' ')}`]),
  ].join('; ')
  return `${done === 0 ? 'Nothing was done' : `${word}: ${done} of ${done + refused}`}; ${why}${why.endsWith('.') ? '' : '.'}`
}
