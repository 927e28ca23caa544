import { z } from 'zod'

import type { Prisma, Sql, TxSql } from '../../core/database/database.ts'
import { statement } from '../../core/database/statements.ts'
import { FIRST_ID, firstIdAt, type Id, timeOfId } from '../../core/ids.ts'
import { counted } from '../../core/input/texts.ts'
import type { NoticeCause } from './causes.ts'

// News are looked up when a channel is due, and are not stored one by one. So a burst makes one
// message, and what happens while a channel does not answer is in its next message.

/** The most comments that are counted. */
const COUNTED = 100
const MAX_ENDPOINTS = 1000
/** How much later than one with a greater id a comment may be committed. */
const OVERTAKEN_MS = 60_000

/** The newest comment that was told, and the others: all up to `from`, and `ids` after that. */
const waitingSchema = z
  .object({ after: z.string(), from: z.string().optional(), ids: z.array(z.string()).optional() })
  .transform(({ after, from = after, ids = [] }) => ({ after, from, ids }))

type ToldWaiting = z.infer<typeof waitingSchema>

const NONE: ToldWaiting = { after: FIRST_ID, from: FIRST_ID, ids: [] }

/** What a channel was told of each cause; of none, where it never looked. */
const toldSchema = z.object({
  comment_waiting: waitingSchema.optional(),
  endpoint_failing: z.object({ ids: z.array(z.string()) }).optional(),
  endpoint_disabled: z.object({ ids: z.array(z.string()) }).optional(),
  export_ready: z.object({ after: z.string() }).optional(),
})

export type Told = z.infer<typeof toldSchema>

export const toldOf = (stored: unknown): Told => toldSchema.catch({}).parse(stored)

/** News of one cause, and what is told with them. */
export interface News {
  cause: NoticeCause
  text: string
  /** Where in the console staff go on. */
  path: string
  told: Told
}

interface Endpoint {
  id: Id
  url: string
}

const failing = ({ webhookEndpoint }: Prisma, tenantId: Id): Promise<Endpoint[]> =>
  webhookEndpoint.findMany({
    where: { tenantId, state: 'verified', circuitOpenUntil: { not: null } },
    select: { id: true, url: true },
    take: MAX_ENDPOINTS,
  })

const disabled = ({ webhookEndpoint }: Prisma, tenantId: Id): Promise<Endpoint[]> =>
  webhookEndpoint.findMany({
    where: { tenantId, state: 'disabled', disabledReason: { not: null } },
    select: { id: true, url: true },
    take: MAX_ENDPOINTS,
  })

const idsOf = (endpoints: readonly Endpoint[]): Id[] => endpoints.map(({ id }) => id)

/** What is there now: a new channel is told nothing of it. */
export async function toldNow(sql: TxSql, tenantId: Id): Promise<Required<Told>> {
  const { prisma } = sql
  return {
    comment_waiting: withThese(NONE, await waiting(sql, tenantId, NONE)),
    endpoint_failing: { ids: idsOf(await failing(prisma, tenantId)) },
    endpoint_disabled: { ids: idsOf(await disabled(prisma, tenantId)) },
    export_ready: { after: new Date().toISOString() },
  }
}

/** Comments up to this id are told, or too old to come. */
function floorOf({ after, from }: ToldWaiting): Id {
  const old = firstIdAt(new Date(timeOfId(after) - OVERTAKEN_MS))
  return old > from ? old : from
}

// Prisma sends the status as a parameter, by which PostgreSQL does not find the index of these.
const WAITING = statement(
  'comments_waiting_since',
  `SELECT id FROM comments WHERE tenant_id = $1 AND status = 'pending' AND id > $2 AND id <> ALL($3::uuid[])
   ORDER BY id DESC LIMIT $4`,
)

/** Comments that wait and were not told, newest first; also one that a greater id has overtaken. */
const waiting = (sql: Sql, tenantId: Id, told: ToldWaiting): Promise<{ id: Id }[]> =>
  sql(WAITING, [tenantId, floorOf(told), told.ids, COUNTED])

/** What is told with these, newest first; where there may be more, with all before them too. */
function withThese(before: ToldWaiting, found: readonly { id: Id }[]): ToldWaiting {
  const ids = [...found.map(({ id }) => id), ...before.ids]
  const [newest = FIRST_ID] = ids
  const after = newest > before.after ? newest : before.after
  const last = found.length === COUNTED ? (found.at(-1)?.id ?? FIRST_ID) : FIRST_ID
  const told = { after, from: last > before.from ? last : before.from }
  const floor = floorOf({ ...told, ids })
  return { ...told, ids: ids.filter((id) => id > floor) }
}

/** The database, as a worker or a transaction has it. */
interface Source {
  sql: Sql
  prisma: Prisma
}

type Look = (source: Source, tenantId: Id, told: Told) => Promise<News | null>

/** What a channel can be told of each cause. */
export const LOOKS: Readonly<Record<NoticeCause, Look>> = {
  comment_waiting: async ({ sql }, tenantId, told) => {
    const before = told.comment_waiting ?? NONE
    const found = await waiting(sql, tenantId, before)
    if (found.length === 0) return null
    const many = found.length === COUNTED ? `${COUNTED} or more comments wait` : undefined
    const text = `${many ?? counted(found.length, 'new comment waits', 'new comments wait')} for a moderator.`
    return { cause: 'comment_waiting', text, path: '/moderation', told: { comment_waiting: withThese(before, found) } }
  },
  endpoint_failing: async ({ prisma }, tenantId, told) => {
    const found = await failing(prisma, tenantId)
    const text = textOf(found, told.endpoint_failing?.ids, 'Deliveries fail at')
    return text === null
      ? null
      : { cause: 'endpoint_failing', text, path: '/webhooks', told: { endpoint_failing: { ids: idsOf(found) } } }
  },
  endpoint_disabled: async ({ prisma }, tenantId, told) => {
    const found = await disabled(prisma, tenantId)
    const text = textOf(found, told.endpoint_disabled?.ids, 'Deliveries have ended at')
    return text === null
      ? null
      : {
          cause: 'endpoint_disabled',
          text,
          path: '/webhooks',
          told: { endpoint_disabled: { ids: idsOf(found) } },
        }
  },
  export_ready: async ({ prisma: { tenantExport } }, tenantId, told) => {
    const after = new Date(told.export_ready?.after ?? 0)
    const newest = await tenantExport.findFirst({
      where: { tenantId, completedAt: { gt: after }, error: null },
      select: { completedAt: true },
      orderBy: { completedAt: 'desc' },
    })
    if (newest?.completedAt == null) return null
    const at = newest.completedAt.toISOString()
    const text = 'An export of the tenant is ready.'
    return { cause: 'export_ready', text, path: '/settings#export', told: { export_ready: { after: at } } }
  },
}

const SHOWN = 5

/**
 * The hosts of endpoints that were not told of: the rest of an address may hold secrets. Null for
 * none. Endpoints that have recovered are told of again at their next failure.
 */
function textOf(found: readonly Endpoint[], known: readonly Id[] = [], what: string): string | null {
  const fresh = found.filter(({ id }) => !known.includes(id))
  if (fresh.length === 0) return null
  const hosts = [...new Set(fresh.map(({ url }) => new URL(url).host))]
  const more = hosts.length > SHOWN ? ` and ${hosts.length - SHOWN} more` : ''
  return `${what} ${hosts.slice(0, SHOWN).join(', ')}${more}.`
}

/** What is to be told no more, where there are no news: endpoints that have recovered. */
export async function stillTold(prisma: Prisma, tenantId: Id, told: Told): Promise<Told> {
  const keep = async (ids: readonly Id[], found: Promise<Endpoint[]>) => {
    const there = idsOf(await found)
    return { ids: ids.filter((id) => there.includes(id)) }
  }
  const { endpoint_failing: one, endpoint_disabled: other } = told
  return {
    ...told,
    ...(one !== undefined &&
      one.ids.length > 0 && { endpoint_failing: await keep(one.ids, failing(prisma, tenantId)) }),
    ...(other !== undefined &&
      other.ids.length > 0 && { endpoint_disabled: await keep(other.ids, disabled(prisma, tenantId)) }),
  }
}
