import { Anchor, Card, Group, Stack, Text } from '@mantine/core'
import { Link } from 'react-router'

import { ReaderTimelineDocument, type ReaderTimelineQuery } from '../../../generated/console.ts'
import { useList } from '../../api/queries.ts'
import { Boundary } from '../../ui/boundary.tsx'
import { CommentStatusBadge } from '../../ui/comment-status.tsx'
import { List } from '../../ui/list.tsx'
import { textOf } from '../../ui/mentions.ts'
import { sharedNames } from '../../ui/names-apart.ts'
import { pageName, pageNameApart } from '../../ui/page-name.ts'
import { Empty } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { WRITTEN } from '../../ui/written.ts'
import { actorName, givenIn } from '../../ui/acts.ts'

type Entry = NonNullable<ReaderTimelineQuery['timeline']>['nodes'][number]

const ACTIONS: Readonly<Record<string, string>> = {
  'comment.approve': 'approved a comment of this reader',
  'comment.reject': 'rejected a comment of this reader',
  'comment.delete': 'deleted a comment of this reader',
  'reader.ban': 'banned this reader',
  'reader.unban': 'ended the ban',
  'reader.set_trust': 'changed which comments of this reader wait',
}

/** What has happened around a reader, newest first. */
export function ReaderTimeline({ readerId }: { readerId: string }) {
  const list = useList(ReaderTimelineDocument, { readerId, first: 20 }, (page) => page.timeline, {
    everyMs: 5_000,
  })
  return (
    <List list={list} of="entries" empty={<Empty title="Nothing has happened yet" />}>
      {(entries) => {
        const pages = entries.flatMap(({ comment }) => comment?.discussion ?? [])
        const shared = sharedNames(pages, pageName)
        return (
          <Stack gap="sm" component="ol" m={0} p={0} style={{ listStyle: 'none' }}>
            {entries.map((entry, n) => (
              // Entries have no id. New ones come at the beginning only.
              <li key={`${entry.at} ${entry.kind} ${n}`}>
                <Boundary>
                  <EntryCard {...entry} sharedNames={shared} />
                </Boundary>
              </li>
            ))}
          </Stack>
        )
      }}
    </List>
  )
}

function EntryCard({ sharedNames: shared, ...entry }: Entry & { sharedNames: readonly string[] }) {
  const { at, comment, report, note, auditEntry } = entry
  const said = report?.note ?? note?.text ?? givenIn(auditEntry?.after)
  return (
    <Card withBorder padding="sm" component="article">
      <Group gap="xs">
        <Text size="sm" fw={600} {...WRITTEN}>
          {headOf(entry)}
        </Text>
        <Time at={at} c="dimmed" />
      </Group>
      {said != null && said !== '' && (
        <Text size="sm" {...WRITTEN}>
          {said}
        </Text>
      )}
      {comment != null && (
        <Group gap="xs" mt={4} align="baseline">
          <CommentStatusBadge status={comment.status} />
          <Anchor component={Link} to={`/discussions/${comment.discussion.id}`} size="sm" {...WRITTEN} lineClamp={1}>
            {(shared.includes(pageName(comment.discussion)) ? pageNameApart : pageName)(comment.discussion)}
          </Anchor>
          <Text size="sm" c="dimmed" w="100%" lineClamp={3} {...WRITTEN}>
            {textOf(comment) ?? 'deleted'}
          </Text>
        </Group>
      )}
    </Card>
  )
}

function headOf({ kind, report, note, auditEntry }: Entry): string {
  if (kind === 'comment') return 'This reader wrote'
  if (kind === 'note') return `${actorName(note?.author)} noted`
  if (kind === 'report_made') return `This reader reported a comment: ${reasonOf(report)}`
  if (kind === 'report_received') {
    const by = report?.reader.name ?? report?.reader.externalId ?? 'A reader'
    return `${by} reported a comment of this reader: ${reasonOf(report)}${report?.counted === false ? ' (does not count)' : ''}`
  }
  return `${actorName(auditEntry?.actor)} ${ACTIONS[auditEntry?.action ?? ''] ?? 'did something'}`
}

const reasonOf = (report: Entry['report']): string => (report?.reason ?? 'other').replace('_', ' ')
