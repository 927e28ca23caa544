import type { GraphqlClientOptions, GraphqlRequest, GraphqlResult, GraphqlSink } from './types.ts'

const FIRST_BACKOFF_MS = 1000
/**
 * A reader waits at most this long once the service is back. An attempt costs only the service,
 * which may ask for more time by Retry-After; the browser's own EventSource comes after 2 to 5 s.
 */
const MAX_BACKOFF_MS = 10_000
/** A connection that has lasted this long was no failure. */
const STEADY_MS = 10_000
/** The service sends a heartbeat once a minute at least: a longer silence is a dead connection. */
const SILENCE_MS = 75_000
const LOOK_MS = 5000
/** The longest wait that a proxy or the service may ask for. */
const MAX_WAIT_MS = 300_000

type Connect = (request: GraphqlRequest, signal: AbortSignal) => Promise<Response>
interface Options extends Pick<GraphqlClientOptions, 'token' | 'reload' | 'onState' | 'onError'> {
  /** Settles when the page's requests of this moment are answered. */
  answered: () => Promise<void>
  /** Returns what tells whether the token of this moment is about to expire. */
  watchToken: () => () => boolean
}

export interface FollowSink extends GraphqlSink {
  /** The subscription goes on from this position, to which the page has loaded its data again. */
  reloaded?: (position: number) => unknown
  /** In the place of the client's own `onState`. */
  state?: GraphqlClientOptions['onState']
  /** All events up to this position have come; the last of them are not for this page. */
  passed?: (position: number) => unknown
  /**
   * The service knows the position. The first heartbeat does not tell it: the service sends that
   * before it looks.
   */
  alive?: () => unknown
  /** The service does not know the position: the page loads its data again. */
  unknown?: () => unknown
  /** The service has refused the connection over a cap. */
  refused?: () => unknown
  /** Called before an accepted connection is read. If it rejects, the connection is lost. */
  accepted?: () => Promise<unknown>
}

/** What the sink's `error` gets: no other try will have another answer. */
class RefusedError extends Error {}

/** The position after a result: the `seq` of its event; undefined where that is not selected. */
export function positionOf({ data }: GraphqlResult): number | undefined {
  const fields = Object.values(data ?? {}) as ({ seq?: unknown } | null)[]
  return fields.map((field) => field?.seq).find((seq) => typeof seq === 'number')
}

const isTooOld = ({ errors = [] }: GraphqlResult): boolean => JSON.stringify(errors).includes('"not_replayable"')

/**
 * Follows one subscription, by one connection after another, each from the last event on. Returns a
 * function that ends it.
 */
export function follow(connect: Connect, options: Options, request: GraphqlRequest, sink: FollowSink): () => void {
  const { token, reload, onError = console.warn, answered, watchToken } = options
  const { state: onState = options.onState } = sink
  const control = new AbortController()
  const { signal } = control
  let position = (request.variables?.lastEventId ?? undefined) as string | number | undefined
  let failures = 0
  let waitMs = 0
  /** Ends the connection, or the wait for the next one. */
  let wake: () => void = () => undefined

  const call = (callback: () => unknown, fail: (error: unknown) => void = report): void => {
    try {
      Promise.resolve(callback()).catch(fail)
    } catch (error) {
      fail(error)
    }
  }
  const report = (error: unknown): void =>
    // If that fails too, nobody is left to report it to.
    call(
      () => onError(error),
      () => undefined,
    )
  /** Passes a result on. Returns whether the connection is still of use. */
  const hear = async (result: GraphqlResult): Promise<boolean> => {
    if (reload !== undefined && isTooOld(result)) {
      sink.unknown?.()
      position = await reload(request)
      if (!signal.aborted) sink.reloaded?.(Number(position))
      return false
    }
    const seq = positionOf(result)
    if (seq !== undefined && seq <= Number(position)) return true
    position = seq ?? position
    // An answer may be older than an event that overtakes it. The page's cache gets the event last.
    await answered()
    if (signal.aborted) return true
    call(() => sink.next(result))
    return true
  }
  /** Whether trying again may help. A token can be replaced; other credentials stay as they are. */
  const isPassing = (status: number): boolean =>
    status >= 500 || [408, 425, 429].includes(status) || (status === 401 && token !== undefined)

  /** Returns whether the subscription is over. Throws if the connection was lost. */
  const run = async (): Promise<boolean> => {
    const connection = new AbortController()
    let heardAt = Date.now()
    wake = () => connection.abort()
    // By the clock: timers stand still while a machine sleeps.
    const look = setInterval(() => Date.now() - heardAt > SILENCE_MS && wake(), LOOK_MS)
    try {
      call(() => onState?.('connecting', request))
      const variables =
        position === undefined ? request.variables : { ...request.variables, lastEventId: `${position}` }
      const answer = await connect({ ...request, variables }, connection.signal)
      if (!answer.ok) {
        const reason = `status ${answer.status}: ${await answer.text()}`
        if (!isPassing(answer.status)) throw new RefusedError(reason)
        if (answer.status === 429) sink.refused?.()
        waitMs = Math.min(MAX_WAIT_MS, 1000 * Number(answer.headers.get('retry-after')) || 0)
        throw new Error(reason)
      }
      await sink.accepted?.()
      if (signal.aborted) return true
      call(() => onState?.('open', request))
      const openedAt = Date.now()
      const isExpiring = watchToken()
      let isFirst = true
      for await (const [name, data, seq] of frames(answer)) {
        heardAt = Date.now()
        if (signal.aborted || name === 'complete') return true
        if (name === 'next' && !(await hear(JSON.parse(data) as GraphqlResult))) return false
        if (!signal.aborted && !(isFirst && name === '' && seq === 0)) sink.alive?.()
        isFirst = false
        if (seq > Number(position)) {
          position = seq
          sink.passed?.(seq)
        }
        // The service may accept a connection, and break it off before its first event.
        if (name === 'next' || Date.now() - openedAt > STEADY_MS) failures = 0
        // The service would cut it off, which is a failure to the browser.
        if (isExpiring()) return false
      }
      throw new Error('the subscription was lost')
    } finally {
      clearInterval(look)
      connection.abort()
    }
  }
  const go = async (): Promise<void> => {
    for (;;) {
      try {
        if (await run()) return signal.aborted ? undefined : call(() => sink.complete())
      } catch (error) {
        if (signal.aborted) return
        if (error instanceof RefusedError) return call(() => sink.error(error))
        report(error)
      }
      const backoffMs = Math.random() * Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** failures++)
      // Many clients were told to wait for as long.
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, waitMs + backoffMs)
        wake = () => resolve(clearTimeout(timer))
      })
      waitMs = 0
      if (signal.aborted) return
    }
  }
  const end = (): void => control.abort()
  signal.addEventListener('abort', () => wake())
  // There is a network again, perhaps another one. An app has no such event.
  const page = globalThis as Partial<Pick<typeof globalThis, 'addEventListener'>>
  page.addEventListener?.('online', () => wake(), { signal })
  void go().finally(end)
  return end
}

/**
 * The events of an answer, by name and data, or the position that a comment tells. A heartbeat has
 * nothing.
 */
async function* frames({ body }: Response): AsyncGenerator<[name: string, data: string, seq: number], void, void> {
  const reader = (body as ReadableStream<Uint8Array>).getReader()
  const decoder = new TextDecoder()
  let text = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    text += decoder.decode(value, { stream: true })
    const complete = text.split('\n\n')
    text = complete.pop() ?? ''
    for (const frame of complete) {
      // Only line feeds end a line: a text may have U+2028, which would end one for a pattern.
      const field = (name: string): string => `\n${frame}`.split(`\n${name}: `)[1]?.split('\n')[0] ?? ''
      yield [field('event'), field('data'), Number(field(':seq'))]
    }
  }
}
