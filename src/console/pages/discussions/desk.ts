import { useRef, useState } from 'react'

import {
  DiscussionDocument,
  MarkedDocument,
  ThreadDocument,
  type ThreadCommentFragment,
  WithheldCommentDocument,
} from '../../../generated/console.ts'
import { wordsOf } from '../../api/errors.ts'
import { useRefresh } from '../../api/queries.ts'
import { GRACE_MS, type Judgeable, useActions } from '../moderation/actions.ts'
import type { Decision } from '../../ui/decision.ts'
import type { Target } from '../moderation/deliver.ts'
import { pendingOf } from '../moderation/explain.tsx'
import { NOTHING_SAID, saidNext } from '../moderation/said.tsx'
import { useSendAtOnce } from '../moderation/shortcuts.ts'
import { DONE_STATES, type Verb } from '../moderation/undo.ts'

const OUTDATED = [ThreadDocument, MarkedDocument, DiscussionDocument, WithheldCommentDocument]

/** What an action has made of a comment, until an answer of the service shows it. */
interface Change {
  status?: ThreadCommentFragment['status']
  pinnedAt?: string | null
  /** Why the last action on it was refused. */
  refusal: string | null
}

/** A comment as it was before an action. */
interface Before extends Judgeable {
  item: { comment: ThreadCommentFragment }
}

const UNCHANGED: Change = { refusal: null }

const entryOf = (comment: ThreadCommentFragment): Before => ({
  item: { comment },
  status: comment.status,
  pinnedAt: comment.pinnedAt ?? null,
  dealtBy: null,
  decision: null,
  refusal: null,
})

export type Desk = ReturnType<typeof useDesk>

/** Actions on the comments of a discussion: as in a queue, but each stays in its place. */
export function useDesk() {
  const [changes, setChanges] = useState<ReadonlyMap<string, Change>>(new Map())
  // How many actions on each comment are not sent yet, or have no answer yet.
  const waiting = useRef(new Map<string, number>())
  // Those that were judged on this page: the others of a reader may be on any page.
  const [here, setHere] = useState<ReadonlySet<string>>(new Set())
  const [said, setSaid] = useState(NOTHING_SAID)
  const [isAtOnce] = useSendAtOnce()
  const refreshAll = useRefresh(OUTDATED)
  const set = (news: Iterable<readonly [id: string, change: Change | null]>): void =>
    setChanges((before) => {
      const after = new Map(before)
      for (const [id, change] of news) {
        if (change === null) after.delete(id)
        else after.set(id, change)
      }
      return after
    })
  const wait = (id: string): unknown => waiting.current.set(id, (waiting.current.get(id) ?? 0) + 1)
  const settle = (ids: Iterable<string>): void => {
    for (const id of ids) {
      const count = waiting.current.get(id) ?? 0
      if (count > 1) waiting.current.set(id, count - 1)
      else waiting.current.delete(id)
    }
  }
  const refresh = async (): Promise<void> => {
    await refreshAll()
    setChanges(
      (before) => new Map([...before].filter(([id, { refusal }]) => refusal !== null || waiting.current.has(id))),
    )
  }
  const { judge, undo, remember, say } = useActions<Before>(
    {
      status: null,
      change: (id, { pinnedAt = null }) => {
        wait(id)
        setChanges((before) => new Map(before).set(id, { ...before.get(id), pinnedAt, refusal: null }))
      },
      take: (ids, verb) => {
        for (const id of ids) wait(id)
        const status = DONE_STATES[verb]
        const change = { status, refusal: null, ...(status !== 'approved' && { pinnedAt: null }) }
        set([...ids].map((id) => [id, change]))
      },
      bring: (entries) => {
        settle(entries.map(({ item }) => item.comment.id))
        set(entries.map((entry) => [entry.item.comment.id, changeOf(entry)]))
      },
      forget: () => undefined,
      stay: (ids) => {
        settle(ids)
        set([...ids].map((id) => [id, null]))
      },
      answered: (ids) => {
        settle(ids)
        void refresh()
      },
      refresh,
    },
    isAtOnce ? 0 : GRACE_MS,
    (words, canUndo) => setSaid(saidNext(words, canUndo)),
  )
  return {
    said,
    undo: () => void undo(),
    remember,
    /** The comment as it is after the actions here. */
    see: (comment: ThreadCommentFragment) => {
      const { refusal, ...change } = changes.get(comment.id) ?? UNCHANGED
      const isChanged = change.status !== undefined && change.status !== comment.status
      const isGone = change.status === 'deleted' && { body: null, bodyHtml: null }
      return { comment: { ...comment, ...change, ...isGone }, isChanged, refusal }
    },
    /** The state that an action here has given a comment, until an answer shows it. */
    statusAfter: (id: string) => changes.get(id)?.status,
    /** The comments of this discussion that are rejected by an action here. */
    rejected: [...changes].flatMap(([id, { status }]) => (status === 'rejected' && here.has(id) ? [id] : [])),
    /** `others`: further comments, such as all pending ones of its author. */
    judge: (
      verb: Verb,
      comment: ThreadCommentFragment,
      decision: Decision | null = null,
      others: readonly Target[] = [],
    ) => {
      setHere((before) => new Set(before).add(comment.id))
      judge(verb, [entryOf(comment)], { decision, others: others.filter(({ id }) => id !== comment.id) })
    },
    rejectAllOf: (readerId: string): void => {
      pendingOf(readerId).then(
        (others) => others.length > 0 && judge('reject', [], { others }),
        (error: unknown) => say(wordsOf(error)),
      )
    },
  }
}

/** What to show of a comment that was refused, or that an undo has brought back. */
function changeOf({ item: { comment }, status, pinnedAt, refusal }: Before): Change | null {
  // A colleague may have changed it: the service says how it is.
  if (refusal !== null) return { refusal }
  const isAsBefore = status === comment.status && pinnedAt === (comment.pinnedAt ?? null)
  return isAsBefore ? null : { status, pinnedAt, refusal: null }
}
