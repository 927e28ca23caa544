import { useApolloClient, useFragment, useMutation, useQuery, useSubscription } from '@apollo/client/react'
import { applyEvent } from 'engagement-service/graphql/apollo'
import {
  type CommentPageFragment,
  CommentParts,
  type CommentPartsFragment,
  CommentReplies,
  CreateComment,
  CurrentReader,
  DiscussionEvents,
  DiscussionPage,
  ToggleReaction,
} from 'engagement-service/graphql/documents'
import { createContext, type FormEvent, use, useState } from 'react'

import { draftOf, type Place } from './drafts.ts'

/** Null where nobody is signed in. */
const PlaceContext = createContext<Place | null>(null)

export function Comments({ page }: { page: { externalId: string; first: number } }) {
  // Before the first comment there is no discussion: it is null, beside an error.
  const { data, error, fetchMore, refetch } = useQuery(DiscussionPage, { variables: page, errorPolicy: 'all' })
  const { data: reader } = useQuery(CurrentReader)
  if (data === undefined) return <p>{error?.message ?? 'Loading …'}</p>
  const { discussion } = data
  const place = reader?.viewer ? { externalId: page.externalId, discussion, reader: reader.viewer } : null
  const after = discussion?.comments.pageInfo.endCursor
  return (
    <PlaceContext value={place}>
      <h2>{discussion?.commentCount ?? 0} comments</h2>
      <PostForm onPosted={() => discussion === null && refetch()} />
      {discussion && <Live key={discussion.id} discussionId={discussion.id} lastEventId={discussion.lastEventId} />}
      <CommentList list={discussion?.comments} onMore={() => fetchMore({ variables: { after } })} />
    </PlaceContext>
  )
}

/** Brings the cache up to the events of the discussion, one by one. */
function Live(first: { discussionId: string; lastEventId: string }) {
  const { cache } = useApolloClient()
  // Those of the first answer. The answer for a further page has a later `lastEventId`: to start
  // again there would skip events.
  const [variables] = useState(first)
  useSubscription(DiscussionEvents, {
    variables,
    ignoreResults: true,
    onData: ({ data: { data } }) => data && applyEvent(cache, data.discussionEvents.data),
  })
  return null
}

function CommentList({ list, onMore }: { list: CommentPageFragment | undefined; onMore: () => unknown }) {
  if (list === undefined) return null
  return (
    <>
      {list.nodes.map((comment) => (
        <Comment key={comment.id} comment={comment} />
      ))}
      {list.pageInfo.hasNextPage && <button onClick={onMore}>Load more</button>}
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
      {status === 'approved' && <button onClick={() => setOpen(true)}>Reply</button>}
      {status === 'pending' && <p>This comment waits for approval.</p>}
      {isOpen && <PostForm parent={comment} />}
      {!isOpen && replyCount > 0 && <button onClick={() => setOpen(true)}>Show {replyCount} replies</button>}
      {isOpen && <CommentList list={replies} onMore={() => fetchMore({ variables: { after } })} />}
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
  const [held, setHeld] = useState<CommentPartsFragment[]>([])
  const [create, { error }] = useMutation(CreateComment, {
    update: (cache, { data }) => data?.createComment && applyEvent(cache, data.createComment),
    // The text is still in the form.
    onError: () => setBody(body),
    onCompleted: ({ createComment }) => {
      const comment = createComment?.comment
      // A comment that waits for approval is in no list. Its reader sees it here.
      if (comment?.status === 'pending') setHeld((before) => [comment, ...before])
      onPosted?.()
    },
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
    <>
      <form onSubmit={post}>
        <label>
          Your comment <textarea value={body} onChange={({ target }) => setBody(target.value)} required />
        </label>
        <button>Post</button>
        {error && <p role="alert">{error.message}</p>}
      </form>
      {held.map((comment) => (
        <HeldComment key={comment.id} {...comment} />
      ))}
    </>
  )
}

/** Shows a comment until a moderator has approved it: then it is in the list. */
function HeldComment({ id }: CommentPartsFragment) {
  const from = { __typename: 'Comment', id }
  const { data, complete } = useFragment({ fragment: CommentParts, fragmentName: 'CommentParts', from })
  return complete && data.status === 'pending' ? <Comment comment={data} /> : null
}
