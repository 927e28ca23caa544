import type { Socket } from 'node:net'

import { Cluster, Command, Redis, type RedisOptions } from 'ioredis'

import { meansSentinels, sentinelsOf } from '../../core/settings/redis-url.ts'
import { guardData } from './guard.ts'

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
 * ioredis makes commands and connections of its own: to subscribe again, to select a database, to
 * read the slots of a cluster, to listen to sentinels. It catches some of their errors, and throws
 * others into the process. So each command of each connection is caught here; its caller, if there
 * is one, still gets the error. An answer that throws while it is read closes its connection.
 */
const { sendCommand } = Redis.prototype
Redis.prototype.sendCommand = function (this: Redis, command, stream) {
  command.promise.catch(ignore)
  // Only a connection that ioredis made for itself has no listener.
  if (this.listenerCount('error') === 0) this.on('error', ignore)
  const { stream: socket } = this as { stream: Socket | undefined }
  if (socket !== undefined) guardData(socket)
  return sendCommand.call(this, command, stream)
}

interface Redirecting {
  handleError(this: unknown, error: Error, ttl: object, handlers: { defaults(): void }): void
}

// A MOVED or ASK without an address would throw in the middle of other work.
const redirecting = Cluster.prototype as unknown as Redirecting
const { handleError } = redirecting
redirecting.handleError = function (error, ttl, handlers) {
  try {
    handleError.call(this, error, ttl, handlers)
  } catch {
    handlers.defaults()
  }
}

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
    (value.every((each) => Array.isArray(each) && each.every(isText)) ||
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
    if (isAnswer(value)) return value
    throw new Error(`Redis answers ${name.toUpperCase()} with what is no such answer`)
  })
}

const isCluster = (urls: readonly string[]): boolean => urls.length > 1

/**
 * A connection that reconnects by itself. `name` decides what happens to a command that Redis does
 * not answer.
 */
export function connect(
  urls: readonly string[],
  name: 'publisher' | 'subscriber' | 'limits' | 'places',
): Redis | Cluster {
  // A repeated count would be counted twice, and callers wait only briefly.
  const inTime =
    name === 'limits' || name === 'places'
      ? { maxRetriesPerRequest: 0, autoResendUnfulfilledCommands: false, commandTimeout: 500, socketTimeout: 2000 }
      : { socketTimeout: SILENCE_MS }
  const options = {
    connectionName: `engagement-${name}`,
    connectTimeout: SILENCE_MS,
    // Messages are never queued: after an outage they would be late and out of order.
    enableOfflineQueue: false,
    // The check is an INFO, which finds a server that is no primary any more. Redis refuses it
    // after a SUBSCRIBE, and ioredis writes to standard error where a user may not send it.
    enableReadyCheck: name !== 'subscriber' && meansSentinels(urls[0] ?? ''),
    // ioredis drops a subscription that is refused. The bus asks again.
    autoResubscribe: false,
    maxRetriesPerRequest: null,
    ...inTime,
  }
  if (isCluster(urls)) {
    return new Cluster([...urls], {
      shardedSubscribers: true,
      enableOfflineQueue: options.enableOfflineQueue,
      clusterRetryStrategy: (attempt) => Math.min(PAUSE_MS.first * attempt, PAUSE_MS.most),
      slotsRefreshInterval: SLOTS_MS,
      redisOptions: { ...inTime, connectTimeout: SILENCE_MS },
    })
  }
  const pauses = new Pauses()
  return keepConnecting(open(urls, { ...options, retryStrategy: () => pauses.next() }), pauses)
}

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

/** Goes on where ioredis gives up a connection, or uses one that it could not prepare. */
function keepConnecting(client: Redis, pauses: Pauses): Redis {
  let isClosed = false
  const { disconnect } = client
  client.disconnect = (reconnect = false) => {
    isClosed ||= !reconnect
    disconnect.call(client, reconnect)
  }
  // Its sentinels answered while the connection was being replaced, for instance.
  client.on('end', () => {
    if (isClosed) return
    setTimeout(() => {
      if (!isClosed) client.connect().catch(ignore)
    }, pauses.next()).unref()
  })
  client.on('error', (error: Error & { command?: { name: string } }) => {
    // It would go on in database 0, where other keys are.
    if (error.command?.name === 'select') client.disconnect(true)
  })
  return client
}

/** The Redis at an address, or the primary that sentinels name. */
function open([url = '']: readonly string[], options: RedisOptions): Redis {
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
