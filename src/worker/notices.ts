import { baseUrl } from '../core/address.ts'
import type { App } from '../core/app.ts'
import { ofTenant } from '../core/queues/patience.ts'
import { CAUSES, type NoticeKind } from '../domains/notices/causes.ts'
import { bodyFor, type Notice } from '../domains/notices/messages.ts'
import { LOOKS, stillTold, toldOf } from '../domains/notices/news.ts'
import { addressOf, type NoticeChannel, type SendState } from '../domains/notices/notices.ts'
import { loadTenant } from '../domains/tenants/tenants.ts'
import type { Outbound } from '../outbound/outbound.ts'

/** How many channels a worker tells at once. */
const BATCH = 20
/** How often a channel is looked at that has been told everything. */
const LOOK_MS = 10_000
/** The least time between two messages of one cause. */
const BETWEEN_MS = 60_000
const TIMEOUT_MS = 5000
/** Longer than the messages of all causes may take: no second worker sends them meanwhile. */
const LEASE_MS = 60_000
const LAST_WAIT_MS = 3_600_000

/**
 * Tells the channels that are due what has happened since their last message. A worker that dies
 * after a message is taken, and before that is stored, has another one send it again: each is sent
 * at least once. Returns whether there may be more.
 */
export async function tellChannels(app: App, outbound: Outbound, signal: AbortSignal): Promise<boolean> {
  const { noticeChannel } = app.prisma
  const due = await noticeChannel.findMany({
    where: { dueAt: { lte: new Date() }, sealed: { not: null }, tenant: { suspendedAt: null, removalDueAt: null } },
    orderBy: { dueAt: 'asc' },
    take: BATCH,
  })
  await Promise.all(
    due.map(async (channel) => {
      const { tenantId, id, dueAt } = channel
      const until = new Date(Date.now() + LEASE_MS)
      // Of several workers that have found it, one takes it.
      const lease = { dueAt: until, told: { ...(channel.told as object), leasedUntil: until.getTime() } }
      const { count } = await noticeChannel.updateMany({ where: { tenantId, id, dueAt }, data: lease })
      if (count > 0) await tell(app, outbound, { ...channel, ...lease }, signal)
    }),
  )
  return due.length === BATCH
}

/** Sends what is new to one channel, a message for each cause, and stores what was told. */
async function tell(app: App, outbound: Outbound, channel: NoticeChannel, signal: AbortSignal): Promise<void> {
  const { tenantId, id, dueAt } = channel
  const { prisma, db } = ofTenant(app, tenantId)
  const source = { prisma, sql: db.query }
  const { sentAt: before, test } = channel.told as SendState
  const sentAt = { ...before }
  let hasSent = false
  let told = await stillTold(prisma, tenantId, toldOf(channel.told))
  let error: string | null = null
  let next = Date.now() + LOOK_MS
  let failures = 0
  if (test === true) {
    error = await send(app, outbound, channel, TEST, signal)
    sentAt.test = Date.now()
    hasSent = error === null
    // Its failure lets no notice wait longer.
    if (error !== null) failures = channel.failures
  }
  for (const cause of error === null ? CAUSES.filter((each) => channel.causes.includes(each)) : []) {
    const free = (sentAt[cause] ?? 0) + BETWEEN_MS
    const news = await LOOKS[cause](source, tenantId, told)
    if (news === null) continue
    if (free > Date.now()) {
      next = Math.min(next, free)
      continue
    }
    error = await send(app, outbound, channel, news, signal)
    if (error !== null) {
      failures = channel.failures + 1
      break
    }
    told = { ...told, ...news.told }
    sentAt[cause] = Date.now()
    hasSent = true
  }
  if (signal.aborted) return
  if (failures > 0) next = Date.now() + Math.min(LAST_WAIT_MS, BETWEEN_MS * 2 ** Math.min(failures - 1, 10))
  const data = {
    told: { ...told, sentAt },
    failures,
    dueAt: new Date(next),
    ...(hasSent && { lastSentAt: new Date(), lastError: null }),
    ...(error !== null && { lastError: error }),
  }
  // One that was changed meanwhile is looked at again, by its new fields.
  const where = { tenantId, id, dueAt }
  const asLeased = { told: { equals: channel.told as object } }
  if ((await prisma.noticeChannel.updateMany({ where: { ...where, ...asLeased }, data })).count > 0) return
  // A test that was asked for meanwhile is still to be sent.
  const asked = { ...data, told: { ...data.told, test: true }, dueAt: new Date() }
  await prisma.noticeChannel.updateMany({ where, data: asked })
}

const TEST = { cause: 'test', text: 'This is a test message. Notices come here.', path: '/settings#notices' } as const

/** Returns why the channel did not take it; null if it did. The address is in no text. */
async function send(
  app: App,
  outbound: Outbound,
  channel: NoticeChannel,
  { cause, text, path }: Pick<Notice, 'cause' | 'text'> & { path: string },
  signal: AbortSignal,
): Promise<string | null> {
  const { slug } = await loadTenant(app, channel.tenantId)
  const notice = { cause, tenant: slug, text, url: `${baseUrl(app)}/console${path}`, at: new Date() }
  const body = bodyFor(channel.kind as NoticeKind, notice)
  let url: string
  try {
    url = addressOf(app.settings, channel)
  } catch {
    return 'the address cannot be opened: its key is missing'
  }
  const headers = { 'content-type': 'application/json' }
  const { statusCode, error } = await outbound.post({ url, headers, body, timeoutMs: TIMEOUT_MS, signal })
  if (error !== null) return error
  return statusCode !== null && statusCode >= 200 && statusCode < 300 ? null : `status ${statusCode}`
}
