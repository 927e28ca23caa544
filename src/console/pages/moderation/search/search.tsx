import { Box, Button, Group, Select, Text } from '@mantine/core'
import { useEffect, useRef, useState } from 'react'
import { useLocation } from 'react-router'

import {
  CommentSearchDocument,
  type CommentSearchQueryVariables,
  type CommentSearchSort,
  type CommentStatus,
  type HoldReason,
} from '../../../../generated/console.ts'
import { HOLD_REASONS } from '../../../ui/hold-reasons.ts'
import { Day, midnight } from '../../../ui/inputs/day.tsx'
import { useFilter } from '../../../ui/inputs/filters.ts'
import { Search } from '../../../ui/inputs/search.tsx'
import { PageFrame } from '../../../ui/page.tsx'
import { Empty } from '../../../ui/states.tsx'
import { GRACE_MS } from '../actions.ts'
import { useHelp } from '../help.tsx'
import { JudgedList, type Work } from '../queue-list.tsx'
import { useSendAtOnce } from '../shortcuts.ts'
import { PickDiscussion, PickReader } from '../view/pick.tsx'
import { useList } from '../../../api/queries.ts'
import { withoutMentions } from '../../../ui/mentions.ts'
import { type QueueItem, useEntries } from '../entries.ts'
import { orderByTime } from '../view/order.ts'
import { wordsIn } from './words.ts'

const STATES: Readonly<Record<Exclude<CommentStatus, 'withheld'>, string>> = {
  approved: 'Approved',
  pending: 'Pending',
  rejected: 'Rejected',
  deleted: 'Deleted',
}

const SORTS: Readonly<Record<CommentSearchSort, string>> = { newest: 'Newest first', oldest: 'Oldest first' }

const choices = (labels: Readonly<Record<string, string>>) =>
  Object.entries(labels).map(([value, label]) => ({ value, label }))

/** A value of the address, if it is one of these. */
const known = <Value extends string>(labels: Readonly<Record<Value, string>>, value: string | null): Value | null =>
  value !== null && Object.hasOwn(labels, value) ? (value as Value) : null

/** The page of a search over all comments. */
export function Page() {
  const [search, setSearch] = useFilter('search')
  const [status, setStatus] = useFilter('status')
  const [reason, setReason] = useFilter('reason')
  const [authorId, setReader] = useFilter('reader')
  const [discussionId, setDiscussion] = useFilter('discussion')
  const [from, setFrom] = useFilter('from')
  const [to, setTo] = useFilter('to')
  const [sort, setSort] = useFilter('sort')
  const { hasShortcuts, onHelp, button, dialog } = useHelp()
  const [isAtOnce] = useSendAtOnce()
  const wanted = {
    search: search === '' ? null : search,
    status: known(STATES, status),
    reason: known<HoldReason>(HOLD_REASONS, reason),
    authorId,
    discussionId,
    from: midnight(from, 0),
    to: midnight(to, 1),
    sort: known(SORTS, sort) ?? 'newest',
  }
  const isFiltered = [status, reason, authorId, discussionId, from, to, sort].some((value) => value !== null)
  // On a phone they would leave no room for what was found.
  const [isOpen, setOpen] = useState(isFiltered)
  return (
    <PageFrame
      title="Search"
      about="All comments, in any state. Words count without case and accents."
      actions={button}
    >
      <Group align="flex-end" gap="sm">
        <SearchField value={search} onChange={setSearch} />
        <Button variant="default" hiddenFrom="sm" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          Filter and sort
        </Button>
        <Box display="contents" {...(!isOpen && { visibleFrom: 'sm' })}>
          <Select
            label="State"
            placeholder="Any"
            data={choices(STATES)}
            {...picked(wanted.status, setStatus, 'state')}
          />
          <Select
            label="Reason"
            placeholder="Any"
            data={choices(HOLD_REASONS)}
            {...picked(wanted.reason, setReason, 'reason')}
          />
          <PickReader value={authorId} onChange={setReader} />
          <PickDiscussion value={discussionId} onChange={setDiscussion} />
          <Day label="From" filter={{ value: from, set: setFrom }} />
          <Day label="Until" filter={{ value: to, set: setTo }} />
          <Select
            label="Order"
            data={choices(SORTS)}
            value={wanted.sort}
            onChange={setSort}
            allowDeselect={false}
            w={150}
          />
        </Box>
      </Group>
      <Found
        key={JSON.stringify(wanted)}
        wanted={wanted}
        hasShortcuts={hasShortcuts}
        graceMs={isAtOnce ? 0 : GRACE_MS}
        onHelp={onHelp}
      />
      {dialog}
    </PageFrame>
  )
}

const picked = (value: string | null, onChange: (value: string | null) => void, what: string) => ({
  value,
  onChange,
  clearable: true,
  clearButtonProps: { 'aria-label': `Any ${what}` },
  flex: '1 1 140px',
})

/** The field has the focus when the page was gone to by `/`. */
function SearchField(props: { value: string | null; onChange: (value: string | null) => void }) {
  const { state } = useLocation() as { state: { isToType?: boolean } | null }
  const around = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (state?.isToType === true) around.current?.querySelector('input')?.focus()
  }, [state])
  return (
    // From the field, Enter and Escape lead to what was found, where the keys of the queue work.
    // Escape would empty it.
    <div
      ref={around}
      style={{ flex: '2 1 240px' }}
      onKeyDownCapture={(event) => {
        if (event.key !== 'Enter' && event.key !== 'Escape') return
        event.preventDefault()
        around.current?.querySelector('input')?.blur()
      }}
    >
      <Search label="Words" {...props} />
    </div>
  )
}

const NotFound = () => <Empty title="No comment was found">Try fewer words, or fewer filters.</Empty>

function Found({ wanted, ...work }: Work & { wanted: Wanted }) {
  const { entries, isPartial } = useFound(wanted)
  const { hasNextPage } = entries.list
  const isFiltered = Object.entries(wanted).some(([name, value]) => name !== 'sort' && value !== null)
  return (
    <>
      <JudgedList queue={entries} of="the comments" {...work}>
        {!hasNextPage && (isFiltered ? <NotFound /> : <Empty title="There are no comments yet" />)}
      </JudgedList>
      <Text component="output" size="sm" c="dimmed" ta="center">
        {isPartial &&
          (entries.isLoadingAhead
            ? 'Only a part of the comments was looked at so far. The search goes on.'
            : 'Only a part of the comments was looked at so far. The button “More” goes on.')}
      </Text>
    </>
  )
}

type Wanted = Omit<CommentSearchQueryVariables, 'first' | 'after'>

/** The comments that a search has found, as they are worked on. */
function useFound(wanted: Wanted) {
  const list = useList(CommentSearchDocument, { ...wanted, first: 25 }, (result) => result.comments)
  const { data } = list
  const nodes = list.nodes?.map((comment): QueueItem => ({
    comment,
    reason: null,
    holdDetails: wordsIn(withoutMentions(comment.body ?? ''), wanted.search ?? ''),
    reportCount: comment.reports?.nodes.length ?? 0,
    openReportCount: 0,
    decision: null,
    claimedBy: null,
  }))
  const emptyPages = data?.pages.filter(({ comments }) => comments.nodes.length === 0).length ?? 0
  const entries = useEntries(
    { ...list, nodes },
    { status: null, order: orderByTime(wanted.sort ?? 'newest'), emptyPages },
  )
  return { entries, isPartial: data?.pages.at(-1)?.comments.partial === true }
}
