import { createHmac, timingSafeEqual } from 'node:crypto'

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { jwtVerify } from 'jose'

import { CHANNELS } from '../../core/bus.ts'
import { type App, perApp, type Tenant } from '../../core/context.ts'
import { ServiceError } from '../../core/errors.ts'
import { type Id, isId } from '../../core/ids.ts'
import { deriveKeys } from '../../core/seals.ts'
import type { TicketUse } from '../../live/caps.ts'
import { lifetimeMs, retryMs } from '../../live/connection.ts'
import { framingEvent, retryLine } from '../../live/frames.ts'
import { gripOf, RENEW_SECONDS } from '../../live/grip.ts'
import { ALL_STREAMS } from '../../live/grip-items.ts'
import { ANYONE } from '../../live/viewer.ts'
import { hubOf, type Page } from '../../live/hub.ts'
import { STREAM_HEADERS } from '../../live/outlet.ts'
import type { DiscussionKey } from '../../live/event-log.ts'
import { loadTenant } from '../../domains/tenants/tenants.ts'
import { chargeReplay, countAddress } from './limits.ts'

const PATH = '/api/v1/stream/:discussionId/next/:endsAt'
/**
 * Lifetimes end at whole minutes, so that many streams of a discussion have the same link: a proxy
 * follows equal links once.
 */
const LIFETIME_STEP_MS = 60_000
const WARN_EVERY_MS = 3_600_000

/** A stream that a proxy holds: its discussion, and when it ends (ms since 1970). */
interface Held extends DiscussionKey {
  endsAt: number
}

/** Whether the request came through a GRIP proxy, which can hold its stream. */
export async function isFromProxy(app: App, { headers }: FastifyRequest): Promise<boolean> {
  const { GRIP_KEY: key, GRIP_ISSUER: issuer } = app.settings
  const signature = headers['grip-sig']
  if (key === undefined || typeof signature !== 'string') return false
  try {
    await jwtVerify(signature, key, { requiredClaims: ['exp'], ...(issuer !== undefined && { issuer }) })
    return true
  } catch (error) {
    warnOfSignature(app)(error)
    return false
  }
}

/** Anyone may send a signature, so it is logged at most once an hour. */
const warnOfSignature = perApp(({ log }) => {
  let warnedAt = -Infinity
  return (error: unknown): void => {
    if (Date.now() - warnedAt < WARN_EVERY_MS) return
    warnedAt = Date.now()
    const reason = error instanceof Error ? error.message : undefined
    log.warn({ reason }, 'a Grip-Sig was not that of a proxy: compare GRIP_KEY and GRIP_ISSUER with the proxy’s')
  }
})

/** Mounts the route at which proxies ask for missing events, if there may be proxies. */
export function registerHeld(server: FastifyInstance, app: App): void {
  const grip = gripOf(app)
  if (grip === null) return
  const hub = hubOf(app)
  hub.onRepair(() => grip.repair())
  // Other processes take over at once.
  hub.onClose(async () => grip.recover())
  server.route<{ Params: LinkParams }>({
    method: 'GET',
    url: `${PATH}/:after?`,
    exposeHeadRoute: false,
    handler: async (request, reply) => continueHeld(app, request, reply),
  })
}

interface LinkParams {
  discussionId: string
  endsAt: string
  /** The last event of the previous answer, if that one was not held. */
  after?: string
}

interface HoldRequest {
  tenant: Tenant
  use: TicketUse
  discussionId: Id
  lastEventId: string | null
}

/**
 * Answers with the replay, and has the proxy hold the stream, which published events then continue.
 * Throws `not_found`.
 */
export async function holdStream(
  app: App,
  reply: FastifyReply,
  { tenant, use, discussionId, lastEventId: asked }: HoldRequest,
): Promise<FastifyReply> {
  const { stream } = tenant.settings
  const key = { tenantId: tenant.id, discussionId }
  const page = await hubOf(app).page({ ...key, viewer: ANYONE, lastEventId: asked, window: stream })
  const bytes = page.frames.reduce((sum, frame) => sum + frame.bytes.length, 0)
  // The proxy requests further parts without the ticket, so they are charged now, by the size of
  // this one.
  chargeReplay(app, use, page.replayed)((bytes * page.replayed) / Math.max(1, page.frames.length))
  const endsAt = Date.now() + lifetimeMs(stream.maxDurationSeconds, Math.random())
  const held = { ...key, endsAt: Math.ceil(endsAt / LIFETIME_STEP_MS) * LIFETIME_STEP_MS }
  const { lastEventId, replayed, complete } = page
  const connected = framingEvent('connected', { lastEventId, replayed, complete })
  return sendPage(app, reply, held, page, retryLine(retryMs(Math.random())) + connected)
}

/** The further answers: the events that a held stream has missed since its last one. */
async function continueHeld(
  app: App,
  request: FastifyRequest<{ Params: LinkParams }>,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const held = readLink(app, request.params, request.query as Record<string, unknown>)
  if (held === null || !(await isFromProxy(app, request))) {
    countAddress(app, request.ip)
    throw new ServiceError('not_found')
  }
  // After an answer that was not held, `Grip-Last` is still that of the last held one.
  const lastEventId = request.params.after ?? lastSent(request.headers['grip-last'], held) ?? ''
  const page = held.endsAt > Date.now() ? await pageAfter(app, held, lastEventId) : null
  if (page !== null) return sendPage(app, reply, held, page)
  // Without a hold the proxy ends the stream, and the client reconnects with its Last-Event-ID.
  return send(reply, [framingEvent('connection-timeout', { lastEventId })])
}

/** Null if the client must start over: its position or its discussion is gone. */
async function pageAfter(app: App, key: Held, lastEventId: string): Promise<Page | null> {
  try {
    const { settings } = await loadTenant(app, key.tenantId)
    const page = await hubOf(app).page({ ...key, viewer: ANYONE, lastEventId, window: settings.stream })
    return page.complete ? page : null
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'not_found') return null
    throw error
  }
}

function sendPage(app: App, reply: FastifyReply, held: Held, page: Page, first = ''): FastifyReply {
  const { frames, upTo, isAll } = page
  if (isAll) gripOf(app)?.watch(held, upTo)
  void reply.headers(gripHeaders(app, held, page))
  return send(reply, [first, ...frames.map(({ bytes }) => bytes)])
}

/** What a proxy must do after an answer: hold the stream, or request the rest of the replay. */
function gripHeaders(app: App, held: Held, { upTo, isAll }: Page): Record<string, string | string[]> {
  if (!isAll) return { 'grip-link': `<${linkOf(app, held, upTo)}>; rel=next` }
  const heartbeat = Math.max(1, Math.round(app.settings.STREAM_HEARTBEAT_SECONDS))
  return {
    'grip-hold': 'stream',
    // The second channel has no events: a proxy postpones its next question only if all channels
    // of a stream have had some.
    'grip-channel': [`${CHANNELS.discussion(held)}; prev-id=${upTo}`, ALL_STREAMS],
    'grip-link': `<${linkOf(app, held)}>; rel=next; timeout=${RENEW_SECONDS}`,
    // In intervals, not after silence: events that are not public would postpone it.
    'grip-keep-alive': `:\\n\\n; format=cstring; timeout=${heartbeat}; mode=interval`,
  }
}

function send(reply: FastifyReply, parts: readonly (string | Buffer)[]): FastifyReply {
  const body = Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)))
  return reply.headers(STREAM_HEADERS).send(body)
}

/** The last event of its discussion that a proxy has sent to a stream: `channel; last-id=5, …`. */
export function lastSent(header: string | string[] | undefined, key: DiscussionKey): string | null {
  const each = [header ?? []].flat().flatMap((text) => text.split(','))
  const prefix = `${CHANNELS.discussion(key)}; last-id=`
  return (
    each
      .map((text) => text.trim())
      .find((text) => text.startsWith(prefix))
      ?.slice(prefix.length) ?? null
  )
}

const keysOf = perApp((app) => deriveKeys(app.settings, 'held-stream').map(({ key }) => key))

const macOf = (key: Buffer | undefined, { tenantId, discussionId, endsAt }: Held): Buffer =>
  createHmac('sha256', key ?? '')
    .update(`${tenantId} ${discussionId} ${endsAt}`)
    .digest()

/**
 * The address where a proxy asks next. Only the service can make it, so it needs no ticket. Pushpin
 * merges requests with the same path and `Grip-Last`, whatever their query, so everything that an
 * answer depends on is in these two.
 */
function linkOf(app: App, held: Held, after?: number | string): string {
  const mac = macOf(keysOf(app)[0], held).toString('base64url')
  const path = PATH.replace(':discussionId', held.discussionId).replace(':endsAt', String(held.endsAt))
  return `${path}${after === undefined ? '' : `/${after}`}?tenant=${held.tenantId}&mac=${mac}`
}

/** The parts of a link; null if the service did not make it. */
function readLink(app: App, { discussionId, endsAt }: LinkParams, query: Record<string, unknown>): Held | null {
  const { tenant: tenantId, mac } = query
  if (typeof tenantId !== 'string' || typeof mac !== 'string' || !isId(tenantId) || !isId(discussionId)) return null
  const held = { tenantId, discussionId, endsAt: Number(endsAt) }
  const given = Buffer.from(mac, 'base64url')
  const isOurs = keysOf(app).some((key) => {
    const expected = macOf(key, held)
    return given.length === expected.length && timingSafeEqual(given, expected)
  })
  return isOurs ? held : null
}
