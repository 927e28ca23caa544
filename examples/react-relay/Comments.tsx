import { Suspense, useEffect, useMemo, useState } from 'react'
import {
  fetchQuery,
  graphql,
  useFragment,
  useLazyLoadQuery,
  useMutation,
  usePaginationFragment,
  useRelayEnvironment,
  useSubscribeToInvalidationState,
  useSubscription,
} from 'react-relay'
import type { RecordSourceSelectorProxy } from 'relay-runtime'

import type { Comments_comment$key } from './__generated__/Comments_comment.graphql.ts'
import type { Comments_list$key } from './__generated__/Comments_list.graphql.ts'
import type { CommentsHeldQuery } from './__generated__/CommentsHeldQuery.graphql.ts'
import type { CommentsListQuery } from './__generated__/CommentsListQuery.graphql.ts'
import type { CommentsQuery } from './__generated__/CommentsQuery.graphql.ts'
import type { CommentsRepliesQuery } from './__generated__/CommentsRepliesQuery.graphql.ts'
import { type Place, PostForm, show } from './PostForm.tsx'

export const PAGE_QUERY = graphql`
  query CommentsQuery($externalId: String!, $first: Int!) {
    viewer { id name }
    discussion(by: { externalId: $externalId }) { id commentCount lastEventId ...Comments_list @arguments(first: $first) }
  }
`

export function Comments({ page }: { page: { externalId: string; first: number } }) {
  const [fetchKey, setFetchKey] = useState(0)
  const options = { fetchKey, fetchPolicy: 'store-and-network' } as const
  const { discussion, viewer } = useLazyLoadQuery<CommentsQuery>(PAGE_QUERY, page, options)
  const place = { externalId: page.externalId, discussion, reader: viewer }
  return (
    <>
      <h2>{discussion?.commentCount ?? 0} comments</h2>
      {/* The first comment makes the discussion. */}
      <PostForm place={place} onPosted={() => discussion || setFetchKey(fetchKey + 1)} />
      {discussion && <CommentList key={discussion.id} discussion={discussion} place={place} {...discussion} />}
    </>
  )
}

const EVENTS = graphql`
  subscription CommentsSubscription($discussionId: ID!, $lastEventId: String!) {
    discussionEvents(discussionId: $discussionId, lastEventId: $lastEventId) {
      seq
      data {
        ... on CommentEventData { comment { ...PostForm_comment } tombstones { ...PostForm_comment } }
        ... on ReactionEventData { comment { ...Comments_comment } }
        ... on DiscussionEventData { discussion { commentCount } }
      }
    }
  }
`

type ListProps = { discussion: Comments_list$key; place: Place; id: string; lastEventId: string }

/** The comments of the discussion, up to date with its events. */
function CommentList(props: ListProps) {
  const { data, hasNext, loadNext } = usePaginationFragment<CommentsListQuery, Comments_list$key>(
    graphql`
      fragment Comments_list on Discussion
      @argumentDefinitions(first: { type: "Int", defaultValue: 10 }, after: { type: "String" })
      @refetchable(queryName: "CommentsListQuery") {
        comments(first: $first, after: $after) @connection(key: "Comments_comments") {
          edges { node { id ...Comments_comment } }
        }
      }
    `,
    props.discussion,
  )
  // Those of the first answer: to start again at a later one would skip events.
  const [variables] = useState({ discussionId: props.id, lastEventId: props.lastEventId })
  const updater = (store: RecordSourceSelectorProxy) =>
    show(store, store.getRootField('discussionEvents')?.getLinkedRecord('data'))
  useSubscription(useMemo(() => ({ subscription: EVENTS, variables, updater }), [variables]))
  return (
    <>
      <HeldList place={props.place} parentId={null} />
      {data.comments.edges.map(({ node }) => (
        <Comment key={node.id} comment={node} place={props.place} />
      ))}
      {hasNext && <button onClick={() => loadNext(10)}>Load more</button>}
    </>
  )
}

const HELD_QUERY = graphql`
  query CommentsHeldQuery($id: ID!) {
    viewer {
      pending: comments(discussionId: $id, status: pending) { nodes { id parentId status replyCount ...Comments_comment } }
      rejected: comments(discussionId: $id, status: rejected) { nodes { id parentId status replyCount ...Comments_comment } }
    }
  }
`

/** The reader's own comments that wait or were rejected. Those with replies stand in the lists. */
function HeldList({ place, parentId }: { place: Place; parentId: string | null }) {
  const environment = useRelayEnvironment()
  const id = place.discussion?.id ?? ''
  const fetchPolicy = id !== '' && place.reader ? 'store-or-network' : 'store-only'
  const { viewer } = useLazyLoadQuery<CommentsHeldQuery>(HELD_QUERY, { id }, { fetchPolicy })
  const waiting = viewer?.pending?.nodes.filter(({ status }) => status === 'pending') ?? []
  const rejected = viewer?.rejected?.nodes.filter(({ status }) => status === 'rejected') ?? []
  const own = [...waiting, ...rejected].filter((comment) => (comment.parentId ?? null) === parentId)
  const isWaiting = waiting.length > 0 && parentId === null
  useEffect(() => {
    // A rejection is no event for a page that could not show the comment before.
    const poll = () => fetchQuery(environment, HELD_QUERY, { id }).subscribe({ error: console.warn })
    const timer = isWaiting ? setInterval(poll, 10_000) : undefined
    return () => clearInterval(timer)
  }, [environment, id, isWaiting])
  const alone = own.filter(({ replyCount }) => replyCount === 0)
  return alone.map((comment) => <Comment key={comment.id} comment={comment} place={place} />)
}

function Comment(props: { comment: Comments_comment$key; place: Place }) {
  const comment = useFragment(
    graphql`
      fragment Comments_comment on Comment {
        id status bodyHtml replyCount pinnedAt author { name }
        reactionGroups { type count viewerHasReacted }
      }
    `,
    props.comment,
  )
  const [toggle] = useMutation(graphql`
    mutation CommentsLikeMutation($input: ToggleReactionInput!) {
      toggleReaction(input: $input) { comment { ...Comments_comment } }
    }
  `)
  const [isOpen, setOpen] = useState(false)
  const { id, author, bodyHtml, replyCount, reactionGroups, status } = comment
  useSubscribeToInvalidationState([id], () => setOpen(false))
  const like = reactionGroups.find(({ type }) => type === 'like')
  const press = () => toggle({ variables: { input: { commentId: id, type: 'like' } }, onError: console.warn })
  return (
    <article data-id={id}>
      <b>{author?.name ?? 'Deleted'}</b>
      {/* The service has sanitised the HTML. */}
      <div dangerouslySetInnerHTML={{ __html: bodyHtml ?? '' }} />
      {like && status === 'approved' && <button onClick={press}>Like {like.count}</button>}
      {status === 'approved' && !id.startsWith('new-') && <button onClick={() => setOpen(true)}>Reply</button>}
      {status === 'pending' && <p>This comment waits for approval.</p>}
      {status === 'rejected' && <p>This comment was not approved.</p>}
      {isOpen && <PostForm place={props.place} parent={comment} />}
      <HeldList place={props.place} parentId={id} />
      {!isOpen && replyCount > 0 && <button onClick={() => setOpen(true)}>Show {replyCount} replies</button>}
      <Suspense fallback="Loading …">{isOpen && <Replies id={id} place={props.place} />}</Suspense>
    </article>
  )
}

/** The first hundred replies. */
function Replies({ id, place }: { id: string; place: Place }) {
  const { comment } = useLazyLoadQuery<CommentsRepliesQuery>(
    graphql`
      query CommentsRepliesQuery($id: ID!) {
        comment(id: $id) {
          replies(first: 100, sort: oldest) @connection(key: "Comments_replies", filters: []) {
            edges { node { id ...Comments_comment } }
          }
        }
      }
    `,
    { id },
  )
  return comment?.replies.edges.map(({ node }) => <Comment key={node.id} comment={node} place={place} />)
}
