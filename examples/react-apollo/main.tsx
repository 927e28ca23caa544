import { ApolloClient, InMemoryCache } from '@apollo/client'
import { ApolloProvider } from '@apollo/client/react'
import { createGraphqlClient } from 'engagement-service/graphql'
import { cacheConfig, engagementLink } from 'engagement-service/graphql/apollo'
import { DiscussionPage } from 'engagement-service/graphql/documents'
import { createRoot } from 'react-dom/client'

import { Comments } from './comments.tsx'

/** The page of the article, and how many comments it loads at a time. */
const page = { externalId: 'night-trains', first: 10 }

const engagement = createGraphqlClient({
  url: `${import.meta.env.ENGAGEMENT_URL}/graphql`,
  token: async () => {
    const answer = await fetch('/token', { method: 'POST' })
    if (!answer.ok) throw new Error(`/token answered ${answer.status}`)
    return answer.json()
  },
  // The page was away for so long that the service cannot replay all events since.
  reload: async () => {
    await apollo.refetchQueries({ include: 'active' })
    return apollo.readQuery({ query: DiscussionPage, variables: page })?.discussion?.lastEventId ?? '0'
  },
})
const apollo = new ApolloClient({ link: engagementLink(engagement), cache: new InMemoryCache(cacheConfig) })

createRoot(document.getElementById('comments') as HTMLElement).render(
  <ApolloProvider client={apollo}>
    <Comments page={page} />
  </ApolloProvider>,
)
