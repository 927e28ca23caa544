import { createGraphqlClient } from 'engagement-service/graphql'
import { engagementNetwork } from 'engagement-service/graphql/relay'
import { Suspense } from 'react'
import { createRoot } from 'react-dom/client'
import { fetchQuery, RelayEnvironmentProvider } from 'react-relay'
import { Environment, RecordSource, type RecordSourceSelectorProxy, Store } from 'relay-runtime'

import type { CommentsQuery } from './__generated__/CommentsQuery.graphql.ts'
import { Comments, PAGE_QUERY } from './Comments.tsx'

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
    // The types of Relay leave this method out.
    environment.commitUpdate((store) => (store as RecordSourceSelectorProxy).invalidateStore())
    const data = await fetchQuery<CommentsQuery>(environment, PAGE_QUERY, page).toPromise()
    return data?.discussion?.lastEventId ?? '0'
  },
})
const environment = new Environment({ network: engagementNetwork(engagement), store: new Store(new RecordSource()) })

createRoot(document.getElementById('comments') as HTMLElement).render(
  <RelayEnvironmentProvider environment={environment}>
    <Suspense fallback="Loading …">
      <Comments page={page} />
    </Suspense>
  </RelayEnvironmentProvider>,
)
