import { Alert, Button, Checkbox, Group, Paper, Stack, Text } from '@mantine/core'
import { useInViewport } from '@mantine/hooks'
import { memo, useState } from 'react'

import { AuthorBadges } from '../../ui/author-badges.tsx'
import { textWithMarks } from '../../ui/mentions.ts'
import { Told } from '../../ui/told.tsx'
import { Time } from '../../ui/time.tsx'
import { WRITTEN } from '../../ui/written.ts'
import { Parent, Reasons, Reports, Where } from './context.tsx'
import { Actions, Dealt, type JudgeProps } from './judging.tsx'
import { partsOf } from './marks.ts'
import { ReaderLink, ReaderSummary, useNameOf } from './reader.tsx'
import type { QueueItem } from './entries.ts'

interface WaitingProps extends JudgeProps {
  isSelected: boolean
  /** Whether it is left to the colleague who works on it. */
  isHeld: boolean
  /** That of the last answer: once in a minute, all are drawn again with their ages. */
  minute: number
}

interface ItemProps extends WaitingProps {
  /** Its position in the list, from 1, and the length of the list. */
  place: number
  count: number
}

/**
 * One comment of the queue, with what a moderator must know to judge it; once judged, a line that
 * says so. An answer of the service may change one of a hundred: the others are not drawn again.
 */
export const Item = memo(function Item({ place, count, ...props }: ItemProps) {
  const { entry, isHeld } = props
  const { comment } = entry.item
  const nameOf = useNameOf()
  const { ref, inViewport } = useInViewport()
  return (
    <Paper
      ref={ref}
      withBorder
      p={entry.dealtBy === null ? 'md' : 'xs'}
      component="article"
      // Paper has no ring of its own, and keys act on the comment that has the focus.
      className="mantine-focus-auto"
      tabIndex={0}
      data-comment={comment.id}
      data-dealt={entry.dealtBy === null ? undefined : ''}
      data-held={isHeld ? '' : undefined}
      aria-label={`Comment of ${nameOf(comment.author)}`}
      aria-description={isHeld ? `${entry.colleague} works on this comment.` : undefined}
      aria-posinset={place}
      aria-setsize={count}
    >
      {entry.dealtBy === null ? <Waiting {...props} isInView={inViewport} /> : <Dealt {...props} />}
      {entry.refusal !== null && (
        <Alert color="red" mt="xs" p="xs">
          {entry.refusal}
        </Alert>
      )}
    </Paper>
  )
})

// A judgement changes the place of all items, and nothing else of them.
const Waiting = memo(function Waiting({
  isSelected,
  isHeld,
  isInView,
  minute: _minute,
  ...actions
}: WaitingProps & { isInView: boolean }) {
  const { entry, acts } = actions
  const { item } = entry
  const nameOf = useNameOf()
  const { author, parent, reports, createdAt } = item.comment
  return (
    <Stack gap="xs">
      <Group justify="space-between" align="flex-start" wrap="nowrap" gap="sm">
        <Group gap="xs" wrap="nowrap" align="flex-start" miw={0}>
          <Checkbox
            aria-label={`Select the comment of ${nameOf(author)}`}
            checked={isSelected}
            disabled={isHeld}
            onChange={({ currentTarget }) => acts.select(entry, currentTarget.checked)}
          />
          <Stack gap={2} miw={0}>
            <Group gap={6} align="baseline">
              <ReaderLink reader={author} />
              <AuthorBadges of={author} />
              {/* On a phone a column of its own would leave half of the width. */}
              <Time at={createdAt} c="dimmed" hiddenFrom="sm" />
              <Where comment={item.comment} />
            </Group>
            {author != null && !actions.isOfOneReader && <ReaderSummary id={author.id} isWanted={isInView} />}
          </Stack>
        </Group>
        <Time at={createdAt} c="dimmed" visibleFrom="sm" style={{ whiteSpace: 'nowrap' }} />
      </Group>
      <Reasons item={item} inQueue={actions.inQueue} />
      {parent != null && <Parent parent={parent} />}
      <Body item={item} />
      <Told decision={entry.decision} />
      <Reports reports={reports} count={item.reportCount} />
      {isHeld ? (
        <Group gap="xs">
          <Text size="sm">
            <bdi>{entry.colleague}</bdi> works on this comment.
          </Text>
          <Button size="compact-sm" variant="default" onClick={() => acts.decideAnyway(entry)}>
            Decide anyway
          </Button>
          <Button size="compact-sm" variant="default" aria-keyshortcuts="c" onClick={() => acts.context(entry)}>
            Context
          </Button>
        </Group>
      ) : (
        <Actions {...actions} />
      )}
    </Stack>
  )
})

/** The comment's text; only the beginning of a very long one, until the moderator expands it. */
function Body({ item: { comment, holdDetails } }: { item: QueueItem }) {
  const [isWhole, setWhole] = useState(false)
  const { body, bodyHtml } = comment
  const { text: whole, marks } =
    body == null ? { text: 'Its text is gone.', marks: [] } : textWithMarks(body, bodyHtml, holdDetails)
  const isLong = whole.length > 900 || whole.split('\n').length > 12
  return (
    <Stack gap={4} align="flex-start">
      <Text {...WRITTEN} {...(isLong && !isWhole ? { lineClamp: 8 } : {})}>
        {partsOf(whole, marks).map(({ text, isMarked }, index) =>
          isMarked ? <mark key={index}>{text}</mark> : <span key={index}>{text}</span>,
        )}
      </Text>
      {isLong && (
        <Button size="compact-xs" variant="subtle" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
          {isWhole ? 'Show less' : 'Show all of it'}
        </Button>
      )}
    </Stack>
  )
}
