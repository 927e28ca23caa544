import { Anchor, Button, Center, Stack } from '@mantine/core'
import { type ReactNode, useEffect, useState } from 'react'
import { Link, useNavigate } from 'react-router'

import type { ModerationQueueStatus } from '../../../generated/console.ts'
import { Empty, Loading, Problem } from '../../ui/states.tsx'
import { useActions } from './actions.ts'
import { BanDialog } from './ban.tsx'
import { commentAt, focusComment, focusOn, goOn, resumeAtEnd, thenFocus } from './focus.ts'
import { Item } from './item.tsx'
import { type Entry, useQueue } from './queue.ts'
import { nameOf } from './reader.tsx'
import { useShortcuts } from './shortcuts.ts'
import { Toolbar } from './toolbar.tsx'
import type { Verb } from './undo.ts'

const IS_EMPTY: Readonly<Record<ModerationQueueStatus, [title: string, words: ReactNode]>> = {
  pending: [
    'Nothing is waiting',
    <>
      Comments that a rule holds appear here. The rules are in the{' '}
      <Anchor component={Link} to="/settings" inherit underline="always">
        settings
      </Anchor>
      .
    </>,
  ],
  reported: ['Nothing is reported', 'Comments that readers report appear here.'],
  rejected: ['Nothing is rejected', 'Rejected comments stay here. You can still approve them.'],
}

const idOf = ({ item }: Entry): string => item.comment.id

/** One queue, for work by keyboard or mouse. */
export function Queue({
  status,
  hasShortcuts,
  onHelp,
}: {
  status: ModerationQueueStatus
  hasShortcuts: boolean
  onHelp: () => void
}) {
  const queue = useQueue(status)
  const { list, entries } = queue
  const [said, setSaid] = useState({ words: '', canUndo: false, n: 0 })
  const { judge, undo, remember, say } = useActions({ status, change: queue.change }, (words, canUndo) =>
    setSaid(({ n }) => ({ words, canUndo, n: n + 1 })),
  )
  const [picked, setPicked] = useState<ReadonlySet<string>>(new Set())
  const [toBan, setToBan] = useState<Entry | null>(null)
  const navigate = useNavigate()

  const all = entries ?? []
  const waiting = all.filter(({ dealtBy }) => dealtBy === null)
  const busy = new Set(all.filter(({ isBusy }) => isBusy).map(idOf))
  const selected = waiting.filter((entry) => !entry.isBusy && picked.has(idOf(entry)))
  const pick = (id: string, isPicked: boolean): void =>
    setPicked((before) => new Set(isPicked ? [...before, id] : [...before].filter((each) => each !== id)))
  const move = (by: 1 | -1): void => void focusComment(by)

  useEffect(() => {
    const here = all.find((entry) => idOf(entry) === commentAt(document.activeElement))
    const isElsewhere =
      here === undefined ? document.activeElement !== document.body : here.dealtBy === null && !here.isBusy
    if (waiting.some(({ isBusy }) => !isBusy)) resumeAtEnd(isElsewhere, busy)
  })

  const judgeOne = (verb: Verb, entry: Entry): void => {
    if (entry.isBusy) return
    if ((verb === 'pin' || verb === 'unpin') && entry.status !== 'approved')
      return say('Only an approved comment can be pinned. Approve it first.')
    // The moderator goes on at once; a refusal is shown at the comment, and announced.
    if (verb === 'pin' || verb === 'unpin') focusOn(idOf(entry))
    else goOn({ from: idOf(entry), without: busy })
    void judge(verb, [entry])
  }
  const judgeSelected = (verb: Verb): void => {
    if (selected.length === 0) return say('Nothing is selected. Press x to select.')
    goOn({ without: new Set([...busy, ...selected.map(idOf)]) })
    setPicked(new Set())
    void judge(verb, selected)
  }
  // The moderator has gone on meanwhile: further keys would act on another comment.
  const undoLast = (): void => void undo().then(focusOn)
  const current = (): Entry | undefined => all.find((entry) => idOf(entry) === commentAt(document.activeElement))
  const on = (act: (entry: Entry) => void) => (): void => {
    const entry = current()
    if (entry === undefined) say('Go to a comment first: press j.')
    else act(entry)
  }
  // An extra key press must not reverse a judgement. The buttons of a judged comment can.
  const onWaiting = (act: (entry: Entry) => void) =>
    on((entry) =>
      entry.dealtBy === null
        ? act(entry)
        : say('You have decided on this comment. Its buttons change that; press j for the next one.'),
    )
  useShortcuts(hasShortcuts, {
    j: () => move(1),
    k: () => move(-1),
    a: onWaiting((entry) => judgeOne('approve', entry)),
    r: onWaiting((entry) => judgeOne('reject', entry)),
    p: onWaiting((entry) => judgeOne(entry.pinnedAt === null ? 'pin' : 'unpin', entry)),
    b: on((entry) => entry.item.comment.author != null && setToBan(entry)),
    x: onWaiting((entry) => pick(idOf(entry), !picked.has(idOf(entry)))),
    'shift+a': () => judgeSelected('approve'),
    'shift+r': () => judgeSelected('reject'),
    u: undoLast,
    o: on(({ item }) => void navigate(`/discussions/${item.comment.discussion.id}`)),
    '?': onHelp,
  })

  if (entries === null) {
    return list.error == null ? (
      <Loading of="the queue" />
    ) : (
      <Problem error={list.error} onRetry={() => void list.refetch()} />
    )
  }
  const [emptyTitle, emptyWords] = IS_EMPTY[status]
  return (
    <Stack>
      {list.error != null && <Problem error={list.error} onRetry={() => void list.refetch()} />}
      <Toolbar
        said={said}
        waiting={waiting.length}
        selected={selected.length}
        dealt={all.length - waiting.length}
        fresh={queue.fresh.length}
        isBacklog={queue.isBacklog}
        onSelectAll={(isAll) => setPicked(new Set(isAll ? waiting.map(idOf) : []))}
        onJudge={judgeSelected}
        onUndo={undoLast}
        onShowFresh={() => thenFocus(queue.showFresh, queue.fresh[0])}
        onClear={() => thenFocus(queue.clearDealt, waiting[0] && idOf(waiting[0]))}
      />
      {all.length === 0 && <Empty title={emptyTitle}>{emptyWords}</Empty>}
      <Stack role="feed" aria-label="Comments" aria-busy={list.isFetchingNextPage} gap="sm">
        {all.map((entry, index) => (
          <Item
            key={idOf(entry)}
            entry={entry}
            place={index + 1}
            count={all.length}
            isSelected={picked.has(idOf(entry))}
            onSelect={(isPicked) => pick(idOf(entry), isPicked)}
            onJudge={(verb) => judgeOne(verb, entry)}
            onBan={() => setToBan(entry)}
          />
        ))}
      </Stack>
      {list.hasNextPage && (
        <Center>
          <Button variant="default" loading={list.isFetchingNextPage} onClick={() => void queue.loadMore()}>
            More
          </Button>
        </Center>
      )}
      {toBan?.item.comment.author != null && (
        <BanDialog
          reader={{ id: toBan.item.comment.author.id, name: nameOf(toBan.item.comment.author) }}
          onDone={({ words, undo: takeBack }) => {
            setToBan(null)
            remember(words, takeBack)
          }}
          onClose={() => setToBan(null)}
        />
      )}
    </Stack>
  )
}
