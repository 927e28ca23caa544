import { useMutation, useQuery, useSubscription } from '@apollo/client/react'
import { applyEvent } from 'engagement-service/graphql/apollo'
import {
  type CommentPageFragment,
  type CommentPartsFragment,
  CommentReplies,
  CreateComment,
  CurrentReader,
  DiscussionEvents,
  DiscussionPage,
  HeldComments,
  ToggleReaction,
} from 'engagement-service/graphql/documents'
import { createContext, type FormEvent, use, useEffect, useState } from 'react'

import { draftOf, isDraft, type Place } from './drafts.ts'

/** Null where nobody is signed in. */
const PlaceContext = createContext<Place | null>(null)

export function Comments({ page }: { page: { externalId: string; first: number } }) {
  // Before the first comment there is no discussion: it is null, beside an error.
  const { data, error, fetchMore, refetch } = useQuery(DiscussionPage, { variables: page, errorPolicy: 'all' })
  const { data: reader } = useQuery(CurrentReader)
  const held = useHeld(data?.discussion?.id, reader?.viewer != null)
  if (data === undefined) return <p>{error?.message ?? 'Loading …'}</p>
  const { discussion } = data
  const place = reader?.viewer ? { externalId: page.externalId, discussion, reader: reader.viewer, held } : null
  const after = discussion?.comments.pageInfo.endCursor
  return (
    <PlaceContext value={place}>
      <h2>{discussion?.commentCount ?? 0} comments</h2>
      <PostForm onPosted={() => discussion === null && refetch()} />
      {discussion && <Live key={discussion.id} discussionId={discussion.id} lastEventId={discussion.lastEventId} />}
      <CommentList parentId={null} list={discussion?.comments} onMore={() => fetchMore({ variables: { after } })} />
    </PlaceContext>
  )
}

/** The reader's own comments that wait or were rejected. */
function useHeld(discussionId: string | undefined, isSignedIn: boolean): CommentPartsFragment[] {
  const options = { variables: { discussionId: discussionId ?? '' }, skip: discussionId === undefined || !isSignedIn }
  const { data, startPolling, stopPolling } = useQuery(HeldComments, options)
  const { pending, rejected } = data?.viewer ?? {}
  const own = [...(pending?.nodes ?? []), ...(rejected?.nodes ?? [])]
  const isWaiting = own.some(({ status }) => status === 'pending')
  // A rejection is no event for a page that could not show the comment before.
  useEffect(() => (isWaiting ? startPolling(10_000) : stopPolling()), [isWaiting, startPolling, stopPolling])
  return own.filter(({ status }) => isHeld(status))
}

/** Only its author sees these. */
const isHeld = (status: string) => status === 'pending' || status === 'rejected'

/** Brings the cache up to the events of the discussion, one by one. */
function Live(first: { discussionId: string; lastEventId: string }) {
  // Those of the first answer. The answer for a further page has a later `lastEventId`: to start
  // again there would skip events.
  const [variables] = useState(first)
  useSubscription(DiscussionEvents, {
    variables,
    ignoreResults: true,
    onData: ({ client, data: { data } }) => {
      const change = data?.discussionEvents.data
      if (change === undefined) return
      applyEvent(client.cache, change)
      // An own comment that was approved before.
      if ('tombstones' in change && isHeld(change.comment.status)) client.refetchQueries({ include: [HeldComments] })
    },
  })
  return null
}

interface ListProps {
  parentId: string | null
  list: CommentPageFragment | undefined
  onMore: () => unknown
}

function CommentList({ parentId, list, onMore }: ListProps) {
  const held = use(PlaceContext)?.held ?? []
  const listed = list?.nodes ?? []
  // Held comments with replies stand in the list.
  const isAlone = (comment: CommentPartsFragment) => !listed.some(({ id }) => id === comment.id)
  const own = held.filter((comment) => (comment.parentId ?? null) === parentId && isAlone(comment))
  return (
    <>
      {[...own, ...listed].map((comment) => (
        <Comment key={comment.id} comment={comment} />
      ))}
      {list?.pageInfo.hasNextPage && <button onClick={onMore}>Load more</button>}
    </>
  )
}

function Comment({ comment }: { comment: CommentPartsFragment }) {
  const { id, author, bodyHtml, replyCount, status } = comment
  const [isOpen, setOpen] = useState(false)
  const { data, fetchMore } = useQuery(CommentReplies, { variables: { id }, skip: !isOpen })
  const replies = data?.comment?.replies
  const after = replies?.pageInfo.endCursor
  return (
    <article data-id={id}>
      <b>{author?.name ?? 'Deleted'}</b>
      {/* The service has sanitised the HTML. */}
      <div dangerouslySetInnerHTML={{ __html: bodyHtml ?? '' }} />
      {status === 'approved' && <LikeButton comment={comment} />}
      {status === 'approved' && !isDraft(id) && <button onClick={() => setOpen(true)}>Reply</button>}
      {status === 'pending' && <p>This comment waits for approval.</p>}
      {status === 'rejected' && <p>This comment was not approved.</p>}
      {isOpen && <PostForm parent={comment} />}
      {!isOpen && replyCount > 0 && <button onClick={() => setOpen(true)}>Show {replyCount} replies</button>}
      <CommentList
        parentId={id}
        list={isOpen ? replies : undefined}
        onMore={() => fetchMore({ variables: { after } })}
      />
    </article>
  )
}

function LikeButton({ comment: { id, reactionGroups } }: { comment: CommentPartsFragment }) {
  const [toggle] = useMutation(ToggleReaction, { onError: console.warn })
  const like = reactionGroups.find(({ type }) => type === 'like')
  if (like === undefined) return null
  const { count, viewerHasReacted } = like
  const toggled = { ...like, count: count + (viewerHasReacted ? -1 : 1), viewerHasReacted: !viewerHasReacted }
  const groups = reactionGroups.map((group) => (group === like ? toggled : group))
  const comment = { __typename: 'Comment', id, reactionGroups: groups }
  const press = () =>
    toggle({
      variables: { input: { commentId: id, type: 'like' } },
      optimisticResponse: { toggleReaction: { comment } },
    })
  return (
    <button aria-pressed={viewerHasReacted === true} onClick={press}>
      Like {count}
    </button>
  )
}

function PostForm({ parent, onPosted }: { parent?: CommentPartsFragment; onPosted?: () => unknown }) {
  const place = use(PlaceContext)
  const [body, setBody] = useState('')
  const [create, { error }] = useMutation(CreateComment, {
    update: (cache, { data }) => data?.createComment && applyEvent(cache, data.createComment),
    // The text is still in the form.
    onError: () => setBody(body),
    // A comment that waits for approval is in no list of the discussion.
    refetchQueries: ({ data }) => (isHeld(data?.createComment?.comment.status ?? '') ? [HeldComments] : []),
    onCompleted: () => onPosted?.(),
  })
  if (place === null) return <a href="/sign-in?as=ann">Sign in to write</a>
  const post = (event: FormEvent) => {
    event.preventDefault()
    setBody('')
    const { externalId } = place
    return create({
      variables: { input: { discussion: { externalId }, body, parentId: parent?.id ?? null } },
      optimisticResponse: { createComment: { comment: draftOf(place, body, parent) } },
    })
  }
  return (
    <form onSubmit={post}>
      <label>
        Your comment <textarea value={body} onChange={({ target }) => setBody(target.value)} required />
      </label>
      <button>Post</button>
      {error && <p role="alert">{error.message}</p>}
    </form>
  )
}
