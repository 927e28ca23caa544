import { Badge, Group, Stack, Text, Title } from '@mantine/core'
import type { ReactNode } from 'react'

import {
  CommentContextDocument,
  type CommentContextQuery,
  type ContextCommentFragment,
} from '../../../../generated/console.ts'
import { useApi } from '../../../api/queries.ts'
import { CommentStatusBadge } from '../../../ui/comment-status.tsx'
import { textOf } from '../../../ui/mentions.ts'
import { Answered } from '../../../ui/states.tsx'
import { Time } from '../../../ui/time.tsx'
import { WRITTEN } from '../../../ui/written.ts'
import { BanState } from '../../bans/ban.tsx'
import { Notes } from '../../notes/notes.tsx'
import { SharedNames, useNameOf, usePageNameOf, useSharedNames } from '../reader.tsx'
import type { QueueItem } from '../entries.ts'
import { Decisions } from './decisions.tsx'

/**
 * What is around a comment: its earlier texts, its thread, its author's other comments, what
 * moderators decided and what they noted.
 */
export function ContextPane({ comment }: { comment: QueueItem['comment'] }) {
  const { id, author, parent, discussion } = comment
  const query = useApi(CommentContextDocument, {
    id,
    discussionId: discussion.id,
    parentId: parent?.id ?? null,
    readerId: author?.id ?? '',
    hasReader: author != null,
    isEdited: comment.editedAt != null,
  })
  // Until its own answer is there, the last one is of another comment.
  const own = { ...query, data: query.data?.comment?.id === id ? query.data : undefined }
  return (
    <Answered query={own} of="the context">
      {(context) => <Context context={context} comment={comment} />}
    </Answered>
  )
}

interface ContextProps {
  context: CommentContextQuery
  comment: QueueItem['comment']
}

function Context(props: ContextProps) {
  const { comment: around, discussion, reader } = props.context
  const others = [around?.parent, around?.parent?.parent, ...(around?.replies.nodes ?? [])]
  const authors = [...others, ...(discussion?.comments.nodes ?? [])].map((each) => each?.author)
  const pages = (reader?.comments?.nodes ?? []).map((each) => each.discussion)
  return (
    <SharedNames value={useSharedNames([props.comment.author, ...authors], [props.comment.discussion, ...pages])}>
      <Parts {...props} />
    </SharedNames>
  )
}

function Parts({ context, comment }: ContextProps) {
  const { id, author } = comment
  const nameOf = useNameOf()
  const { commentRevisions: texts, reader, decisions, bans, onReader, onComment } = context
  const parent = context.comment?.parent
  const replies = context.comment?.replies.nodes ?? []
  const beside = (context.discussion?.comments.nodes ?? []).filter((other) => other.id !== id).slice(0, 5)
  const others = (reader?.comments?.nodes ?? []).filter((other) => other.id !== id)
  return (
    <Stack gap="md">
      {texts != null && (
        <Part title="Earlier texts">
          <Stack component="ul" gap={6} m={0} p={0} style={{ listStyle: 'none' }} aria-label="Earlier texts">
            {texts.nodes
              .filter(({ replacedAt }) => replacedAt != null)
              .map(({ revision, body, createdAt }) => (
                <li key={revision} style={QUOTED}>
                  <Time at={createdAt} size="xs" c="dimmed" />
                  <Text size="sm" {...WRITTEN}>
                    {textOf({ body, bodyHtml: comment.bodyHtml })}
                  </Text>
                </li>
              ))}
          </Stack>
          {texts.pageInfo.hasNextPage && <Nothing>and earlier ones</Nothing>}
        </Part>
      )}
      <Part title="Thread">
        <Lines label="Above it" comments={[parent?.parent, parent].filter((each) => each != null)} />
        <Lines label="Replies to it" comments={replies} />
        <Lines label="Beside it" comments={beside} />
        {parent == null && replies.length + beside.length === 0 && <Nothing>It stands alone.</Nothing>}
      </Part>
      {reader != null && (
        <Part title={`Of ${nameOf(author)}`}>
          {reader.ban != null && <BanState ban={reader.ban} />}
          {reader.trust === 'hold' && <Badge>all of their comments wait</Badge>}
          {reader.trust === 'never_hold' && <Badge>no rule holds their comments</Badge>}
          <Lines label="Their last comments" comments={others} withState />
          {others.length === 0 && <Nothing>This is their only comment.</Nothing>}
        </Part>
      )}
      {author != null && decisions != null && bans != null && (
        <Part title="Earlier decisions">
          <Decisions commentId={id} readerId={author.id} decisions={decisions.nodes} bans={bans.nodes} />
        </Part>
      )}
      <Part title="Notes">
        {author != null && onReader != null && (
          <Notes key={author.id} on={{ readerId: author.id }} of="reader" notes={onReader.nodes}>
            {onReader.pageInfo.hasNextPage && <Nothing>and earlier ones, on the reader's page</Nothing>}
          </Notes>
        )}
        <Notes key={id} on={{ commentId: id }} of="comment" notes={onComment.nodes}>
          {onComment.pageInfo.hasNextPage && <Nothing>and earlier ones</Nothing>}
        </Notes>
      </Part>
    </Stack>
  )
}

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Stack component="section" gap="xs" aria-label={title}>
      <Title order={3} size="h6" {...WRITTEN}>
        {title}
      </Title>
      {children}
    </Stack>
  )
}

const Nothing = ({ children }: { children: ReactNode }) => (
  <Text size="sm" c="dimmed">
    {children}
  </Text>
)

const QUOTED = { borderInlineStart: '3px solid var(--mantine-color-default-border)', paddingInlineStart: 8 }

type Line = ContextCommentFragment & { discussion?: { title?: string | null; externalId: string } }

function Lines({
  label,
  comments,
  withState = false,
}: {
  label: string
  comments: readonly Line[]
  withState?: boolean
}) {
  const nameOf = useNameOf()
  const pageNameOf = usePageNameOf()
  if (comments.length === 0) return null
  return (
    <Stack gap={4}>
      <Text size="xs" c="dimmed">
        {label}
      </Text>
      <Stack component="ul" gap={6} m={0} p={0} style={{ listStyle: 'none' }} aria-label={label}>
        {comments.map(({ id, body, bodyHtml, status, createdAt, author, discussion }) => (
          <li key={id} style={QUOTED}>
            <Group gap={6}>
              {(withState || status !== 'approved') && <CommentStatusBadge status={status} />}
              <Text size="xs" c="dimmed" {...WRITTEN}>
                <bdi>{discussion === undefined ? nameOf(author) : pageNameOf(discussion)}</bdi>,{' '}
                <Time at={createdAt} size="xs" />
              </Text>
            </Group>
            <Text size="sm" {...WRITTEN} lineClamp={4}>
              {textOf({ body, bodyHtml }) ?? 'A deleted comment'}
            </Text>
          </li>
        ))}
      </Stack>
    </Stack>
  )
}
