import { setTimeout as pause } from 'node:timers/promises'

import { ApolloClient, ApolloLink, gql, InMemoryCache, Observable } from '@apollo/client'
import { Client, fetchExchange, type Operation, subscriptionExchange } from '@urql/core'
import { retryExchange } from '@urql/exchange-retry'
import { print } from 'graphql'
import {
  type Client as SseClient,
  createClient,
  type ExecutionResult,
  type RequestParams,
  type Sink,
} from 'graphql-sse'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'

import { engagementLink } from '../../src/clients/graphql/apollo.ts'
import { createGraphqlClient, type GraphqlSink } from '../../src/clients/graphql/client.ts'
import { engagementNetwork } from '../../src/clients/graphql/relay.ts'
import { engagementExchange } from '../../src/clients/graphql/urql.ts'
import { newId } from '../../src/core/ids.ts'
import { HAPROXY, NGINX, type Balancer, startHaproxy, startShippedNginx } from '../harness/balancers.ts'
import { onServer } from '../harness/database.ts'
import { first } from '../harness/processes.ts'
import { useProcesses } from '../harness/service-processes.ts'

const QUERY = `subscription Events($discussionId: ID!, $lastEventId: String) {
  discussionEvents(discussionId: $discussionId, lastEventId: $lastEventId) { seq }
}`
/** On a busy machine, each of the starts may take half a minute. */
const LONG = 600_000
/**
 * The 10 s that our client waits at most before it tries again, and time for what it has missed.
 * Less than the 75 s after which it gives up a silent connection: that must save no client here.
 */
const LATE_MS = 60_000
const RESTARTS = 2
const PAGES = 100
const withoutNginx = onServer && NGINX !== undefined ? '' : ' (at one api: there is no nginx or no server here)'

type Data = { discussionEvents: { seq: number } }
type Variables = { discussionId: string; lastEventId: string }

/** A client as its users set it up, and what it has got. */
interface Follower {
  seqs: number[]
  /** An error or an end that reached the application. */
  ends: unknown[]
  /** What our client has done, for the message where it stands still. */
  steps: string[]
  stop(): void
}

interface Place {
  url: string
  apiKey: string
  discussionId: string
}

const sseClient = ({ url, apiKey }: Place, singleConnection: boolean): SseClient<boolean> =>
  createClient({
    url: `${url}/graphql/stream`,
    singleConnection,
    headers: { 'x-api-key': apiKey },
    retryAttempts: Infinity,
    retry: () => pause(100 + Math.random() * 200),
  })

/** Subscribes so that each try resumes after the last event, as the guide has it. */
function resuming(client: SseClient<boolean>, request: RequestParams, sink: Sink<ExecutionResult>): () => void {
  const variables: Record<string, unknown> = { ...request.variables }
  return client.subscribe<Data>(
    { ...request, variables },
    {
      error: (error) => sink.error(error),
      complete: () => sink.complete(),
      next: (result) => {
        if (result.data != null) variables.lastEventId = String(result.data.discussionEvents.seq)
        sink.next(result as never)
      },
    },
  )
}

function follower(): Follower & { take(data: Data | null | undefined): void } {
  const seqs: number[] = []
  return {
    seqs,
    ends: [],
    steps: [],
    stop: () => undefined,
    take: (data) => void (data != null && seqs.push(data.discussionEvents.seq)),
  }
}

/** Has a client of urql subscribe; gives what ends that. */
const subscribeByUrql = (client: Client, own: ReturnType<typeof follower>, place: Place): (() => void) =>
  client.subscription<Data, Variables>(QUERY, begin(place)).subscribe(({ data, error, hasNext }) => {
    if (error !== undefined) own.ends.push(error)
    own.take(data)
    if (!hasNext) own.ends.push('complete')
  }).unsubscribe

const begin = ({ discussionId }: Place): Variables => ({ discussionId, lastEventId: '0' })

function followBySse(place: Place, singleConnection: boolean): Follower {
  const own = follower()
  const client = sseClient(place, singleConnection)
  resuming(
    client,
    { query: QUERY, variables: begin(place) },
    {
      next: ({ data }) => own.take(data as Data | null),
      error: (error) => own.ends.push(error),
      complete: () => own.ends.push('complete'),
    },
  )
  return { ...own, stop: () => client.dispose() }
}

function followByUrql(place: Place): Follower {
  const own = follower()
  const sse = sseClient(place, false)
  const client = new Client({
    url: `${place.url}/graphql`,
    preferGetMethod: false,
    exchanges: [
      subscriptionExchange({
        forwardSubscription: ({ query = '', variables }) => ({
          subscribe: (sink) => ({
            unsubscribe: resuming(sse, { query, variables: { ...variables } }, sink),
          }),
        }),
      }),
    ],
  })
  subscribeByUrql(client, own, place)
  return { ...own, stop: () => sse.dispose() }
}

/** urql's own exchange, which reads event streams from /graphql. */
function followByUrqlFetch(place: Place): Follower {
  const own = follower()
  const client = new Client({
    url: `${place.url}/graphql`,
    preferGetMethod: false,
    fetchSubscriptions: true,
    fetchOptions: { headers: { 'x-api-key': place.apiKey } },
    exchanges: [
      retryExchange({
        initialDelayMs: 100,
        maxDelayMs: 300,
        maxNumberAttempts: Infinity,
        retryWith: (error, operation): Operation | null => {
          if (error.networkError === undefined) return null
          return { ...operation, variables: { ...operation.variables, lastEventId: String(own.seqs.at(-1) ?? 0) } }
        },
      }),
      fetchExchange,
    ],
  })
  return { ...own, stop: subscribeByUrql(client, own, place) }
}

function followByApollo(place: Place): Follower {
  const own = follower()
  const sse = sseClient(place, false)
  const link = new ApolloLink(
    ({ query, variables }) =>
      new Observable((observer) =>
        resuming(sse, { query: print(query), variables }, observer as unknown as Sink<ExecutionResult>),
      ),
  )
  const client = new ApolloClient({ link, cache: new InMemoryCache() })
  const subscription = client
    .subscribe<Data, Variables>({ query: gql(QUERY), variables: begin(place), fetchPolicy: 'no-cache' })
    .subscribe({
      next: ({ data, error }) => {
        if (error !== undefined) own.ends.push(error)
        own.take(data)
      },
      error: (error) => own.ends.push(error),
      complete: () => own.ends.push('complete'),
    })
  return { ...own, stop: () => (subscription.unsubscribe(), client.stop(), sse.dispose()) }
}

/** Our own client, by itself and in the clients that it has adapters for. */
function ownClient({ url, apiKey }: Place, { steps }: Follower) {
  const note = (step: unknown): unknown => steps.push(`${new Date().toISOString()} ${String(step)}`)
  return createGraphqlClient({
    url: `${url}/graphql`,
    headers: { 'x-api-key': apiKey },
    onError: note,
    onState: note,
  })
}

const sinkOf = (own: ReturnType<typeof follower>): GraphqlSink<Data> => ({
  next: ({ data }) => own.take(data),
  error: (error) => own.ends.push(error),
  complete: () => own.ends.push('complete'),
})

function followByOwn(place: Place): Follower {
  const own = follower()
  const stop = ownClient(place, own).subscribe<Data>({ query: QUERY, variables: { ...begin(place) } }, sinkOf(own))
  return { ...own, stop }
}

function followByOwnApollo(place: Place): Follower {
  const own = follower()
  const client = new ApolloClient({ link: engagementLink(ownClient(place, own)), cache: new InMemoryCache() })
  const subscription = client
    .subscribe<Data, Variables>({ query: gql(QUERY), variables: begin(place), fetchPolicy: 'no-cache' })
    .subscribe({ ...sinkOf(own), next: ({ data }) => own.take(data) })
  return { ...own, stop: () => (subscription.unsubscribe(), client.stop()) }
}

function followByOwnUrql(place: Place): Follower {
  const own = follower()
  const exchanges = [engagementExchange(ownClient(place, own))]
  const client = new Client({ url: '/graphql', preferGetMethod: false, exchanges })
  return { ...own, stop: subscribeByUrql(client, own, place) }
}

function followByOwnRelay(place: Place): Follower {
  const own = follower()
  const params = { id: null, text: QUERY, name: 'Events', operationKind: 'subscription', metadata: {}, cacheID: '' }
  const observed = engagementNetwork(ownClient(place, own)).execute(params as never, { ...begin(place) }, {})
  const { unsubscribe } = observed.subscribe({
    next: (result) => own.take((result as { data: Data }).data),
    error: (error: Error) => void own.ends.push(error),
    complete: () => void own.ends.push('complete'),
  })
  return { ...own, stop: unsubscribe }
}

const CLIENTS: readonly [string, (place: Place) => Follower][] = [
  ['graphql-sse, distinct connections', (place) => followBySse(place, false)],
  ['graphql-sse, a single connection', (place) => followBySse(place, true)],
  ['urql with graphql-sse', followByUrql],
  ['urql by itself', followByUrqlFetch],
  ['Apollo Client with graphql-sse', followByApollo],
  ['our client', followByOwn],
  ['Apollo Client with our link', followByOwnApollo],
  ['urql with our exchange', followByOwnUrql],
  ['Relay with our network', followByOwnRelay],
]

describe('while each of three apis is stopped and started in turn', () => {
  const service = useProcesses({ api: 3, worker: 0, env: { DRAIN_SECONDS: '1' } })
  let balancers: Balancer[] = []

  beforeAll(async () => {
    const urls = service.apis.map(({ url }) => url)
    if (!onServer) return
    balancers = await Promise.all([
      ...(NGINX === undefined ? [] : [startShippedNginx(urls)]),
      ...(HAPROXY === undefined ? [] : [startHaproxy(urls)]),
    ])
  }, LONG)
  afterAll(() => Promise.all(balancers.map((balancer) => balancer.close())))

  test('GraphQL clients as they come get each event once and in order', { timeout: LONG }, async () => {
    const { id: discussionId } = (await service.call('POST', '/discussions', { body: { externalId: newId() } })).json
    const urls = balancers.length > 0 ? balancers.map(({ url }) => url) : service.apis.slice(0, 1).map(({ url }) => url)
    const follow = (url: string, name: string, open: (place: Place) => Follower) =>
      [1, 2, 3].map(() => ({ name: `${name} at ${url}`, ...open({ url, apiKey: service.apiKey, discussionId }) }))
    const followers = urls.flatMap((url) => CLIENTS.flatMap(([name, open]) => follow(url, name, open)))
    const writer = startWriter(discussionId)
    try {
      await vi.waitFor(() => expect(followers.every(({ seqs }) => seqs.length > 0)).toBe(true), { timeout: LATE_MS })
      for (let restart = 0; restart < RESTARTS; restart++) {
        for (const api of service.apis) {
          await api.stop()
          await pause(300)
          await api.start()
          await pause(1500)
        }
      }
      const all = await writer.stop()
      await vi.waitFor(
        () => {
          for (const { name, ends, seqs, steps } of followers)
            expect([name, ends, seqs], steps.slice(-20).join('\n')).toEqual([name, [], all])
        },
        { timeout: LATE_MS },
      )
    } finally {
      await writer.stop().catch(() => undefined)
      for (const { stop } of followers) stop()
    }
  })

  test(`a hundred pages with a single connection each get each event${withoutNginx}`, { timeout: LONG }, async () => {
    const { id: discussionId } = (await service.call('POST', '/discussions', { body: { externalId: newId() } })).json
    // Every request of a page goes to another process.
    const { url } = balancers[0] ?? first(service.apis)
    const place = { url, apiKey: service.apiKey, discussionId }
    const pages = Array.from({ length: PAGES }, () => followBySse(place, true))
    const writer = startWriter(discussionId)
    try {
      await vi.waitFor(() => expect(pages.filter(({ seqs }) => seqs.length === 0)).toEqual([]), { timeout: LATE_MS })
      const [stopped, killed] = service.apis
      await stopped?.stop()
      await stopped?.start()
      await pause(1500)
      if (onServer) {
        // The library takes an end for good that it reads together with an event.
        writer.isPaused = true
        await pause(500)
        await killed?.kill()
        writer.isPaused = false
        await killed?.start()
        await pause(1500)
      }
      const all = await writer.stop()
      await vi.waitFor(
        () => {
          for (const { ends, seqs } of pages) expect([ends, seqs]).toEqual([[], all])
        },
        { timeout: LATE_MS },
      )
    } finally {
      await writer.stop().catch(() => undefined)
      for (const { stop } of pages) stop()
    }
  })

  /** Writes comments until it is stopped, which returns the positions of their events. */
  function startWriter(discussionId: string) {
    let isOver = false
    let written = 0
    const post = async (headers: Record<string, string>): Promise<number> => {
      const api = service.apis.find(({ isRunning }) => isRunning) ?? first(service.apis)
      const path = `/discussions/${discussionId}/comments`
      return service.call('POST', path, { body: { body: 'Hello' }, headers, api }).then(
        ({ status }) => status,
        () => 0,
      )
    }
    const write = async (): Promise<void> => {
      const reader = await service.as('ada')
      while (!isOver) {
        const headers = { ...reader, 'idempotency-key': newId() }
        while ((await post(headers)) !== 201) await pause(50)
        written++
        do await pause(20)
        while (writer.isPaused && !isOver)
      }
    }
    const writer = {
      isPaused: false,
      async stop(): Promise<number[]> {
        isOver = true
        await writing
        return Array.from({ length: written }, (_, index) => index + 1)
      },
    }
    const writing = write()
    return writer
  }
})
