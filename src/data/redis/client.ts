import { Cluster, Command, Redis, type RedisOptions } from 'ioredis'
import dataHandler from 'ioredis/built/DataHandler.js'

import { meansSentinels, sentinelsOf } from '../../core/settings/redis-url.ts'

/** A connection without an answer for this long is closed. */
const SILENCE_MS = 3000

/** How often a cluster client asks which node serves which slots. */
const SLOTS_MS = 2000

/** The pause before a connection is opened again, doubled with each attempt that fails. */
const PAUSE_MS = { first: 50, most: 1000 }

/** A connection that has lasted this long was a good one: the next pause is the first again. */
const STEADY_MS = 5000

const ignore = (): void => undefined

/**
 * ioredis makes commands and connections of its own: to ask a node of a cluster, to listen to
 * sentinels. Nothing catches the errors of some of them. So each command of each connection is
 * caught here; its caller, if there is one, still gets the error.
 */
const { sendCommand } = Redis.prototype
Redis.prototype.sendCommand = function (this: Redis, command, stream) {
  command.promise.catch(ignore)
  // Only a connection that ioredis made for itself has no listener.
  if (this.listenerCount('error') === 0) this.on('error', ignore)
  return sendCommand.call(this, command, stream)
}

interface Handler {
  prototype: { dispatch(handle: () => void): void }
}

/**
 * An answer of a form that ioredis does not expect throws while ioredis handles it. ioredis throws
 * the error again where nothing can catch it, and the process would end. Thrown at once, the error
 * closes the connection, as bytes do that are no RESP.
 */
const module = dataHandler as unknown as Handler & { default?: Handler }
const { prototype: handler } = module.default ?? module
handler.dispatch = (handle) => handle()

const isText = (value: unknown): boolean => typeof value === 'string'
const isPort = (value: unknown): boolean => /^\d{1,5}$/.test(String(value)) && Number(value) < 65_536

/** `[first slot, last slot, [host, port, …], …]` */
const isSlots = (value: unknown): boolean =>
  Array.isArray(value) &&
  value.slice(0, 2).every((slot) => Number.isInteger(slot) && slot >= 0 && slot < 16_384) &&
  value.length > 2 &&
  value
    .slice(2)
    .every((node: unknown) => Array.isArray(node) && (node[0] === null || isText(node[0])) && isPort(node[1]))

/** An address, or one list of names and values for each sentinel. */
const isSentinelAnswer = (value: unknown): boolean =>
  value === null ||
  (Array.isArray(value) &&
    (value.every((each) => Array.isArray(each) && each.length > 0 && each.every(isText)) ||
      (value.length === 2 && isText(value[0]) && isPort(value[1]))))

// ioredis reads these answers in callbacks, and what they throw ends the process. An answer that
// is refused here fails its command instead.
const ANSWERS = {
  info: isText,
  cluster: (value: unknown) => isText(value) || (Array.isArray(value) && value.every(isSlots)),
  sentinel: isSentinelAnswer,
}
for (const [name, isAnswer] of Object.entries(ANSWERS)) {
  Command.setReplyTransformer(name, (value: unknown) => {
    // An empty list in place of an address would be a connection to nowhere, which never fails.
    if (isAnswer(value)) return name === 'sentinel' && Array.isArray(value) && value.length === 0 ? null : value
    throw new Error(`Redis answers ${name.toUpperCase()} with what is no such answer`)
  })
}

const isCluster = (urls: readonly string[]): boolean => urls.length > 1

// Messages are never queued: after an outage they would be late and out of order.
const UNQUEUED = { enableOfflineQueue: false }

/** What both ends of the bus have in common. */
const BUS = {
  // Nothing that the service asks has another answer in RESP3. A user needs no HELLO.
  protocol: 2,
  connectTimeout: SILENCE_MS,
  socketTimeout: SILENCE_MS,
  maxRetriesPerRequest: null,
} as const

const LISTENING = {
  ...BUS,
  ...UNQUEUED,
  enableReadyCheck: false,
  connectionName: 'engagement-subscriber',
  // ioredis drops a subscription that is refused. The bus asks again.
  autoResubscribe: false,
}

// A repeated count would be counted twice, and callers wait only briefly.
const COUNTING = {
  ...BUS,
  socketTimeout: 2000,
  commandTimeout: 500,
  maxRetriesPerRequest: 0,
  autoResendUnfulfilledCommands: false,
}

/**
 * A connection that reconnects by itself. `name` decides what happens to a command that Redis does
 * not answer.
 */
export function connect(urls: readonly string[], name: 'publisher' | 'limits' | 'places'): Redis | Cluster {
  const options = { ...(name === 'publisher' ? BUS : COUNTING), connectionName: `engagement-${name}` }
  if (!isCluster(urls)) {
    // The check is an INFO, which finds a server that is no primary any more.
    const enableReadyCheck = meansSentinels(urls[0] ?? '')
    return keepConnecting((retryStrategy) => open(urls, { ...options, ...UNQUEUED, enableReadyCheck, retryStrategy }))
  }
  const { commandTimeout = SILENCE_MS } = options as RedisOptions
  return new Cluster([...urls], {
    ...UNQUEUED,
    clusterRetryStrategy: (attempt) => Math.min(PAUSE_MS.first * attempt, PAUSE_MS.most),
    slotsRefreshInterval: SLOTS_MS,
    // A command whose redirection cannot be read is settled by its time alone. An INFO with such an
    // answer would end the process, so a node is not checked: what it refuses while it loads its
    // data says so.
    redisOptions: { ...options, commandTimeout, enableReadyCheck: false },
  })
}
/** The connection that receives the messages of a single Redis. */
export const listen = (urls: readonly string[]): Redis =>
  // Redis refuses the INFO of a check after a SUBSCRIBE, and ioredis writes to standard error where
  // a user may not send it.
  keepConnecting((retryStrategy) => open(urls, { ...LISTENING, retryStrategy }))

/** The connection that receives those of a node of a cluster, with the credentials of `peer`. */
export const listenAt = (peer: Redis, host: string, port: number): Redis =>
  keepConnecting((retryStrategy) => peer.duplicate({ ...LISTENING, host, port, lazyConnect: false, retryStrategy }))

/** The pauses of one connection. ioredis begins again with each that is open for an instant. */
class Pauses {
  #ms = PAUSE_MS.first
  #triedAt = performance.now()

  next(): number {
    if (performance.now() - this.#triedAt > STEADY_MS) this.#ms = PAUSE_MS.first
    const ms = this.#ms
    this.#triedAt = performance.now() + ms
    this.#ms = Math.min(ms * 2, PAUSE_MS.most)
    return ms
  }
}

const closed = new WeakSet<Redis | Cluster>()

/** Closes for good. */
export function close(client: Redis | Cluster): void {
  closed.add(client)
  client.disconnect()
}

/** Goes on where ioredis gives up a connection, or uses one that it could not prepare. */
function keepConnecting(make: (retryStrategy: () => number) => Redis): Redis {
  const pauses = new Pauses()
  const client = make(() => pauses.next())
  // Its sentinels answered while the connection was being replaced, for instance.
  client.on('end', () => {
    if (closed.has(client)) return
    setTimeout(() => {
      if (!closed.has(client)) client.connect().catch(ignore)
    }, pauses.next()).unref()
  })
  client.on('error', (error: Error & { command?: { name: string } }) => {
    // It would go on in database 0, where other keys are.
    if (error.command?.name === 'select') client.disconnect(true)
  })
  return client
}

/** The Redis at an address, or the primary that sentinels name. */
function open([url = '']: readonly string[], options: Omit<RedisOptions, 'replyMapping'>): Redis {
  const sentinels = sentinelsOf(url)
  if (sentinels === null) return new Redis(url, options)
  const { hosts, isTls, ...credentials } = sentinels
  return new Redis({
    ...options,
    ...credentials,
    sentinels: hosts,
    ...(isTls && { tls: {}, sentinelTLS: {}, enableTLSForSentinelMode: true }),
    sentinelRetryStrategy: (attempt) => options.retryStrategy?.(attempt),
    sentinelCommandTimeout: SILENCE_MS,
    // Reconnects at a failover, even while the connection to the old primary is open.
    failoverDetector: true,
  })
}

/** The version of Redis, from any node of a cluster. Rejects if none answers within `withinMs`. */
export async function redisVersion(urls: readonly string[], withinMs: number): Promise<string> {
  const client = open(urls, {
    protocol: 2,
    lazyConnect: true,
    connectTimeout: withinMs,
    commandTimeout: withinMs,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  })
  // The waiting call rejects with this error.
  let cause: Error | undefined
  client.on('error', (error) => (cause = error))
  try {
    await client.connect()
    return /redis_version:(\S+)/.exec(await client.info('server'))?.[1] ?? 'unknown'
  } catch (error) {
    throw cause ?? error
  } finally {
    client.disconnect()
  }
}
