import { Anchor, Avatar, Button, Group, Stack, Tabs, Text } from '@mantine/core'
import { IconBan, IconGitMerge, IconTrash } from '../../ui/icons.tsx'
import { useState } from 'react'
import { Link, useNavigate, useParams } from 'react-router'

import {
  ReaderDocument,
  ReaderMergeDocument,
  type ReaderMergeQuery,
  type ReaderQuery,
  ReadersDocument,
  UnbanReaderDocument,
} from '../../../generated/console.ts'
import { isNotFound } from '../../api/errors.ts'
import { useApi, useWrite } from '../../api/queries.ts'
import { may } from '../../api/session.ts'
import { GuestBadge } from '../../ui/author-badges.tsx'
import { useFilter } from '../../ui/inputs/filters.ts'
import { PageFrame } from '../../ui/page.tsx'
import { Found, Problem } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { WebLink } from '../../ui/web-link.tsx'
import { WRITTEN } from '../../ui/written.ts'
import { Badges } from './badges.tsx'
import { AllNotes } from '../notes/notes.tsx'
import { BanState } from '../bans/ban.tsx'
import { BanReader } from '../bans/ban-reader.tsx'
import { EraseReader } from './erase-reader.tsx'
import { ExportReader } from './export-reader.tsx'
import { MergeReader } from './merge-reader.tsx'
import { ReaderHistory } from './reader-history.tsx'
import { ReaderTimeline } from './reader-timeline.tsx'
import { Trust } from './trust.tsx'

export function Page() {
  const { id = '' } = useParams()
  // After a deletion there is no reader to query while the page is being left.
  const [gone, setGone] = useState<string | null>(null)
  if (gone !== null && gone !== id) setGone(null)
  const navigate = useNavigate()
  const query = useApi(ReaderDocument, { id }, { everyMs: 5_000, enabled: gone !== id })
  const leave = (to: string): void => {
    setGone(id)
    void navigate(to)
  }
  // Whether the reader was merged. Polled, because a merge may be under way.
  const merge = useApi(ReaderMergeDocument, { readerId: id }, { everyMs: 5_000, enabled: isNotFound(query.error) })
  if (isNotFound(query.error) && merge.data?.readerMerge != null) return <Merged {...merge.data.readerMerge} />
  return (
    <Found query={query} one={({ reader }) => reader} of="reader" list={{ to: '/readers', label: 'All readers' }}>
      {(reader) => <Reader {...reader} onGone={leave} />}
    </Found>
  )
}

/** Shown instead of a reader who was merged into another one. */
function Merged({ into, isUnderWay }: NonNullable<ReaderMergeQuery['readerMerge']>) {
  return (
    <PageFrame title="This reader was merged into another">
      <Stack gap="xs" align="flex-start">
        <Text>
          {isUnderWay
            ? 'They are being merged into the reader below. Until that is done, some of their comments are still under their old name.'
            : 'They were merged into the reader below, who now owns their comments.'}
        </Text>
        <Anchor component={Link} to={`/readers/${into.id}`} {...WRITTEN}>
          {into.name ?? into.externalId}
        </Anchor>
      </Stack>
    </PageFrame>
  )
}

type Reader = NonNullable<ReaderQuery['reader']>

function Reader({ onGone, ...reader }: Reader & { onGone: (to: string) => void }) {
  const { id, externalId, ban } = reader
  const name = reader.name ?? externalId
  const unban = useWrite(UnbanReaderDocument, [ReaderDocument, ReadersDocument])
  const [open, setOpen] = useState<'ban' | 'merge' | 'erase' | null>(null)
  const close = (): void => setOpen(null)
  const [, setTab] = useFilter('tab')
  // The list of comments rejects pending ones, so that it can take that back.
  const [isRejecting, setRejecting] = useState(false)
  const rejectPending = (): void => {
    setTab(null)
    setRejecting(true)
  }
  return (
    <PageFrame
      title={name}
      about={<About {...reader} />}
      actions={
        <>
          {ban != null && (
            <Button
              variant="default"
              loading={unban.isPending}
              onClick={() => unban.mutate({ input: { readerId: id } })}
            >
              End the ban
            </Button>
          )}
          <Button variant="default" leftSection={<IconBan size={16} aria-hidden />} onClick={() => setOpen('ban')}>
            {ban == null ? 'Ban' : 'Change the ban'}
          </Button>
          {may('manage_settings') && (
            <>
              <ExportReader readerId={id} externalId={externalId} />
              <Button
                variant="default"
                leftSection={<IconGitMerge size={16} aria-hidden />}
                onClick={() => setOpen('merge')}
              >
                Merge
              </Button>
              <Button
                variant="default"
                leftSection={<IconTrash size={16} aria-hidden />}
                onClick={() => setOpen('erase')}
              >
                Erase
              </Button>
            </>
          )}
        </>
      }
    >
      {unban.error !== null && <Problem error={unban.error} />}
      {ban != null && <BanState ban={ban} />}
      {reader.trust != null && <Trust readerId={id} trust={reader.trust} />}
      {reader.assignedBadges != null && may('moderate_content') && <Badges {...reader} />}
      {reader.commentCounts != null && (
        <History
          readerId={id}
          counts={reader.commentCounts}
          isRejecting={isRejecting}
          onRejecting={() => setRejecting(false)}
        />
      )}
      {open === 'ban' && (
        <BanReader
          readerId={id}
          name={name}
          ban={ban ?? null}
          onBanned={(isToReject) => isToReject && rejectPending()}
          onClose={close}
        />
      )}
      {open === 'merge' && (
        <MergeReader
          readerId={id}
          externalId={externalId}
          onMerged={(into) => onGone(`/readers/${into}`)}
          onClose={close}
        />
      )}
      {open === 'erase' && (
        <EraseReader readerId={id} externalId={externalId} onErased={() => onGone('/readers')} onClose={close} />
      )}
    </PageFrame>
  )
}

function History(history: Parameters<typeof ReaderHistory>[0]) {
  const [tab, setTab] = useFilter('tab')
  return (
    <Tabs value={tab === 'timeline' || tab === 'notes' ? tab : 'comments'} onChange={setTab} keepMounted={false}>
      <Tabs.List aria-label="About the reader">
        <Tabs.Tab value="comments">Comments</Tabs.Tab>
        <Tabs.Tab value="timeline">Timeline</Tabs.Tab>
        <Tabs.Tab value="notes">Notes</Tabs.Tab>
      </Tabs.List>
      <Tabs.Panel value="comments" pt="sm">
        <ReaderHistory key={history.readerId} {...history} />
      </Tabs.Panel>
      <Tabs.Panel value="timeline" pt="sm">
        <ReaderTimeline readerId={history.readerId} />
      </Tabs.Panel>
      <Tabs.Panel value="notes" pt="sm" maw={640}>
        <AllNotes on={{ readerId: history.readerId }} of="reader" />
      </Tabs.Panel>
    </Tabs>
  )
}

function About({ name, externalId, kind, profileUrl, createdAt, formerReaders }: Reader) {
  return (
    <Group gap="sm" component="span" wrap="nowrap" align="flex-start">
      <Avatar component="span" name={name ?? externalId} aria-hidden />
      <Stack gap={4} component="span">
        <span {...WRITTEN}>{externalId}</span>
        <GuestBadge kind={kind} />
        <WebLink url={profileUrl} />
        {createdAt != null && (
          <Text span size="sm">
            first seen <Time at={createdAt} />
          </Text>
        )}
        {formerReaders?.map((former) => (
          <Text span size="sm" key={former.readerId}>
            was also <span {...WRITTEN}>{former.externalId}</span>, merged <Time at={former.mergedAt} />
          </Text>
        ))}
      </Stack>
    </Group>
  )
}
