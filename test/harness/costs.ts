import pg from 'pg'

import type { Db, Sql } from '../../src/core/database/database.ts'
import type { Statement } from '../../src/core/database/statements.ts'
import { unnamed } from './sql.ts'

/**
 * Whether one plan serves all executions, or each is planned for its parameters. PostgreSQL keeps
 * the one that looks cheaper.
 */
export type PlanMode = 'generic' | 'custom'

// EXPLAIN counts only its outermost node: the parts that write, triggers and foreign keys run
// beside that.
const BLOCKS = unnamed(
  `SELECT sum(pg_stat_get_xact_blocks_fetched(oid))::int AS blocks FROM pg_class WHERE relnamespace = current_schema()::regnamespace`,
)
const ROLLED_BACK = new Error('rolled back')

let prepared = 0

export interface Cost {
  /** Blocks that it reads. */
  blocks: number
  plan: string
}

export interface Explained {
  /** Runs the statement, and undoes what it does. */
  explain(params: readonly unknown[]): Promise<Cost>
  sql: Sql
}

/** Prepares a statement in a transaction that is rolled back after `work`. */
export async function explaining(
  db: Db,
  asked: Pick<Statement, 'text'>,
  mode: PlanMode,
  work: (explained: Explained) => Promise<void>,
): Promise<void> {
  await db
    .transaction(async (sql) => {
      await explainingIn(sql, asked, mode, work)
      throw ROLLED_BACK
    })
    .catch((error: unknown) => {
      if (error !== ROLLED_BACK) throw error
    })
}

/** The same in a transaction that goes on. */
export async function explainingIn(
  sql: Sql,
  { text }: Pick<Statement, 'text'>,
  mode: PlanMode,
  work: (explained: Explained) => Promise<void>,
): Promise<void> {
  const name = `planned_${++prepared}`
  const command = <Row>(asked: string) => sql<Row>(unnamed(asked))
  await command(`SET LOCAL plan_cache_mode = force_${mode}_plan`)
  await command(`PREPARE ${name} AS ${text}`)
  const explain = async (params: readonly unknown[]): Promise<Cost> => {
    const given = params.length === 0 ? '' : `(${params.map(literal).join(', ')})`
    const [before] = await sql<{ blocks: number }>(BLOCKS)
    await command('SAVEPOINT before')
    const plan = await command<Record<string, string>>(`EXPLAIN (ANALYZE, BUFFERS) EXECUTE ${name}${given}`)
    await command('ROLLBACK TO SAVEPOINT before')
    const [after] = await sql<{ blocks: number }>(BLOCKS)
    const lines = plan.map((row) => Object.values(row)[0]).join('\n')
    return { blocks: (after?.blocks ?? NaN) - (before?.blocks ?? NaN), plan: lines }
  }
  await work({ explain, sql })
  await command(`DEALLOCATE ${name}`)
}

const ACTUAL_ROWS = /actual time=[\d.]+ rows=(\d+)|actual time=[\d.]+\.\.[\d.]+ rows=(\d+)/

/** How many rows a plan has returned. */
export function rowsOf(plan: string): number {
  const [, one, other] = ACTUAL_ROWS.exec(plan) ?? []
  return Number(one ?? other ?? 0)
}

export function literal(value: unknown): string {
  if (value === null || value === undefined) return 'NULL'
  const text = Array.isArray(value) ? `{${value.map(element).join()}}` : plain(value)
  return pg.escapeLiteral(text)
}

const plain = (value: unknown): string => {
  if (value instanceof Uint8Array) return `\\x${Buffer.from(value).toString('hex')}`
  return value instanceof Date ? value.toISOString() : String(value)
}
const element = (value: unknown): string =>
  value === null || value === undefined ? 'NULL' : `"${plain(value).replace(/["\\]/g, '\\$&')}"`
