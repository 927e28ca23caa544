import { Anchor, Badge, Card, Group, Stack, Text, Title } from '@mantine/core'
import { Link } from 'react-router'

import { ReaderHistoryDocument, type ReaderHistoryQuery, type ReaderQuery } from '../../../generated/console.ts'
import { useList } from '../../api/queries.ts'
import { List } from '../../ui/list.tsx'
import { Empty } from '../../ui/states.tsx'
import { CommentStatusBadge } from '../../ui/comment-status.tsx'
import { textOf } from '../../ui/mentions.ts'
import { Time } from '../../ui/time.tsx'
import { WRITTEN } from '../../ui/written.ts'

type Counts = NonNullable<NonNullable<ReaderQuery['reader']>['commentCounts']>
type Comment = NonNullable<NonNullable<ReaderHistoryQuery['reader']>['comments']>['nodes'][number]

/** How many of the newest comments are counted. */
const COUNTED = 1_000

/** A reader's comments, in any state. */
export function ReaderHistory({ readerId: id, counts }: { readerId: string; counts: Counts }) {
  const list = useList(ReaderHistoryDocument, { id, first: 20 }, ({ reader }) => reader?.comments, { everyMs: 5_000 })
  return (
    <Stack component="section" gap="sm" aria-label="Comments">
      <Title order={2} size="h4">
        Comments
      </Title>
      <CountsLine {...counts} />
      <List list={list} of="comments" empty={<Empty title="No comments yet" />}>
        {(comments) => (
          <Stack gap="sm" component="ol" m={0} p={0} style={{ listStyle: 'none' }}>
            {comments.map((comment) => (
              <li key={comment.id}>
                <HistoryCard {...comment} />
              </li>
            ))}
          </Stack>
        )}
      </List>
    </Stack>
  )
}

function CountsLine({ total, approved, pending, rejected, deleted, reportsReceived }: Counts) {
  return (
    <Group gap="xs">
      <Badge>{approved} approved</Badge>
      <Badge>{pending} pending</Badge>
      <Badge>{rejected} rejected</Badge>
      <Badge>{deleted} deleted</Badge>
      <Badge>{reportsReceived === 1 ? '1 report' : `${reportsReceived} reports`} received</Badge>
      {total >= COUNTED && (
        <Text size="sm" c="dimmed">
          of their newest {COUNTED}
        </Text>
      )}
    </Group>
  )
}

function HistoryCard({ body, bodyHtml, status, createdAt, editedAt, discussion }: Comment) {
  return (
    <Card withBorder padding="sm" component="article">
      <Group gap="xs">
        <CommentStatusBadge status={status} />
        <Time at={createdAt} c="dimmed" />
        {editedAt != null && (
          <Text size="sm" c="dimmed">
            edited
          </Text>
        )}
        <Anchor component={Link} to={`/discussions/${discussion.id}`} size="sm" {...WRITTEN} lineClamp={1}>
          {discussion.title ?? discussion.externalId}
        </Anchor>
      </Group>
      <Text size="sm" {...WRITTEN} mt={4} {...(body == null ? { c: 'dimmed' } : {})}>
        {textOf({ body, bodyHtml }) ?? 'deleted'}
      </Text>
    </Card>
  )
}
