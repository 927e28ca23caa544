import { writeFileSync } from 'node:fs'

import type { Db } from '../../src/core/database/database.ts'
import type { Item } from '../../src/transfer/item.ts'
import { unnamed } from './sql.ts'

/** Writes items to a file of our own form, one a line. A text is written unchanged. */
export const writeItems = (path: string, items: readonly (Item | string)[]): void =>
  writeFileSync(path, items.map((item) => `${typeof item === 'string' ? item : JSON.stringify(item)}\n`).join(''))

/** An instant in 2015. */
export const at = (second: number): string => new Date(Date.UTC(2015, 2, 1, 10, 0, second)).toISOString()

export const reader = (id: string, more: object = {}): Item => ({
  kind: 'reader',
  id,
  name: `Reader ${id}`,
  createdAt: at(0),
  ...more,
})

export const page = (id: string, more: object = {}): Item => ({
  kind: 'discussion',
  id,
  externalId: `page-${id}`,
  createdAt: at(0),
  ...more,
})

/** A comment of the reader `ann` on the page `p`. */
export const comment = (id: string, second: number, more: object = {}): Item => ({
  kind: 'comment',
  id,
  discussionId: 'p',
  authorId: 'ann',
  body: `Comment ${id}`,
  createdAt: at(second),
  ...more,
})

// The imported data, without what differs between two tenants.
const TABLES = {
  readers: ['search'],
  reader_merges: ['alias_id'],
  discussions: ['search'],
  comments: [],
  comment_revisions: [],
  reactions: [],
  reports: [],
  events: [],
  deliveries: [],
  analytics_deltas: [],
  analytics_buckets: [],
  analytics_activity: [],
  analytics_discussions: [],
  import_items: ['import_id'],
  import_waiting: [],
  imports: ['id', 'started_at', 'finished_at'],
} as const satisfies Record<string, readonly string[]>

/** All imported rows of a tenant, one a line, the same for two equal tenants. */
export async function dumpImported(db: Db, tenantId: string, leaveOut: readonly string[] = []): Promise<string[]> {
  const lines: string[] = []
  for (const [table, columns] of Object.entries(TABLES)) {
    if (leaveOut.includes(table)) continue
    const without = ['tenant_id', ...columns].map((column) => `- '${column}'`).join(' ')
    const rows = await db.query<{ row: string }>(
      unnamed(`SELECT (to_jsonb(t) ${without})::text AS row FROM ${table} t WHERE tenant_id = $1 ORDER BY 1`),
      [tenantId],
    )
    lines.push(...rows.map(({ row }) => `${table} ${row}`))
  }
  return lines
}

// Each describes an error in a row.
const CHECKS = {
  commentCount: `SELECT id FROM discussions d WHERE tenant_id = $1 AND comment_count <> (
    SELECT count(*) FROM comments c WHERE c.tenant_id = $1 AND c.discussion_id = d.id AND status = 'approved')`,
  lastCommentedAt: `SELECT id FROM discussions d WHERE tenant_id = $1 AND coalesce(last_commented_at, '-infinity') < (
    SELECT max(created_at) FROM comments c WHERE c.tenant_id = $1 AND c.discussion_id = d.id AND status = 'approved')`,
  replyCount: `SELECT id FROM comments p WHERE tenant_id = $1 AND reply_count <> (
    SELECT count(*) FROM comments c WHERE c.tenant_id = $1 AND c.parent_id = p.id
      AND (c.status = 'approved' OR c.reply_count > 0))`,
  depth: `SELECT c.id FROM comments c JOIN comments p ON p.tenant_id = $1 AND p.id = c.parent_id
    WHERE c.tenant_id = $1 AND (c.depth <> p.depth + 1 OR c.discussion_id <> p.discussion_id)`,
  reactionCount: `SELECT id FROM comments c WHERE tenant_id = $1 AND reaction_counts <> (
    SELECT coalesce(jsonb_object_agg(type, n), '{}') FROM (
      SELECT type, count(*) AS n FROM reactions r
      WHERE r.tenant_id = $1 AND r.comment_id = c.id AND type IS NOT NULL GROUP BY type) t)`,
  reportCount: `SELECT id FROM comments c WHERE tenant_id = $1 AND report_count <> (
    SELECT count(*) FROM reports r WHERE r.tenant_id = $1 AND r.comment_id = c.id AND counted)`,
}

/** The rows whose counters differ from the tables. */
export async function findWrongCounts(db: Db, tenantId: string): Promise<string[]> {
  const wrong: string[] = []
  // An autovacuum amid an import counts no rows, and a plan for none joins comments for minutes.
  await db.query(unnamed('ANALYZE discussions, comments, reactions, reports'), [])
  for (const [name, check] of Object.entries(CHECKS)) {
    const rows = await db.query<{ id: string }>(unnamed(check), [tenantId])
    wrong.push(...rows.map(({ id }) => `${name} ${id}`))
  }
  return wrong
}
