import { Alert, Button, Checkbox, Group, Paper, Stack, Text } from '@mantine/core'
import { useInViewport } from '@mantine/hooks'
import { useState } from 'react'

import { Time } from '../../ui/time.tsx'
import { WRITTEN } from '../../ui/written.ts'
import { Parent, Reasons, Reports, Where } from './context.tsx'
import { Actions, Dealt, type JudgeProps } from './judging.tsx'
import { nameOf, ReaderLink, ReaderSummary } from './reader.tsx'

interface ItemProps extends JudgeProps {
  isSelected: boolean
  onSelect: (isSelected: boolean) => void
  /** Its position in the list, from 1, and the length of the list. */
  place: number
  count: number
}

/**
 * One comment of the queue, with what a moderator must know to judge it; once judged, a line that
 * says so.
 */
export function Item(props: ItemProps) {
  const { entry, place, count } = props
  const { comment } = entry.item
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
      aria-label={`Comment of ${nameOf(comment.author)}`}
      aria-posinset={place}
      aria-setsize={count}
      aria-busy={entry.isBusy}
      style={{ scrollMarginTop: 130 }}
    >
      {entry.dealtBy === null ? <Waiting {...props} isInView={inViewport} /> : <Dealt {...props} />}
      {entry.refusal !== null && (
        <Alert color="red" mt="xs" p="xs">
          {entry.refusal}
        </Alert>
      )}
    </Paper>
  )
}

function Waiting({ entry, isSelected, onSelect, isInView, ...actions }: ItemProps & { isInView: boolean }) {
  const { item } = entry
  const { author, discussion, parent, reports, body, createdAt } = item.comment
  return (
    <Stack gap="xs">
      <Group justify="space-between" align="flex-start" wrap="nowrap" gap="sm">
        <Group gap="xs" wrap="nowrap" align="flex-start" miw={0}>
          <Checkbox
            aria-label={`Select the comment of ${nameOf(author)}`}
            checked={isSelected}
            onChange={({ currentTarget }) => onSelect(currentTarget.checked)}
          />
          <Stack gap={2} miw={0}>
            <Group gap={6} align="baseline">
              <ReaderLink reader={author} />
              <Where discussion={discussion} />
            </Group>
            {author != null && <ReaderSummary id={author.id} isWanted={isInView} />}
          </Stack>
        </Group>
        <Time at={createdAt} c="dimmed" style={{ whiteSpace: 'nowrap' }} />
      </Group>
      <Reasons item={item} />
      {parent != null && <Parent parent={parent} />}
      <Body body={body ?? 'Its text is gone.'} />
      <Reports reports={reports} count={item.reportCount} />
      <Actions entry={entry} {...actions} />
    </Stack>
  )
}

/** The comment's text; only the beginning of a very long one, until the moderator expands it. */
function Body({ body }: { body: string }) {
  const [isWhole, setWhole] = useState(false)
  const isLong = body.length > 900 || body.split('\n').length > 12
  return (
    <Stack gap={4} align="flex-start">
      <Text {...WRITTEN} {...(isLong && !isWhole ? { lineClamp: 8 } : {})}>
        {body}
      </Text>
      {isLong && (
        <Button size="compact-xs" variant="subtle" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
          {isWhole ? 'Show less' : 'Show all of it'}
        </Button>
      )}
    </Stack>
  )
}
