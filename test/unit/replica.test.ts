import { pino } from 'pino'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'

import type { Db, Sql } from '../../src/core/database/database.ts'
import type { Database } from '../../src/data/database.ts'
import { Replica } from '../../src/data/server/replica.ts'
import { unnamed } from '../harness/sql.ts'

const PRIMARY = { system: 'one', timeline: '00000002', written: 1000, inserted: 1000, writeDelayMs: 600 }
/** In this time the two servers are compared some twenty times. */
const WHILE_MS = 1000

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => void vi.useRealTimers())

/** A replica at this position, beside a primary that stays where it is: what the log says of it. */
async function logOf(
  position: object,
  primary: object = {},
  maxLagMs = 200,
): Promise<{ messages: string[]; isRead: boolean }> {
  const messages: string[] = []
  const log = pino({}, { write: (line: string) => void messages.push((JSON.parse(line) as { msg: string }).msg) })
  const probeOf = (row: object) => ({ sql: (async () => [row]) as unknown as Sql, patienceMs: 1000 })
  const reads: string[] = []
  const dbOf = (server: string): Db => ({ query: async () => (reads.push(server), []) }) as unknown as Db
  const standby = {
    probe: probeOf({ system: 'one', isStandby: true, timeline: '00000002', lsn: 1000, ...position }),
    db: dbOf('replica'),
    close: () => Promise.resolve(),
  } as unknown as Database
  const replica = new Replica({
    replica: standby,
    primary: probeOf({ ...PRIMARY, ...primary }),
    db: dbOf('primary'),
    maxLagMs,
    statementMs: 10_000,
    log,
  })
  await vi.advanceTimersByTimeAsync(WHILE_MS)
  await replica.reads.query(unnamed('SELECT 1'))
  await replica.close()
  expect(reads).toHaveLength(1)
  return { messages, isRead: reads[0] === 'replica' }
}

test.each([
  ['is read if it has all that the primary has', {}, /follows/, true],
  ['is read if it does not give its timeline', { timeline: null }, /follows/, true],
  ['is not read if it lacks what the primary has', { lsn: 999 }, /too far behind/, false],
  ['is not read if it belongs to another system', { system: 'two' }, /no standby of this primary/, false],
  ['is not read if it is no standby', { isStandby: false, lsn: null }, /no standby of this primary/, false],
  ['is not read if it is on another timeline', { timeline: '00000001' }, /no standby of this primary/, false],
  ['is not read if it is ahead of the primary', { lsn: 1001 }, /no standby of this primary/, false],
])('the server of DATABASE_REPLICA_URL %s', async (_what, position, message, isRead) => {
  expect(await logOf(position)).toEqual({ messages: [expect.stringMatching(message)], isRead })
})

test.each([
  ['read once the unwritten WAL can hold no commit', 50, /follows/, true],
  ['not read while the unwritten WAL may hold a commit', 600, /too far behind/, false],
])('a standby that has all that is written is %s', async (_what, writeDelayMs, message, isRead) => {
  const answer = await logOf({}, { inserted: 1040, writeDelayMs })
  expect(answer).toEqual({ messages: [expect.stringMatching(message)], isRead })
})
