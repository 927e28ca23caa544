import { Button, Center, Group, Stack } from '@mantine/core'
import { type ReactNode, useEffect, useMemo, useRef, useState } from 'react'
import { useNavigate } from 'react-router'

import { ModerationQueueDocument, QueueCountsDocument } from '../../../generated/console.ts'
import { useRefresh } from '../../api/queries.ts'
import { Boundary } from '../../ui/boundary.tsx'
import { useShortcuts } from '../../ui/inputs/keys.ts'
import type { Decision } from '../../ui/decision.ts'
import { Confirm } from '../../ui/inputs/confirm.tsx'
import { Loading, Problem } from '../../ui/states.tsx'
import { useActions } from './actions.ts'
import { wordsOf } from '../../api/errors.ts'
import { BanDialog } from './ban.tsx'
import { useClaims } from './claims.ts'
import type { Target } from './deliver.ts'
import { ExplainDialog, pendingOf } from './explain.tsx'
import { commentAt, focusComment, focusOn, goOn, resumeAtEnd, thenFocus } from './focus.ts'
import { Item } from './item.tsx'
import type { Acts } from './judging.tsx'
import { nameOf, SharedNames, useSharedNames } from './reader.tsx'
import { beginPress, bringUnderPointer, currentPress, dropDouble, endPress } from './pointer.ts'
import { Beside, type Opened } from './pane/beside.tsx'
import { NOTHING_SAID, saidNext } from './said.tsx'
import { Toolbar } from './toolbar.tsx'
import type { Verb } from './undo.ts'
import { type Part, useAsLeft, useLeave } from './view/as-left.ts'
import type { Entries, Entry } from './entries.ts'

const OF_QUEUES = [ModerationQueueDocument, QueueCountsDocument]

/** More comments than this are judged together only after a question. */
const MOST_UNASKED = 10

const VERBS: Readonly<Record<Verb, string>> = {
  approve: 'Approve',
  reject: 'Reject',
  pin: 'Pin',
  unpin: 'Unpin',
  review: 'Mark as reviewed:',
  delete: 'Delete',
}

const idOf = ({ item }: Entry): string => item.comment.id
const revisionOf = ({ item }: Entry): number => item.comment.revision
const claimOf = (entry: Entry): string => `${idOf(entry)} ${entry.colleague}`

/** Everybody whose name an entry shows. */
const readersOf = ({ item: { comment } }: Entry) => [
  comment.author,
  comment.parent?.author,
  ...(comment.reports?.nodes ?? []).map(({ reader }) => reader),
]

const IS_EDITED = 'Its author has edited it since you selected it. Read it again.'

const passedOver = (count: number): string =>
  count === 1
    ? 'One was passed over: its author has edited it since.'
    : `${count} were passed over: their authors have edited them since.`

/** The comment that had the focus, and what was in view. */
interface Place {
  at: string | undefined
  scrollY: number
  pane: Opened | null
}

const PLACE: Part<Place> = { name: 'place' }

export interface Work {
  hasShortcuts: boolean
  /** How long a judgement can be taken back before it is sent. */
  graceMs: number
  onHelp: () => void
}

/** Functions that stay the same and call the latest `acts`. */
function useActs(acts: Acts): Acts {
  const latest = useRef(acts)
  useEffect(() => {
    latest.current = acts
  })
  return useMemo(
    () => ({
      judge: (...args) => latest.current.judge(...args),
      ban: (...args) => latest.current.ban(...args),
      explain: (...args) => latest.current.explain(...args),
      context: (...args) => latest.current.context(...args),
      select: (...args) => latest.current.select(...args),
      decideAnyway: (...args) => latest.current.decideAnyway(...args),
    }),
    [],
  )
}

/** A list of comments, for work by keyboard or mouse. */
export function JudgedList({
  queue,
  of,
  hasShortcuts,
  graceMs,
  onHelp,
  toReject = null,
  onRejecting,
  isOfOneReader = false,
  children,
}: Work & {
  queue: Entries
  /** A reader whose pending comments are to be rejected, and what to call once that was begun. */
  toReject?: string | null
  onRejecting?: () => void
  /** Whether the page says who has written all of it, and how to ban them. */
  isOfOneReader?: boolean
  /** What the list is, for a screen reader. */
  of: string
  /** Shown while no comment is in view. */
  children: ReactNode
}) {
  const { status, list, entries } = queue
  const { claims, queue: claimed } = useClaims(queue, graceMs)
  const refresh = useRefresh(OF_QUEUES)
  const [said, setSaid] = useState(NOTHING_SAID)
  const { judge, undo, remember, say } = useActions({ ...claimed, refresh }, graceMs, (words, canUndo) =>
    setSaid(saidNext(words, canUndo)),
  )
  /** The selected comments, with the revision that was in view. */
  const [picked, setPicked] = useState<ReadonlyMap<string, number>>(new Map())
  /** The comments, and the colleagues who work on them, that are decided on all the same. */
  const [anyway, setAnyway] = useState<ReadonlySet<string>>(new Set())
  const [toBan, setToBan] = useState<Entry | null>(null)
  const [toExplain, setToExplain] = useState<{ verb: 'reject' | 'delete'; entry: Entry } | null>(null)
  const [asked, setAsked] = useState<Verb | null>(null)
  const [toFocus, setToFocus] = useState<{ id: string } | null>(null)
  const at = useRef<string>(undefined)
  const asLeft = useAsLeft(PLACE)
  const [pane, setPane] = useState(asLeft?.pane ?? null)
  useLeave(PLACE, () => ({ at: at.current, scrollY, pane }))
  const navigate = useNavigate()

  const good = status === 'unreviewed' ? 'review' : 'approve'
  const all = entries ?? []
  const shared = useSharedNames(
    all.flatMap(readersOf),
    all.map(({ item }) => item.comment.discussion),
  )
  const readerOf = ({ item: { comment } }: Entry): { id: string; name: string } | null =>
    comment.author == null ? null : { id: comment.author.id, name: nameOf(comment.author, shared) }
  const waiting = all.filter(({ dealtBy }) => dealtBy === null)
  const isHeld = (entry: Entry): boolean => entry.colleague !== null && !anyway.has(claimOf(entry))
  const free = waiting.filter((entry) => !isHeld(entry))
  const selected = free.filter((entry) => picked.has(idOf(entry)))
  const pick = (entry: Entry, isPicked: boolean): void =>
    setPicked((before) => {
      const after = new Map(before)
      if (isPicked) after.set(idOf(entry), revisionOf(entry))
      else after.delete(idOf(entry))
      return after
    })
  const move = (by: 1 | -1): void => void focusComment(by)

  useEffect(() => {
    if (waiting.length > 0) resumeAtEnd()
  })
  useEffect(() => focusOn(toFocus?.id), [toFocus])
  // Its buttons change when a colleague takes it or gives it back: the one with the focus is gone.
  const held = all.filter(isHeld).map(idOf).join()
  const heldBefore = useRef(held)
  useEffect(() => {
    if (heldBefore.current === held) return
    heldBefore.current = held
    if (document.activeElement === document.body) focusOn(at.current, { preventScroll: true })
  }, [held])
  useEffect(() => {
    if (asLeft === null) return
    focusOn(asLeft.at)
    scrollTo(0, asLeft.scrollY)
  }, [asLeft])

  const judgeOne = (verb: Verb, entry: Entry): void => {
    if ((verb === 'pin' || verb === 'unpin') && entry.status !== 'approved')
      return say('Only an approved comment can be pinned. Approve it first.')
    const press = currentPress()
    // The moderator goes on at once; a refusal brings the comment back, and is announced.
    if (verb === 'pin' || verb === 'unpin') focusOn(idOf(entry))
    else goOn({ from: idOf(entry), isStill: press !== null })
    judge(verb, [entry])
    if (press !== null && verb !== 'pin' && verb !== 'unpin') bringUnderPointer(press)
  }
  const judgeTogether = (verb: Verb): void => {
    // What its author has edited since it was selected may have been read by nobody.
    const isRead = (entry: Entry): boolean => verb === 'reject' || picked.get(idOf(entry)) === revisionOf(entry)
    const read = selected.filter(isRead)
    const edited = selected.filter((entry) => !isRead(entry))
    for (const entry of edited) queue.change(idOf(entry), { refusal: IS_EDITED })
    goOn({ without: new Set(read.map(idOf)) })
    setPicked(new Map())
    const also = edited.length === 0 ? '' : passedOver(edited.length)
    if (read.length > 0) judge(verb, read, { also })
    else say(also)
  }
  const judgeSelected = (verb: Verb): void => {
    if (selected.length === 0) return say('Nothing is selected. Press x to select.')
    if (selected.length > MOST_UNASKED) setAsked(verb)
    else judgeTogether(verb)
  }
  /** Rejects or deletes a comment with a reason. `pending`: further ones of its author. */
  const explain = (verb: Verb, entry: Entry, decision: Decision, pending: readonly Target[]): void => {
    const ids = new Set([...pending.map(({ id }) => id), idOf(entry)])
    const shown = waiting.filter((each) => ids.has(idOf(each)))
    const seen = new Set(shown.map(idOf))
    goOn({ from: idOf(entry), without: ids })
    judge(verb, shown, { decision, others: pending.filter(({ id }) => !seen.has(id)) })
  }
  const rejectAllOf = async (readerId: string): Promise<void> => {
    const pending = await pendingOf(readerId)
    const ids = new Set(pending.map(({ id }) => id))
    const shown = waiting.filter((each) => ids.has(idOf(each)))
    const seen = new Set(shown.map(idOf))
    goOn({ without: ids })
    if (pending.length > 0) judge('reject', shown, { others: pending.filter(({ id }) => !seen.has(id)) })
  }
  const beginRejecting = useRef((_readerId: string): void => undefined)
  useEffect(() => {
    beginRejecting.current = (readerId) => {
      onRejecting?.()
      rejectAllOf(readerId).catch((error: unknown) => say(wordsOf(error)))
    }
  })
  useEffect(() => {
    if (toReject !== null) beginRejecting.current(toReject)
  }, [toReject])
  // What comes back gets the focus: the moderator has gone on meanwhile.
  const undoLast = (): void => void undo().then((id) => id !== undefined && setToFocus({ id }))
  const current = (): Entry | undefined => all.find((entry) => idOf(entry) === commentAt(document.activeElement))
  const on = (act: (entry: Entry) => void) => (): void => {
    const entry = current()
    if (entry === undefined) say('Go to a comment first: press j.')
    else act(entry)
  }
  // An extra key press must not reverse a judgement. The buttons of a judged comment can.
  const onWaiting = (act: (entry: Entry) => void) =>
    on((entry) => {
      if (entry.dealtBy !== null)
        say('You have decided on this comment. Its buttons change that; press j for the next one.')
      else if (isHeld(entry)) say(`${entry.colleague} works on this comment. Press s for the next one.`)
      else act(entry)
    })
  const acts = useActs({
    judge: (entry, verb) => judgeOne(verb, entry),
    ban: setToBan,
    explain: (entry, verb) => setToExplain({ verb, entry }),
    context: (entry) => {
      focusOn(idOf(entry))
      setPane({ hasFocus: false })
    },
    select: pick,
    decideAnyway: (entry) => {
      setAnyway((before) => new Set([...before, claimOf(entry)]))
      focusOn(idOf(entry))
    },
  })
  useShortcuts(hasShortcuts, {
    j: () => move(1),
    k: () => move(-1),
    a: onWaiting((entry) => judgeOne(entry.status === 'approved' ? good : 'approve', entry)),
    r: onWaiting((entry) => judgeOne('reject', entry)),
    m: onWaiting((entry) => entry.status !== 'rejected' && setToExplain({ verb: 'reject', entry })),
    s: () => focusComment(1, { isWaiting: true }) || say('No other comment waits for you.'),
    p: onWaiting((entry) => judgeOne(entry.pinnedAt === null ? 'pin' : 'unpin', entry)),
    b: on((entry) => entry.item.comment.author != null && setToBan(entry)),
    x: onWaiting((entry) => pick(entry, !picked.has(idOf(entry)))),
    'shift+a': () => judgeSelected(good),
    'shift+r': () => judgeSelected('reject'),
    escape: () => setPicked(new Map()),
    u: undoLast,
    c: () => setPane(pane === null ? { hasFocus: false } : null),
    enter: () => setPane({ hasFocus: true }),
    o: on(({ item }) => void navigate(`/discussions/${item.comment.discussion.id}`)),
    '?': onHelp,
  })

  if (entries === null) {
    return list.error == null ? <Loading of={of} /> : <Problem error={list.error} onRetry={() => void list.refetch()} />
  }
  const banned = toBan === null ? null : readerOf(toBan)
  return (
    <SharedNames value={shared}>
      <Group align="flex-start" wrap="nowrap">
        <Stack flex={1} miw={0}>
          {list.error != null && <Problem error={list.error} onRetry={() => void list.refetch()} />}
          <Toolbar
            said={said}
            waiting={free.length}
            selected={selected.length}
            dealt={all.length - waiting.length}
            fresh={queue.fresh.length}
            isBacklog={queue.isBacklog}
            good={good}
            onSelectAll={(isAll) =>
              setPicked(new Map(isAll ? free.map((entry) => [idOf(entry), revisionOf(entry)]) : []))
            }
            onJudge={judgeSelected}
            onUndo={undoLast}
            onShowFresh={() => thenFocus(queue.showFresh, queue.fresh[0])}
            onClear={() => thenFocus(queue.clearDealt, waiting[0] && idOf(waiting[0]))}
          />
          {all.length === 0 && (queue.isLoadingAhead ? <Loading of={of} /> : children)}
          <Stack
            role="feed"
            aria-label="Comments"
            aria-busy={list.isFetchingNextPage}
            gap="sm"
            tabIndex={-1}
            onMouseDownCapture={dropDouble}
            onClickCapture={beginPress}
            onClick={endPress}
            onFocus={({ target }) => {
              at.current = commentAt(target)
              claims.moveTo(at.current)
            }}
          >
            {all.map((entry, index) => (
              <Boundary key={idOf(entry)}>
                <Item
                  entry={entry}
                  good={good}
                  inQueue={status !== null}
                  isOfOneReader={isOfOneReader}
                  place={index + 1}
                  count={all.length}
                  isSelected={picked.has(idOf(entry)) && !isHeld(entry)}
                  isHeld={isHeld(entry)}
                  acts={acts}
                  minute={Math.floor(list.dataUpdatedAt / 60_000)}
                />
              </Boundary>
            ))}
          </Stack>
          {list.hasNextPage && (
            <Center>
              <Button variant="default" loading={list.isFetchingNextPage} onClick={() => void queue.loadMore()}>
                More
              </Button>
            </Center>
          )}
          {asked !== null && (
            <Confirm
              title={`${VERBS[asked]} ${selected.length} comments?`}
              action={VERBS[asked]}
              color={asked === 'reject' ? 'red.9' : 'teal.9'}
              onConfirm={async () => judgeTogether(asked)}
              onClose={() => setAsked(null)}
            >
              You can take it back until it is sent.
            </Confirm>
          )}
          {toExplain !== null && (
            <ExplainDialog
              verb={toExplain.verb}
              reader={readerOf(toExplain.entry)}
              onDecide={(decision, pending) => explain(toExplain.verb, toExplain.entry, decision, pending)}
              onClose={() => setToExplain(null)}
            />
          )}
          {banned !== null && (
            <BanDialog
              reader={banned}
              onDone={({ words, undo: takeBack, isRejecting }) => {
                setToBan(null)
                remember(words, takeBack)
                if (isRejecting) rejectAllOf(banned.id).catch((error: unknown) => say(wordsOf(error)))
              }}
              onClose={() => setToBan(null)}
            />
          )}
        </Stack>
        {pane !== null && <Beside entries={all} opened={pane} onClose={() => setPane(null)} />}
      </Group>
    </SharedNames>
  )
}
