// GraphQL from a page or an app: `import { createGraphqlClient } from 'engagement-service/graphql'`.
// It renews the client token, and its subscriptions go on after their last event by themselves.
// Adapters for Apollo Client, urql and Relay are beside it.
import { follow } from './follow.ts'
import { share } from './tabs.ts'

type Awaitable<T> = T | Promise<T>

/** The answer of `POST /api/v1/client-tokens`, as the page's backend passes it on. */
export interface ClientToken {
  token: string
  /** When it expires, as an ISO 8601 date. */
  expiresAt: string
  /** The reader it acts for; null without one. */
  readerId?: string | null
}

/** A request of "GraphQL over HTTP". */
export interface GraphqlRequest {
  query?: string | undefined
  /** Instead of `query`: the id of a document that the service knows. */
  documentId?: string | undefined
  operationName?: string | undefined
  variables?: Readonly<Record<string, unknown>> | undefined
  extensions?: Readonly<Record<string, unknown>> | undefined
}

export interface GraphqlResult<Data = Record<string, unknown>> {
  data?: Data | null
  errors?: readonly { readonly message: string; readonly extensions?: Readonly<Record<string, unknown>> }[]
  extensions?: Record<string, unknown>
}

/** What gets the results of a subscription. */
export interface GraphqlSink<Data = Record<string, unknown>> {
  next: (result: GraphqlResult<Data>) => unknown
  /** The subscription was refused, and trying again is useless. */
  error: (error: unknown) => unknown
  /** It is over, after a result with errors that says why. */
  complete: () => unknown
}

export interface GraphqlClientOptions {
  /** The address of `/graphql`. */
  url: string
  /**
   * Requests a client token from the page's own backend: at first, before the token expires, and
   * when it was refused. Without it `headers` has the credential.
   */
  token?: (() => Awaitable<ClientToken>) | undefined
  /** Further headers of each request. */
  headers?: Readonly<Record<string, string>> | undefined
  /**
   * A subscription's `lastEventId` is older than the replay window: the page must load its data
   * again, and return the `lastEventId` that they show, from which the subscription goes on. Without
   * it the subscription ends with that error.
   */
  reload?: ((request: GraphqlRequest) => Awaitable<string>) | undefined
  /** Whether the tabs of a browser share one connection for each subscription. False by default. */
  share?: boolean | undefined
  /** Called when a subscription is connecting, also again, and when it is open. */
  onState?: ((state: 'connecting' | 'open', request: GraphqlRequest) => unknown) | undefined
  /** Called with each failure after which a subscription tries again; `console.warn` by default. */
  onError?: ((error: unknown) => unknown) | undefined
  /** By default that of the page; Expo has one of its own, which can read streams. */
  fetch?: typeof fetch | undefined
}

export interface GraphqlClient {
  /** As the page's, with the token, which is renewed if it was refused. For clients with a `fetch`. */
  readonly fetch: typeof fetch
  /** Runs a query or a mutation. Rejects where no answer of GraphQL comes. */
  query: <Data = Record<string, unknown>>(request: GraphqlRequest, signal?: AbortSignal) => Promise<GraphqlResult<Data>>
  /**
   * Subscribes. It connects again after each loss, with the `seq` of the last event as the variable
   * `lastEventId`, so select `seq`, and give `lastEventId` of the page's discussion at first. Each
   * event comes once and in order. Returns a function that ends it for good.
   */
  subscribe: <Data = Record<string, unknown>>(request: GraphqlRequest, sink: GraphqlSink<Data>) => () => void
  /** The results of a subscription one by one. Leaving the loop ends it. */
  iterate: <Data = Record<string, unknown>>(request: GraphqlRequest) => AsyncGenerator<GraphqlResult<Data>, void, void>
}

/** A token that has less left is renewed before it is used. */
const RENEW_MS = 30_000
const ACCEPT = 'application/graphql-response+json, application/json;q=0.9'

/** A client of the GraphQL of an Engagement Service. */
export function createGraphqlClient(options: GraphqlClientOptions): GraphqlClient {
  const { url, headers, fetch: send = (...given) => fetch(...given) } = options
  let token: Promise<ClientToken> | undefined

  /** The token to use; another one than `refused`. */
  const tokenOf = async (refused?: string): Promise<ClientToken | undefined> => {
    if (options.token === undefined) return undefined
    const last = token
    const kept = await last?.catch(() => undefined)
    const isFresh = kept !== undefined && Date.parse(kept.expiresAt) - Date.now() > RENEW_MS
    // Another request may have renewed it meanwhile.
    if (token === last && (!isFresh || kept.token === refused)) token = Promise.resolve(options.token())
    return token
  }
  const authorised: typeof fetch = async (input, init) => {
    const sendWith = async (used: ClientToken | undefined): Promise<Response> => {
      const all = new Headers(init?.headers)
      for (const [name, value] of Object.entries(headers ?? {})) all.set(name, value)
      if (used !== undefined) all.set('authorization', `Bearer ${used.token}`)
      return send(input, { ...init, headers: all })
    }
    const used = await tokenOf()
    const answer = await sendWith(used)
    return answer.status === 401 && used !== undefined ? sendWith(await tokenOf(used.token)) : answer
  }
  const post = (to: string, accept: string, request: GraphqlRequest, signal?: AbortSignal): Promise<Response> =>
    authorised(to, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept },
      body: JSON.stringify(request),
      signal: signal ?? null,
    })

  const query: GraphqlClient['query'] = async (request, signal) => {
    const answer = await post(url, ACCEPT, request, signal)
    // A proxy may answer with a page.
    if (!/json/.test(answer.headers.get('content-type') ?? '')) throw new Error(`status ${answer.status}`)
    return (await answer.json()) as never
  }
  const connect = (request: GraphqlRequest, signal: AbortSignal): Promise<Response> =>
    post(`${url}/stream`, 'text/event-stream', request, signal)
  const own = (request: GraphqlRequest, sink: GraphqlSink): (() => void) => follow(connect, options, request, sink)
  const subscribe: GraphqlClient['subscribe'] = (request, sink) => {
    const given = sink as unknown as GraphqlSink
    if (options.share !== true || request.variables?.lastEventId === undefined) return own(request, given)
    return share(own, async () => `${url} ${(await tokenOf())?.readerId ?? ''}`, request, given)
  }

  return {
    fetch: authorised,
    query,
    subscribe,
    async *iterate<Data>(request: GraphqlRequest) {
      const waiting: GraphqlResult<Data>[] = []
      let end: { error?: unknown } | undefined
      let wake: () => void = () => undefined
      const stop = subscribe<Data>(request, {
        next: (result) => (waiting.push(result), wake()),
        error: (error) => ((end = { error }), wake()),
        complete: () => ((end = {}), wake()),
      })
      try {
        for (;;) {
          const result = waiting.shift()
          if (result !== undefined) yield result
          else if (end === undefined) await new Promise<void>((resolve) => (wake = resolve))
          else if ('error' in end) throw end.error
          else return
        }
      } finally {
        stop()
      }
    },
  }
}
