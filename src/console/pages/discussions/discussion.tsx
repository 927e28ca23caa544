import { Group, Paper, Select, SegmentedControl, Stack, Text } from '@mantine/core'
import { useEffect, useRef, useState } from 'react'
import { useNavigate, useParams } from 'react-router'
import { useThrottledCallback } from '@mantine/hooks'

import {
  type CommentSort,
  DiscussionDocument,
  type DiscussionQuery,
  MarkedDocument,
  ThreadDocument,
  WithheldCommentDocument,
} from '../../../generated/console.ts'
import { useApi, useRefresh } from '../../api/queries.ts'
import { may } from '../../api/session.ts'
import { useFilter } from '../../ui/inputs/filters.ts'
import { useShortcuts } from '../../ui/inputs/keys.ts'
import { formatNumber } from '../../ui/numbers.ts'
import { pageName } from '../../ui/page-name.ts'
import { PageFrame } from '../../ui/page.tsx'
import { Answered, Empty, Found } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { WebLink } from '../../ui/web-link.tsx'
import { WRITTEN } from '../../ui/written.ts'
import { useHelp } from '../moderation/help.tsx'
import { SaidLast } from '../moderation/said.tsx'
import { onlyKeys } from '../moderation/shortcuts.ts'
import { DeleteDiscussion } from './delete-discussion.tsx'
import { useDesk } from './desk.ts'
import { DiscussionActions } from './discussion-actions.tsx'
import { slowWords } from './discussion-rules.tsx'
import { countOf, type Mark, MARKS, type Marks, useMarks } from './marks.ts'
import { DiscussionStateBadge } from './state-badge.tsx'
import { MarkedOnly, Thread } from './thread.tsx'
import { useDiscussionEvents } from '../../api/live.ts'

export function Page() {
  const { id = '' } = useParams()
  // The number of followers has no event, and an event that was missed shows in the position.
  const [isGone, setGone] = useState(false)
  const query = useApi(DiscussionDocument, { id }, { everyMs: 5_000, enabled: !isGone })
  const navigate = useNavigate()
  const leave = (): void => {
    setGone(true)
    void navigate('/discussions')
  }
  return (
    <Found
      query={query}
      one={({ discussion }) => discussion}
      of="discussion"
      list={{ to: '/discussions', label: 'All discussions' }}
    >
      {(discussion) => <Discussion {...discussion} onGone={leave} />}
    </Found>
  )
}

type Discussion = NonNullable<DiscussionQuery['discussion']>

function Discussion({ onGone, ...discussion }: Discussion & { onGone: () => void }) {
  const { id, state, lastEventId } = discussion
  useLiveThread(id, lastEventId)
  const marks = useMarks(id)
  return (
    <PageFrame
      title={pageName(discussion)}
      about={<About {...discussion} />}
      actions={
        <>
          <DiscussionActions discussion={discussion} />
          {may('manage_settings') && <DeleteDiscussion discussion={discussion} onGone={onGone} />}
        </>
      }
    >
      <Answered query={marks} of="the comments that wait for a moderator">
        {(marked) => <Comments id={id} isFinal={state === 'archived'} marks={marked} />}
      </Answered>
    </PageFrame>
  )
}

function About(discussion: Discussion) {
  const { externalId, url, state, commentCount, presence, createdAt, lastCommentedAt, closesAt } = discussion
  const { moderationMode, slowModeSeconds } = discussion
  return (
    <Stack gap={4} component="span">
      <span {...WRITTEN}>{externalId}</span>
      <WebLink url={url} />
      <Group gap="sm" component="span">
        <DiscussionStateBadge state={state} />
        <span>
          {formatNumber(commentCount)} approved {commentCount === 1 ? 'comment' : 'comments'}
        </span>
        <span>
          {presence.streams} {presence.streams === 1 ? 'stream' : 'streams'} open
        </span>
        <span>
          created <Time at={createdAt} />
        </span>
        {moderationMode === 'pre' && <span>each comment waits for a moderator</span>}
        {slowModeSeconds !== null && <span>{slowWords(slowModeSeconds).toLowerCase()}</span>}
        {closesAt !== null && state === 'open' && (
          <span>
            locks itself <Time at={closesAt} />
          </span>
        )}
        {lastCommentedAt != null && (
          <span>
            last comment <Time at={lastCommentedAt} />
          </span>
        )}
      </Group>
    </Stack>
  )
}

const SORTS: { value: CommentSort; label: string }[] = [
  { value: 'newest', label: 'Newest first' },
  { value: 'oldest', label: 'Oldest first' },
  { value: 'top', label: 'Most reactions first' },
]

const KEYS = onlyKeys('u', '/', '?')

/** The thread, or only its marked comments. */
function Comments({ id, isFinal, marks }: { id: string; isFinal: boolean; marks: Marks }) {
  const desk = useDesk()
  const { hasShortcuts, onHelp, button, dialog } = useHelp(KEYS)
  useShortcuts(hasShortcuts, { u: desk.undo, '?': onHelp })
  const [chosen, choose] = useFilter('show')
  const [chosenSort, setSort] = useFilter('sort')
  const show: Mark | null = MARKS.find((mark) => mark === chosen) ?? null
  const sort = SORTS.find(({ value }) => value === chosenSort)?.value ?? 'newest'
  const choices = [
    { value: 'all', label: 'All' },
    ...MARKS.map((mark) => ({
      value: mark,
      label: `${mark[0]?.toUpperCase()}${mark.slice(1)} (${countOf(mark, marks, desk)})`,
    })),
  ]
  return (
    <>
      <Group align="flex-end" justify="space-between">
        <SegmentedControl
          aria-label="Show"
          data={choices}
          value={show ?? 'all'}
          onChange={(value) => choose(value === 'all' ? null : value)}
          size="xs"
        />
        <Group gap="xs">
          {show === null && (
            <Select aria-label="Order" data={SORTS} value={sort} onChange={setSort} allowDeselect={false} w={200} />
          )}
          {button}
        </Group>
      </Group>
      {isFinal && <Text size="sm">The discussion is archived. Only an erasure can still change it.</Text>}
      {show === null ? (
        <Thread discussionId={id} sort={sort} marks={marks} isFinal={isFinal} desk={desk} />
      ) : marks.lists[show].length === 0 ? (
        <Empty title={`No comment is ${show}`} />
      ) : (
        <MarkedOnly mark={show} marks={marks} isFinal={isFinal} desk={desk} />
      )}
      {/* Below the comments, so that none of them moves. A screen reader announces changes of what is
          there already: it stays while it is empty. */}
      <Paper
        withBorder={desk.said.n > 0}
        p={desk.said.n > 0 ? 'xs' : 0}
        style={{ position: 'sticky', bottom: 8, zIndex: 10 }}
      >
        <SaidLast said={desk.said} onUndo={desk.undo} />
      </Paper>
      {dialog}
    </>
  )
}

/**
 * Keeps a discussion up to date. Events lead to a query of its position, at most some times a
 * second; a changed position, after an event or in a periodic answer, leads to a query of the
 * thread.
 */
function useLiveThread(discussionId: string, lastEventId: string): void {
  const refreshPosition = useRefresh([DiscussionDocument])
  const refreshThread = useRefresh([ThreadDocument, MarkedDocument, WithheldCommentDocument])
  const onEvent = useThrottledCallback(() => void refreshPosition(), 400)
  useDiscussionEvents([discussionId], onEvent)

  const known = useRef(lastEventId)
  const refresh = useRef(refreshThread)
  useEffect(() => {
    refresh.current = refreshThread
  })
  useEffect(() => {
    if (known.current === lastEventId) return
    known.current = lastEventId
    void refresh.current()
  }, [lastEventId])
}
