import { applyEvent } from 'engagement-service/graphql/relay'
import { type FormEvent, useState } from 'react'
import { graphql, useMutation } from 'react-relay'
import type { RecordProxy, RecordSourceSelectorProxy } from 'relay-runtime'

import type { PostFormMutation } from './__generated__/PostFormMutation.graphql.ts'

/** The lists of comments in the store, by the keys of their connections. */
const LISTS = {
  comments: { key: 'Comments_comments' },
  replies: { key: 'Comments_replies', sort: 'oldest' },
} as const

/** Where a reader writes. */
export interface Place {
  externalId: string
  discussion: { id: string; commentCount: number } | null | undefined
  reader: { id: string; name: string | null | undefined } | null | undefined
}

type Props = { place: Place; parent?: { id: string; replyCount: number }; onPosted?: () => unknown }

export function PostForm({ place: { externalId, discussion, reader }, parent, onPosted }: Props) {
  const [body, setBody] = useState('')
  const [failure, setFailure] = useState('')
  const [create] = useMutation<PostFormMutation>(graphql`
    mutation PostFormMutation($input: CreateCommentInput!) @raw_response_type {
      createComment(input: $input) { comment { ...PostForm_comment } }
    }
  `)
  if (reader == null) return <a href="/sign-in?as=ann">Sign in to write</a>

  const parentId = parent?.id ?? null
  const { id: discussionId = '', commentCount = 0 } = discussion ?? {}
  /** What the page shows until the service answers. It has no buttons. */
  const draft = () => ({
    // Ids are in the order of time: this one is the last.
    id: `new-${Date.now()}`,
    status: 'approved' as const,
    bodyHtml: new Option(body).innerHTML,
    replyCount: 0,
    pinnedAt: null,
    author: reader,
    reactionGroups: [],
    discussionId,
    parentId,
    parent: parent === undefined ? null : { id: parent.id, replyCount: parent.replyCount + 1 },
    discussion: { id: discussionId, commentCount: commentCount + 1 },
  })
  const fail = ({ message }: { message: string }) => {
    setFailure(message)
    setBody(body)
  }
  const post = (event: FormEvent) => {
    event.preventDefault()
    setBody('')
    setFailure('')
    create({
      variables: { input: { discussion: { externalId }, body, parentId } },
      optimisticResponse: { createComment: { comment: draft() } },
      optimisticUpdater: updater,
      updater,
      onCompleted: (_, errors) => void (errors?.[0] ? fail(errors[0]) : onPosted?.()),
      onError: fail,
    })
  }
  return (
    <form onSubmit={post}>
      <label>
        Your comment <textarea value={body} onChange={({ target }) => setBody(target.value)} required />
      </label>
      <button>Post</button>
      {failure && <p role="alert">{failure}</p>}
    </form>
  )
}

// What a new comment, or an event of one, changes on the page.
void graphql`
  fragment PostForm_comment on Comment {
    ...Comments_comment
    discussionId parentId parent { id replyCount } discussion { id commentCount }
  }
`

const updater = (store: RecordSourceSelectorProxy) => show(store, store.getRootField('createComment'))

/** Only its author sees these. */
const isHeld = (status: unknown): boolean => status === 'pending' || status === 'rejected'

/** Brings the store up to an event or an answer. */
export function show(store: RecordSourceSelectorProxy, change: RecordProxy | null | undefined): void {
  applyEvent(store, change, LISTS)
  const comment = change?.getLinkedRecord('comment')
  const status = comment?.getValue('status')
  const discussionId = comment?.getValue('discussionId')
  const own = store.getRoot().getLinkedRecord('viewer')?.getLinkedRecord('comments', { discussionId, status })
  const others = own?.getLinkedRecords('nodes')?.filter((node) => node !== comment) ?? []
  if (comment && isHeld(status)) own?.setLinkedRecords([comment, ...others], 'nodes')
}
