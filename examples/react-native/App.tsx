// The comments of an article in an app. An app sends no `Origin`, so the tenant's `allowedOrigins`
// does not matter, and a text is shown from `body`: there is no HTML to insert.
import { ApolloClient, gql, InMemoryCache, type TypedDocumentNode } from '@apollo/client'
import { ApolloProvider, useApolloClient, useMutation, useQuery, useSubscription } from '@apollo/client/react'
import { createGraphqlClient } from 'engagement-service/graphql'
import { applyEvent, cacheConfig, engagementLink } from 'engagement-service/graphql/apollo'
import {
  CreateComment,
  DiscussionEvents,
  DiscussionPage,
  type DiscussionPageQuery,
} from 'engagement-service/graphql/documents'
import { fetch } from 'expo/fetch'
import { useState } from 'react'
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
const COMMENT_TEXT: TypedDocumentNode<{ comment: { id: string; body: string | null } | null }, { id: string }> = gql`
  query CommentText($id: ID!) {
    comment(id: $id) {
      id
      body
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
  if (discussion == null) return <Text>{error?.message ?? 'Loading …'}</Text>
  const { nodes, pageInfo } = discussion.comments
  const more = () => pageInfo.hasNextPage && fetchMore({ variables: { after: pageInfo.endCursor ?? null } })
  return (
    <View>
      <Live {...discussion} />
      <PostForm />
      <FlatList
        data={nodes}
        keyExtractor={({ id }) => id}
        renderItem={({ item }) => <Comment id={item.id} name={item.author?.name ?? 'Deleted'} />}
        ListHeaderComponent={<Text>{discussion.commentCount} comments</Text>}
        onEndReached={() => void more()}
      />
    </View>
  )
}

/** Brings the cache up to the events of the discussion, one by one, from the first answer on. */
function Live({ id, lastEventId }: Discussion) {
  const { cache } = useApolloClient()
  const [variables] = useState({ discussionId: id, lastEventId })
  useSubscription(DiscussionEvents, {
    variables,
    ignoreResults: true,
    onData: ({ data: { data } }) => data && applyEvent(cache, data.discussionEvents.data),
  })
  return null
}

function Comment({ id, name }: { id: string; name: string }) {
  const { data } = useQuery(COMMENT_TEXT, { variables: { id } })
  return (
    <Text>
      {name}: {data?.comment?.body ?? ''}
    </Text>
  )
}

function PostForm() {
  const [body, setBody] = useState('')
  const [create] = useMutation(CreateComment, {
    update: (cache, { data }) => data?.createComment && applyEvent(cache, data.createComment),
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
