import { cacheExchange } from '@urql/exchange-graphcache'
import urql, { Client } from '@urql/vue'
import { createGraphqlClient } from 'engagement-service/graphql'
import { DiscussionPage } from 'engagement-service/graphql/documents'
import { cacheConfig, engagementExchange } from 'engagement-service/graphql/urql'
import { createApp } from 'vue'

import Comments from './Comments.vue'
import { optimistic } from './optimistic.ts'

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
    const { data } = await client.query(DiscussionPage, page, { requestPolicy: 'network-only' }).toPromise()
    return data?.discussion?.lastEventId ?? '0'
  },
})
const client = new Client({
  url: '/graphql',
  preferGetMethod: false,
  exchanges: [cacheExchange({ ...cacheConfig, optimistic }), engagementExchange(engagement)],
})

createApp(Comments, { page }).use(urql, client).mount('#comments')
