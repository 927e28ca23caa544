// GraphQL from a page or an app: `import { createGraphqlClient } from
// 'engagement-service/graphql'`. It renews the client token, and its subscriptions go on after
// their last event by themselves.
// Adapters for Apollo Client, urql and Relay are beside it.
import { follow, type FollowSink } from './follow.ts'
import type {
  ClientToken,
  GraphqlClient,
  GraphqlClientOptions,
  GraphqlRequest,
  GraphqlResult,
  GraphqlSink,
} from './types.ts'

export type {
  ClientToken,
  GraphqlClient,
  GraphqlClientOptions,
  GraphqlRequest,
  GraphqlResult,
  GraphqlSink,
} from './types.ts'

/** A token that has less left is renewed before it is used. */
const RENEW_MS = 30_000
/**
 * A request that may be repeated waits for half of this to all of it, then twice as long, up to the
 * last.
 */
const FIRST_WAIT_MS = 1000
const LAST_WAIT_MS = 8000
/** How long an event waits for answers that it has overtaken. */
const ANSWER_MS = 10_000
const ACCEPT = 'application/graphql-response+json, application/json;q=0.9'

const waited = (ms: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve, reject) => {
    const end = (): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      if (signal?.aborted) reject(signal.reason as Error)
      else resolve()
    }
    const timer = setTimeout(end, ms)
    signal?.addEventListener('abort', end)
    if (signal?.aborted) end()
  })

/** Whether it has the same effect when it is sent twice. */
const isRepeatable = ({ kind, query, headers }: GraphqlRequest): boolean =>
  new Headers(headers).has('idempotency-key') ||
  (kind === undefined ? query !== undefined && !/\bmutation\b/.test(query) : kind === 'query')

/** The body of an answer. A proxy may answer with a page. */
const resultOf = (answer: Response): Promise<unknown> => {
  if (!/json/.test(answer.headers.get('content-type') ?? '')) throw new Error(`status ${answer.status}`)
  return answer.json()
}

/** A client of the GraphQL of an Engagement Service. */
export function createGraphqlClient(options: GraphqlClientOptions): GraphqlClient {
  const { url, headers, fetch: send = (...given) => fetch(...given) } = options
  let token: Promise<ClientToken> | undefined
  /** One that looked old when it came: the page's clock is fast, or its backend keeps tokens. */
  let old: string | undefined
  let latest: ClientToken | undefined

  const isNew = ({ expiresAt }: ClientToken): boolean => Date.parse(expiresAt) - Date.now() > RENEW_MS
  const renewed = async (from: NonNullable<typeof options.token>): Promise<ClientToken> => {
    try {
      latest = await from()
    } catch (cause) {
      throw new Error(`the token route failed: ${String(cause)}`, { cause })
    }
    old = isNew(latest) ? undefined : latest.token
    return latest
  }
  const watchToken = (): (() => boolean) => {
    const used = latest
    return () => used !== undefined && used.token !== old && !isNew(used)
  }

  /** The token to use; another one than `refused`. */
  const tokenOf = async (refused?: string): Promise<ClientToken | undefined> => {
    if (options.token === undefined) return undefined
    const last = token
    const kept = await last?.catch(() => undefined)
    const isFresh = kept !== undefined && (isNew(kept) || kept.token === old)
    // Another request may have renewed it meanwhile.
    if (token === last && (!isFresh || kept.token === refused)) token = renewed(options.token)
    return token
  }
  const { site, identity, headerPrefix = 'X-Service-' } = options
  const ofSite = site === undefined ? {} : { [`${headerPrefix}Site`]: site }
  const bearerOf = async (refused?: string): Promise<string | undefined> =>
    identity === undefined ? (await tokenOf(refused))?.token : ((await identity(refused !== undefined)) ?? undefined)
  const authorised: typeof fetch = async (input, init) => {
    const sendWith = async (used: string | undefined): Promise<Response> => {
      const all = new Headers(init?.headers)
      const own = used && { authorization: `Bearer ${used}` }
      for (const [name, value] of Object.entries({ ...headers, ...ofSite, ...own })) all.set(name, value)
      return send(input, { ...init, headers: all })
    }
    const used = await bearerOf()
    const answer = await sendWith(used)
    if (answer.status !== 401 || used === undefined) return answer
    // Its connection is free for others.
    await answer.body?.cancel().catch(() => undefined)
    return sendWith(await bearerOf(used))
  }
  const post = (
    to: string,
    accept: string,
    { headers: own, ...request }: GraphqlRequest,
    signal?: AbortSignal,
  ): Promise<Response> =>
    authorised(to, {
      method: 'POST',
      headers: { ...own, 'content-type': 'application/json', accept },
      body: JSON.stringify({ ...request, kind: undefined }),
      signal: signal ?? null,
    })

  /** `pause` waits before the request is sent again. */
  const ask = async (
    request: GraphqlRequest,
    signal: AbortSignal | undefined,
    pause: (ms: number) => Promise<void>,
  ): Promise<unknown> => {
    for (let stepMs = FIRST_WAIT_MS; ; stepMs *= 2) {
      const isLast = stepMs > LAST_WAIT_MS || !isRepeatable(request)
      let askedMs = 0
      try {
        const answer = await post(url, ACCEPT, request, signal)
        if (isLast || ![409, 502, 503, 504].includes(answer.status)) return await resultOf(answer)
        askedMs = Math.min(LAST_WAIT_MS, 1000 * Number(answer.headers.get('retry-after')) || 0)
        if (answer.status === 409) {
          const result = await resultOf(answer)
          // The first try, whose connection was lost, is still at work.
          if (!JSON.stringify(result).includes('"idempotency_in_progress"')) return result
        } else await answer.body?.cancel()
      } catch (error) {
        // The token route has an error of its own.
        if (isLast || !(error instanceof TypeError)) throw error
      }
      await pause(askedMs + (stepMs * (1 + Math.random())) / 2)
    }
  }
  /** Requests that are under way: each until it is answered, or waits to be sent again. */
  const open = new Set<Promise<unknown>>()
  const query: GraphqlClient['query'] = (request, signal) => {
    let stop = (): void => undefined
    const start = (): void => {
      const sent = new Promise<void>((resolve) => {
        stop = () => resolve(void open.delete(sent))
      })
      open.add(sent)
    }
    start()
    const answer = ask(request, signal, (ms) => {
      stop()
      return waited(ms, signal).then(start)
    })
    // Events wait for open requests. `finally` would end that before the page has the answer.
    answer.then(
      () => stop(),
      () => stop(),
    )
    return answer as never
  }
  const answered = async (): Promise<void> => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const enough = new Promise((resolve) => (timer = setTimeout(resolve, ANSWER_MS)))
    await Promise.race([Promise.allSettled(open), enough])
    clearTimeout(timer)
  }
  const connect = (request: GraphqlRequest, signal: AbortSignal): Promise<Response> =>
    post(`${url}/stream`, 'text/event-stream', request, signal)
  const own = (request: GraphqlRequest, sink: FollowSink): (() => void) =>
    follow(connect, { ...options, answered, watchToken }, request, sink)
  /** Of tabs with the same name; undefined where this client does not know for whom it asks. */
  const nameOf = async (): Promise<string | undefined> => {
    if (identity !== undefined) return undefined
    const reader = options.token === undefined ? null : (await tokenOf())?.readerId
    return reader === undefined ? undefined : JSON.stringify([url, headers, site, reader])
  }
  /** What another tab tells waits for this page's answers too. */
  const inTurn = (sink: GraphqlSink, signal: AbortSignal): GraphqlSink => {
    let last: Promise<unknown> = Promise.resolve()
    const tell = (action: () => unknown): Promise<unknown> =>
      Promise.resolve()
        .then(action)
        .catch((error: unknown) => (options.onError ?? console.warn)(error))
        // If that fails too, nobody is left to report it to.
        .catch(() => undefined)
    const later = (action: () => unknown): unknown =>
      (last = last.then(answered).then(() => void (signal.aborted || tell(action))))
    return {
      next: (result) => later(() => sink.next(result)),
      error: (error) => later(() => sink.error(error)),
      complete: () => later(() => sink.complete()),
    }
  }
  const subscribe: GraphqlClient['subscribe'] = (request, sink) => {
    const given = sink as unknown as GraphqlSink
    if (options.share !== true || request.variables?.lastEventId == null) return own(request, given)
    const control = new AbortController()
    const { signal } = control
    const begin = async (): Promise<void> => {
      // A file of its own: few pages share.
      const tabs = await import('./tabs.ts').catch(() => undefined)
      if (signal.aborted) return
      const { onState: state, onError } = options
      const end = tabs
        ? tabs.share(own, nameOf, request, { ...inTurn(given, signal), state, onError })
        : own(request, given)
      signal.addEventListener('abort', end)
    }
    void begin()
    return () => control.abort()
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
