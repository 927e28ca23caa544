import type { App } from '../../src/core/app.ts'
import { unnamed } from './sql.ts'

const DAY_MS = 86_400_000
const STEP_MS = { hour: 3_600_000, day: DAY_MS }

interface CommentRow {
  status: 'pending' | 'approved' | 'rejected' | 'deleted'
  at: Date
  discussionId: string
  readerId: string | null
}

interface ActionRow {
  at: Date
  readerId: string
}

export interface DeliveryRow {
  id: string
  status: 'pending' | 'delivering' | 'delivered' | 'failed' | 'held'
  at: Date
}

const COMMENTS = unnamed(
  `SELECT status::text, created_at AS at, discussion_id AS "discussionId", author_id AS "readerId" FROM comments WHERE tenant_id = $1`,
)
const REACTIONS = unnamed(
  'SELECT updated_at AS at, reader_id AS "readerId" FROM reactions WHERE tenant_id = $1 AND type IS NOT NULL',
)
const REPORTS = unnamed('SELECT created_at AS at, reader_id AS "readerId" FROM reports WHERE tenant_id = $1')
const DELIVERIES = unnamed('SELECT id, status::text, created_at AS at FROM deliveries WHERE tenant_id = $1')

export const deliveriesOf = ({ db }: App, tenantId: string): Promise<DeliveryRow[]> =>
  db.query<DeliveryRow>(DELIVERIES, [tenantId])

/** All rows of a tenant that analytics count, as they stand in their own tables. */
export async function readTables(app: App, tenantId: string, goneDeliveries: readonly DeliveryRow[] = []) {
  const { query } = app.db
  const [comments, reactions, reports, deliveries] = [
    await query<CommentRow>(COMMENTS, [tenantId]),
    await query<ActionRow>(REACTIONS, [tenantId]),
    await query<ActionRow>(REPORTS, [tenantId]),
    await deliveriesOf(app, tenantId),
  ]
  return { comments, reactions, reports, deliveries, goneDeliveries }
}

type Tables = Awaited<ReturnType<typeof readTables>>

/** The series that the descriptions of its fields promise, counted row by row. */
export function countTables(tables: Tables, interval: 'hour' | 'day', from: Date, to: Date) {
  const step = STEP_MS[interval]
  return Array.from({ length: (to.getTime() - from.getTime()) / step }, (_, n) => {
    const at = from.getTime() + n * step
    const within = <Row extends { at: Date }>(rows: readonly Row[]): Row[] =>
      rows.filter((row) => row.at.getTime() >= at && row.at.getTime() < at + step)
    const [comments, reactions, reports] = [within(tables.comments), within(tables.reactions), within(tables.reports)]
    const commentsIn = (status: string): number => comments.filter((row) => row.status === status).length
    const [deliveries, gone] = [within(tables.deliveries), within(tables.goneDeliveries)]
    const deliveriesIn = (...statuses: string[]): number =>
      deliveries.filter(({ status }) => statuses.includes(status)).length
    const goneIn = (...statuses: string[]): number => gone.filter(({ status }) => statuses.includes(status)).length
    const actors = [...comments, ...reactions, ...reports].flatMap(({ readerId }) => readerId ?? [])
    return {
      at: new Date(at).toISOString(),
      comments: {
        pending: commentsIn('pending'),
        approved: commentsIn('approved'),
        rejected: commentsIn('rejected'),
        deleted: commentsIn('deleted'),
      },
      reactions: reactions.length,
      activeReaders: new Set(actors).size,
      reports: reports.length,
      deliveries: {
        pending: deliveriesIn('pending', 'delivering'),
        delivered: deliveriesIn('delivered') + goneIn('delivered'),
        failed: deliveriesIn('failed') + goneIn('failed'),
        held: deliveriesIn('held'),
        cancelled: goneIn('pending', 'delivering', 'held'),
      },
    }
  })
}

/**
 * `[id, comments]` of those with the most approved comments, the most first and of equals the
 * oldest.
 */
export function rankTables({ comments }: Tables, by: 'discussionId' | 'readerId', from: Date, to: Date, limit = 50) {
  const counts = new Map<string, number>()
  for (const comment of comments) {
    const id = comment[by]
    if (id === null || comment.status !== 'approved' || comment.at < from || comment.at >= to) continue
    counts.set(id, (counts.get(id) ?? 0) + 1)
  }
  return [...counts].sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1)).slice(0, limit)
}

/** The beginning of tomorrow, in UTC: where a span of days ends by default. */
export const tomorrow = (): Date => new Date((Math.floor(Date.now() / DAY_MS) + 1) * DAY_MS)

export const daysBefore = (to: Date, days: number): Date => new Date(to.getTime() - days * DAY_MS)
