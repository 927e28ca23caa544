import { beforeAll, expect, test, vi } from 'vitest'

import { onServer } from '../harness/database.ts'
import { useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

const service = useService()
let target: string
let counter = 0

beforeAll(async () => {
  const headers = await service.as('author')
  const path = '/discussions/by-external/gone/comments'
  target = (await service.call('POST', path, { body: { body: 'target' }, headers })).json.id
})

const REMOVE = unnamed('DELETE FROM readers WHERE external_id = $1 RETURNING id')
const FIND = unnamed('SELECT id FROM readers WHERE external_id = $1')

/** A reader in this process's cache whose record another process has removed, without a message. */
async function goneReader(): Promise<{ externalId: string; headers: Record<string, string>; formerId: string }> {
  const externalId = `gone-${++counter}`
  const headers = await service.as(externalId)
  const ticket = { body: { externalId: 'gone' }, headers }
  expect((await service.call('POST', '/stream/ticket', ticket)).status).toBe(201)
  const [row] = await service.app.db.query<{ id: string }>(REMOVE, [externalId])
  if (row === undefined) throw new Error('there is no record to remove')
  return { externalId, headers, formerId: row.id }
}

test.each([
  ['a comment', 'POST', () => '/discussions/by-external/gone/comments', { body: 'hello' }, 201],
  ['the first comment of a page', 'POST', () => '/discussions/by-external/gone-page/comments', { body: 'hello' }, 201],
  ['a reaction', 'POST', () => `/comments/${target}/reactions`, { type: 'like' }, 200],
  ['a reaction that is set', 'PUT', () => `/comments/${target}/reaction`, { type: 'like' }, 200],
  ['a report', 'POST', () => `/comments/${target}/report`, { reason: 'spam' }, 201],
])('%s for a cached reader whose record is gone creates a new record', async (_, method, path, body, status) => {
  const { externalId, headers, formerId } = await goneReader()
  const answer = await service.call(method, path(), { body, headers })
  expect(answer.status, answer.text).toBe(status)
  const [row] = await service.app.db.query<{ id: string }>(FIND, [externalId])
  expect(row?.id).toMatch(/^[0-9a-f-]{36}$/)
  expect(row?.id).not.toBe(formerId)
})

test('an Idempotency-Key does not change that', async () => {
  const { headers } = await goneReader()
  const path = '/discussions/by-external/gone/comments'
  const keyed = { ...headers, 'idempotency-key': 'gone' }
  expect((await service.call('POST', path, { body: { body: 'hello' }, headers: keyed })).status).toBe(201)
})

test('in a batch, a comment of a reader whose record is gone does not affect the others', async () => {
  const { headers } = await goneReader()
  const other = await service.as('somebody')
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, n) =>
      service.call('POST', '/discussions/by-external/gone/comments', {
        body: { body: `comment ${n}` },
        headers: n % 5 === 0 ? headers : other,
      }),
    ),
  )
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201))
})

const LOCK = unnamed("SELECT 1 FROM discussions WHERE external_id = 'gone' FOR UPDATE")
const WAITING = unnamed(
  `SELECT count(*) AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
)

// The embedded form has one connection: nothing can come between there.
test.runIf(onServer).each([
  ['comment', () => '/discussions/by-external/gone/comments', { body: 'hello' }, 201],
  ['reaction', () => `/comments/${target}/reactions`, { type: 'like' }, 200],
  ['report', () => `/comments/${target}/report`, { reason: 'spam' }, 201],
])(
  'a %s whose reader is erased while it waits for the discussion creates a new record (server form only)',
  async (_, path, body, status) => {
    const externalId = `waiting-${++counter}`
    const headers = await service.as(externalId)
    await service.call('POST', '/stream/ticket', { body: { externalId: 'gone' }, headers })
    const { db } = service.app
    let unlock = (): void => undefined
    let locked: Promise<unknown> = Promise.resolve()
    const holding = new Promise<void>((isLocked) => {
      locked = db.transaction(async (sql) => {
        await sql(LOCK)
        isLocked()
        await new Promise<void>((resolve) => (unlock = resolve))
      })
    })
    await holding
    try {
      const waiting = service.call('POST', path(), { body, headers })
      const isWaiting = async () => (await db.query<{ n: number }>(WAITING))[0]?.n ?? 0
      await vi.waitFor(async () => expect(await isWaiting()).toBeGreaterThan(0))
      expect(await db.query(REMOVE, [externalId])).toHaveLength(1)
      unlock()
      expect((await waiting).status).toBe(status)
    } finally {
      unlock()
      await locked
    }
    expect(await db.query(FIND, [externalId])).toHaveLength(1)
  },
)
