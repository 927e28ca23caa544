// The comments of an article in an app. An app sends no `Origin`, so the tenant's `allowedOrigins`
// does not matter, and a text is shown from `body`: there is no HTML to insert.
import { ApolloClient, gql, InMemoryCache, type TypedDocumentNode } from '@apollo/client'
import { ApolloProvider, useMutation, useQuery, useSubscription } from '@apollo/client/react'
import { createGraphqlClient } from 'engagement-service/graphql'
import { applyEvent, cacheConfig, engagementLink } from 'engagement-service/graphql/apollo'
import {
  type CommentPartsFragment,
  CreateComment,
  DiscussionEvents,
  DiscussionPage,
  type DiscussionPageQuery,
  HeldComments,
} from 'engagement-service/graphql/documents'
import { fetch } from 'expo/fetch'
import { useEffect, useState } from 'react'
import { Button, FlatList, Text, TextInput, View } from 'react-native'

const SERVICE = 'https://comments.example.com'
/** The app's own backend, which knows who is signed in. */
const BACKEND = 'https://app.example.com'
const page = { externalId: 'night-trains', first: 20 }

const engagement = createGraphqlClient({
  url: `${SERVICE}/graphql`,
  fetch,
  token: async () => (await fetch(`${BACKEND}/token`, { method: 'POST' })).json(),
  // The app was away for so long that the service cannot replay all events since.
  reload: async () => {
    await apollo.refetchQueries({ include: 'active' })
    return apollo.readQuery({ query: DiscussionPage, variables: page })?.discussion?.lastEventId ?? '0'
  },
})
const apollo = new ApolloClient({ link: engagementLink(engagement), cache: new InMemoryCache(cacheConfig) })

type Discussion = NonNullable<DiscussionPageQuery['discussion']>
interface CommentText {
  comment: { id: string; body: string | null; bodyHtml: string | null } | null
}
const COMMENT_TEXT: TypedDocumentNode<CommentText, { id: string }> = gql`
  query CommentText($id: ID!) {
    comment(id: $id) {
      id
      body
      bodyHtml
    }
  }
`

export default function App() {
  return (
    <ApolloProvider client={apollo}>
      <Comments />
    </ApolloProvider>
  )
}

function Comments() {
  const { data, error, fetchMore } = useQuery(DiscussionPage, { variables: page, errorPolicy: 'all' })
  const discussion = data?.discussion
  const held = useHeld(discussion?.id)
  if (discussion == null) return <Text>{error?.message ?? 'Loading …'}</Text>
  const { nodes, pageInfo } = discussion.comments
  const more = () => pageInfo.hasNextPage && fetchMore({ variables: { after: pageInfo.endCursor ?? null } })
  return (
    <View>
      <Live {...discussion} />
      <PostForm />
      <FlatList
        // Held comments with replies stand in the list.
        data={[...held.filter(({ id }) => !nodes.some((node) => node.id === id)), ...nodes]}
        keyExtractor={({ id }) => id}
        renderItem={({ item }) => <Comment comment={item} />}
        ListHeaderComponent={<Text>{discussion.commentCount} comments</Text>}
        onEndReached={() => void more()}
      />
    </View>
  )
}

/** Only its author sees these. */
const isHeld = (status: string) => status === 'pending' || status === 'rejected'

/** The reader's own comments that wait or were rejected. */
function useHeld(discussionId: string | undefined): CommentPartsFragment[] {
  const options = { variables: { discussionId: discussionId ?? '' }, skip: discussionId === undefined }
  const { data, startPolling, stopPolling } = useQuery(HeldComments, options)
  const { pending, rejected } = data?.viewer ?? {}
  const own = [...(pending?.nodes ?? []), ...(rejected?.nodes ?? [])]
  const isWaiting = own.some(({ status }) => status === 'pending')
  // A rejection is no event for an app that could not show the comment before.
  useEffect(() => (isWaiting ? startPolling(10_000) : stopPolling()), [isWaiting, startPolling, stopPolling])
  return own.filter(({ status }) => isHeld(status))
}

/** Brings the cache up to the events of the discussion, one by one, from the first answer on. */
function Live({ id, lastEventId }: Discussion) {
  const [variables] = useState({ discussionId: id, lastEventId })
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

const NOTICES: Record<string, string> = { pending: '(waits for approval)', rejected: '(was not approved)' }

/** The text, with the names of the readers whom it mentions: only the HTML has them. */
function textOf({ comment }: CommentText): string {
  const names = (comment?.bodyHtml ?? '').matchAll(/data-reader="[^"]*">(@[^<]*)</g)
  return (comment?.body ?? '').replace(/\[@\]\(reader:[^)]*\)/g, () => names.next().value?.[1] ?? '@')
}

function Comment({ comment: { id, author, status } }: { comment: CommentPartsFragment }) {
  const { data } = useQuery(COMMENT_TEXT, { variables: { id } })
  return (
    <Text>
      {author?.name ?? 'Deleted'}: {data ? textOf(data) : ''} {NOTICES[status]}
    </Text>
  )
}

function PostForm() {
  const [body, setBody] = useState('')
  const [create] = useMutation(CreateComment, {
    update: (cache, { data }) => data?.createComment && applyEvent(cache, data.createComment),
    // A comment that waits for approval is in no list of the discussion.
    refetchQueries: ({ data }) => (isHeld(data?.createComment?.comment.status ?? '') ? [HeldComments] : []),
    onCompleted: () => setBody(''),
  })
  const input = { discussion: { externalId: page.externalId }, body }
  return (
    <View>
      <TextInput accessibilityLabel="Your comment" value={body} onChangeText={setBody} />
      <Button title="Post" onPress={() => void create({ variables: { input } })} />
    </View>
  )
}
