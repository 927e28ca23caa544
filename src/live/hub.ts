import type { Logger } from 'pino'
import type { Registry } from 'prom-client'

import { inBatches } from '../core/queues/batches.ts'
import type { Bus } from '../core/bus.ts'
import { perApp } from '../core/app.ts'
import { ServiceError } from '../core/errors.ts'
import { metricsOf } from '../core/telemetry/metrics.ts'
import { followCacheNews } from '../core/read-cache.ts'
import type { StreamViewer } from './viewer.ts'
import { databaseLog, type EventLog, type DiscussionKey, type Head } from './event-log.ts'
import { type CutReason, StreamMetrics } from './metrics.ts'
import { type Pause, WritePause } from './streams/pause.ts'
import type { RingBudget } from './ring.ts'
import type { Seat, Stream } from './seat.ts'
import { Sessions } from './sessions.ts'
import {
  type Credential,
  nameOf as nameOfCredential,
  type LiveCredential,
  partsOf,
  readLiveCredentials,
} from './credentials.ts'
import { Topic } from './topic.ts'

/** How far back a stream may replay (docs/reference/choices/streams.md; a tenant setting). */
export interface ReplayWindow {
  replayHours: number
  replayEvents: number
}

export interface JoinRequest extends DiscussionKey {
  viewer: StreamViewer
  /** Resume after this position, as the client sent it; null starts with the next event. */
  lastEventId: string | null
  window: ReplayWindow
  /** Who sits down. It is ended if the discussion is deleted. */
  stream: Stream
}

/** Where a stream begins: its position, and the replay before it is live. */
export interface Beginning {
  seat: Seat
  lastEventId: string
  /** How many events visible to the viewer are replayed. */
  replayed: number
  /**
   * False where the requested position is unknown or older than the window: the client must reload.
   */
  complete: boolean
}

export interface HubOptions {
  bus: Bus
  events: EventLog
  /** Those of the credentials that are not revoked, expired or deleted. */
  live(some: readonly Credential[]): Promise<readonly LiveCredential[]>
  log: Logger
  registry: Registry
  repairMs: number
  pause: Pause
}

/** Stands in the place of a discussion's id for the streams of several discussions. */
const OF_SEVERAL = '00000000-0000-0000-0000-000000000000'
/** The most bytes of all rings together. */
const MAX_RING_BYTES = 64 * 1024 * 1024
/** The most credentials in one query. */
const MAX_CREDENTIALS = 500
/** The most discussions whose positions one query reads. */
const MAX_HEADS = 500

const nameOf = ({ tenantId, discussionId }: DiscussionKey): string => `${tenantId}/${discussionId}`

/** The refusal of a credential that has ended. */
const ENDED = {
  key: 'revoked_api_key',
  admin: 'invalid_admin_token',
  client: 'invalid_client_token',
  site: 'invalid_ticket',
} as const

/** How many events are searched for missed ones, where the window is smaller. */
const MAX_LOOK = 10_000
const POSITION = /^\d{1,15}$/
const HOUR_MS = 3_600_000

/**
 * Every discussion with listeners in this process, and every open stream (docs/architecture.md).
 */
export class Hub {
  readonly metrics: StreamMetrics
  readonly onCut = (reason: CutReason): void => this.metrics.cut(reason)
  readonly sessions = new Sessions(this.onCut)
  readonly #options: HubOptions
  readonly #budget: RingBudget = { bytes: 0, maxBytes: MAX_RING_BYTES }
  /**
   * Callers that arrive during the query wait for the next one: this one may predate a revocation.
   */
  readonly #look: (credential: Credential) => Promise<LiveCredential | undefined>
  readonly #topics = new Map<string, Topic>()
  /**
   * Topics without a listener at the last repair. They are kept for a while, because clients
   * reconnect.
   */
  #idle = new Set<Topic>()
  /** Credentials of tickets, each once, however many streams it has. */
  #minters = new Map<string, Credential>()
  #timer: NodeJS.Timeout | undefined
  #repairing = false
  #closed = false
  readonly #ends: (() => Promise<void>)[] = []
  readonly #repairs: (() => Promise<void>)[] = []

  constructor(options: HubOptions) {
    // A stream of several discussions begins, and catches up, in all of them at once.
    this.#options = { ...options, events: { ...options.events, heads: joinedHeads(options.events) } }
    const look = () => ({ streams: this.sessions.size, discussions: this.topicCount, pauseMs: options.pause.ms })
    this.metrics = new StreamMetrics(options.registry, look)
    this.#look = inBatches(MAX_CREDENTIALS, async (batch) => {
      const live = new Map((await options.live(batch.map(({ input }) => input))).map((each) => [each.id, each]))
      for (const { input, resolve } of batch) resolve(live.get(input.id))
    })
    options.bus.onGap(() => void this.repair())
  }

  /** How many streams this process has open on a discussion alone. */
  streamsOf(key: DiscussionKey): number {
    return this.#topics.get(nameOf(key))?.size ?? 0
  }

  /** The open streams of each discussion that has any; those of several under `OF_SEVERAL`. */
  counts(): (DiscussionKey & { streams: number })[] {
    const ofOne = [...this.#topics.values()].filter(({ size }) => size > 0)
    return [
      ...ofOne.map(({ key, size }) => ({ ...key, streams: size })),
      ...[...this.sessions.ofSeveral()].map(([tenantId, streams]) => ({ tenantId, discussionId: OF_SEVERAL, streams })),
    ]
  }

  /** Ends something with the hub, after its streams. */
  onClose(end: () => Promise<void>): void {
    this.#ends.push(end)
  }

  /** Runs `repair` at each repair from now on, to compare something else with the database. */
  onRepair(repair: () => Promise<void>): void {
    this.#repairs.push(repair)
    this.#keepRepairing()
  }

  /** How many discussions have a topic here. */
  get topicCount(): number {
    return this.#topics.size
  }

  /**
   * Takes a seat at a discussion, and finds where it begins. The seat misses nothing until it is
   * started or left. Throws `not_found`.
   */
  async join(request: JoinRequest): Promise<Beginning> {
    if (this.#closed) throw new ServiceError('unavailable', { retryAfterSeconds: 1 })
    this.#keepRepairing()
    const topic = this.#topicOf(request)
    const seat = topic.sit(request.viewer, request.stream)
    try {
      await topic.started
      const past = await this.#pastOf(topic, request)
      seat.fed = past?.after ?? topic.seq
      return {
        seat,
        lastEventId: String(seat.fed),
        replayed: past?.replayed ?? 0,
        complete: past !== null || request.lastEventId === null,
      }
    } catch (error) {
      seat.leave()
      if (topic.seq < 0) this.#drop(topic)
      throw error
    }
  }

  /**
   * Compares all discussions of the process with the database and catches up on events that the bus
   * lost; ends streams of dead credentials; drops topics without listeners. A failure is retried at
   * the next tick.
   */
  async repair(): Promise<void> {
    if (this.#repairing || this.#closed) return
    this.#repairing = true
    try {
      this.#dropIdle()
      await Promise.all([this.#repairTopics(), this.#recheckCredentials(), ...this.#repairs.map((repair) => repair())])
    } catch (err) {
      if (!this.#closed) this.#options.log.warn({ err }, 'streams could not be compared with the database')
    } finally {
      this.#repairing = false
    }
  }

  /** The same credential as one object for all streams: each ticket has a copy of its text. */
  shared({ kind, tenantId, id, guestId }: Credential): Credential {
    const credential = { kind, tenantId, id, ...(guestId !== undefined && { guestId }) }
    const name = nameOfCredential(credential)
    const known = this.#minters.get(name)
    if (known !== undefined) return known
    this.#minters.set(name, credential)
    return credential
  }

  /**
   * Checks the credentials of a stream that is already counted: a revocation is either seen here,
   * or its message ends the session. Throws `revoked_api_key`, `invalid_admin_token`,
   * `invalid_client_token`, `invalid_identity`, `tenant_suspended`.
   */
  async requireLive(credential: Credential): Promise<void> {
    const [found, guest] = await Promise.all(partsOf(credential).map((part) => this.#look(part)))
    if (found === undefined) throw new ServiceError(ENDED[credential.kind])
    if (credential.guestId !== undefined && guest === undefined) throw new ServiceError('invalid_identity')
    if (found.isSuspended) throw new ServiceError('tenant_suspended')
  }

  /**
   * Forgets the cached events of a tenant, because an erasure has rewritten some. Replays then read
   * the database.
   */
  forgetEvents(tenantId: string): void {
    for (const topic of this.#topics.values()) if (topic.key.tenantId === tenantId) topic.forgetEvents()
  }

  /** Ends the streams of a discussion that was deleted. */
  endDiscussion(key: DiscussionKey): void {
    const topic = this.#topics.get(nameOf(key))
    if (topic === undefined) return
    this.#drop(topic)
    topic.end()
  }

  /** Ends every stream, spread over `graceMs`. New ones are refused. */
  async close({ graceMs }: { graceMs: number }): Promise<void> {
    if (this.#closed) return
    await this.sessions.endAll(graceMs)
    this.#closed = true
    clearInterval(this.#timer)
    for (const topic of this.#topics.values()) topic.close()
    this.#topics.clear()
    await Promise.all(this.#ends.map((end) => end()))
  }

  #keepRepairing(): void {
    if (!this.#closed) this.#timer ??= setInterval(() => void this.repair(), this.#options.repairMs).unref()
  }

  /** The range to replay, and its size; null for no replay. */
  async #pastOf(
    topic: Topic,
    { lastEventId, viewer, window }: JoinRequest,
  ): Promise<{ after: number; replayed: number } | null> {
    if (lastEventId === null || !POSITION.test(lastEventId)) return null
    const after = Number(lastEventId)
    // The client may have got the position from another process, before the message arrived here.
    if (after > topic.seq) await topic.refresh()
    if (after > topic.seq || topic.seq - after > Math.max(MAX_LOOK, window.replayEvents)) return null
    if (after === topic.seq) return { after, replayed: 0 }
    const bounds = { since: new Date(Date.now() - window.replayHours * HOUR_MS), most: window.replayEvents }
    const { visible, firstAt, isWhole } = await topic.missed(after, viewer, bounds)
    // What the viewer does not see can be as old as it likes: nothing is lost with it.
    const isTooOld = firstAt !== null && firstAt < bounds.since
    if (!isWhole || isTooOld || visible > bounds.most) return null
    this.metrics.replays()
    return { after, replayed: visible }
  }

  #topicOf({ tenantId, discussionId }: DiscussionKey): Topic {
    const key = { tenantId, discussionId }
    const name = nameOf(key)
    const existing = this.#topics.get(name)
    if (existing !== undefined) return existing
    const { bus, events, log, pause } = this.#options
    const topic = new Topic({ key, bus, events, log, budget: this.#budget, metrics: this.metrics, pause })
    this.#topics.set(name, topic)
    return topic
  }

  #drop(topic: Topic): void {
    const name = nameOf(topic.key)
    if (this.#topics.get(name) === topic) this.#topics.delete(name)
    topic.close()
  }

  #dropIdle(): void {
    const empty = [...this.#topics.values()].filter((topic) => topic.isEmpty)
    // No await between the check and the drop, so that nobody can take a seat in between.
    for (const topic of empty) if (this.#idle.has(topic)) this.#drop(topic)
    this.#idle = new Set(empty.filter((topic) => !this.#idle.has(topic)))
  }

  async #recheckCredentials(): Promise<void> {
    const open = this.sessions.credentials()
    this.#minters = new Map(open.map((credential) => [nameOfCredential(credential), credential]))
    if (open.length === 0) return
    const some = [...new Map(open.flatMap(partsOf).map((each) => [each.id, each])).values()]
    const live = new Set((await this.#options.live(some)).flatMap(({ id, isSuspended }) => (isSuspended ? [] : id)))
    this.sessions.endCredentials(new Set(some.map(({ id }) => id).filter((id) => !live.has(id))))
  }

  async #repairTopics(): Promise<void> {
    const topics = new Map([...this.#topics].filter(([, topic]) => topic.seq >= 0))
    if (topics.size === 0) return
    const heads = await this.#options.events.heads([...topics.values()].map(({ key }) => key))
    for (const head of heads) {
      topics.get(nameOf(head))?.learn(head)
      topics.delete(nameOf(head))
    }
    // The message that these were deleted was lost.
    for (const { key } of topics.values()) this.endDiscussion(key)
  }
}

/** Joins concurrent reads of positions into one query. */
function joinedHeads({ heads }: EventLog): EventLog['heads'] {
  const head = inBatches<DiscussionKey, Head | undefined>(MAX_HEADS, async (batch) => {
    const wanted = new Map(batch.map(({ input }) => [nameOf(input), input]))
    const read = new Map((await heads([...wanted.values()])).map((each) => [nameOf(each), each]))
    for (const { input, resolve } of batch) resolve(read.get(nameOf(input)))
  })
  return async (keys) =>
    keys.length > 1 ? heads(keys) : (await Promise.all(keys.map(head))).filter((each) => each !== undefined)
}

/** The hub of this process. */
export const hubOf = perApp((app) => {
  const hub = new Hub({
    bus: app.bus,
    events: databaseLog(app.db),
    live: (some) => readLiveCredentials(app.db.query, some, new Date()),
    log: app.log,
    registry: metricsOf(app),
    repairMs: app.settings.STREAM_REPAIR_SECONDS * 1000,
    pause: new WritePause({ maxMs: app.settings.STREAM_MAX_PAUSE_MS }),
  })
  followCacheNews(app, {
    kind: 'key',
    forget: ({ keyId }) => hub.sessions.endCredentials(new Set([keyId])),
    clear: () => void hub.repair(),
  })
  followCacheNews(app, {
    kind: 'sign_in',
    forget: ({ signInIds }) => hub.sessions.endCredentials(new Set(signInIds)),
    clear: () => void hub.repair(),
  })
  followCacheNews(app, {
    kind: 'client_token',
    forget: ({ tokenId }) => hub.sessions.endCredentials(new Set([tokenId])),
    clear: () => void hub.repair(),
  })
  followCacheNews(app, {
    kind: 'guest',
    forget: ({ readerId }) => hub.sessions.endCredentials(new Set([readerId])),
    clear: () => void hub.repair(),
  })
  followCacheNews(app, {
    kind: 'site',
    forget: ({ siteId }) => hub.sessions.endCredentials(new Set([siteId])),
    clear: () => void hub.repair(),
  })
  followCacheNews(app, {
    kind: 'suspension',
    forget: ({ tenantId, isSuspended }) => {
      if (isSuspended) hub.sessions.endTenant(tenantId)
    },
    clear: () => void hub.repair(),
  })
  followCacheNews(app, {
    kind: 'discussion',
    forget: (key) => hub.endDiscussion(key),
    clear: () => void hub.repair(),
  })
  followCacheNews(app, {
    kind: 'erasure',
    forget: ({ tenantId }) => hub.forgetEvents(tenantId),
    // If the message of an erasure was missed, the heads of the discussions show it.
    clear: () => void hub.repair(),
  })
  return hub
})
