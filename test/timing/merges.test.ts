import { expect, test, vi } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { callsTo } from '../harness/calls.ts'
import { onServer } from '../harness/database.ts'
import { tracesOf } from '../harness/dump.ts'
import { newReader } from '../harness/people.ts'
import { type Headers, useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

// A request that has waited 100 ms for a lock starts over.

const service = useService()

const { call, ok } = callsTo(() => service)

const post = (page: string, headers: Headers, body: string, parentId?: string) =>
  ok('POST', `/discussions/by-external/${page}/comments`, { body, parentId: parentId ?? null }, headers)
const merge = (from: string, into: string, headers: Headers = {}) =>
  call('POST', `/readers/${from}/merge`, { into }, headers)

const newPage = () => `page-${newId()}`

const LOCK = unnamed('SELECT 1 FROM discussions WHERE id = $1 FOR UPDATE')
const WAITING = unnamed(
  `SELECT count(*) AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
)

// The embedded form has one connection: nothing can come between there.
test.runIf(onServer).each([
  ['comment', (discussionId: string) => `/discussions/${discussionId}/comments`, { body: 'hello' }],
  ['reaction', (_: string, commentId: string) => `/comments/${commentId}/reactions`, { type: 'like' }],
  ['report', (_: string, commentId: string) => `/comments/${commentId}/report`, { reason: 'spam' }],
])(
  'a %s that waits for its discussion while its reader is merged belongs to the reader who stays (server form only)',
  async (_, path, body) => {
    const { db } = service.app
    for (let n = 0; n < 5; n++) {
      const [a, b, author] = [await newReader(service), await newReader(service), await newReader(service)]
      const target = await post(newPage(), author.headers, 'of another')
      let unlock = (): void => undefined
      let locked: Promise<unknown> = Promise.resolve()
      const holding = new Promise<void>((isLocked) => {
        locked = db.transaction(async (sql) => {
          await sql(LOCK, [target.discussionId])
          isLocked()
          await new Promise<void>((resolve) => (unlock = resolve))
        })
      })
      await holding
      try {
        const waiting = call('POST', path(target.discussionId, target.id), body, a.headers)
        const isWaiting = async () => (await db.query<{ n: number }>(WAITING))[0]?.n ?? 0
        await vi.waitFor(async () => expect(await isWaiting()).toBeGreaterThan(0), { timeout: 5000, interval: 1 })
        expect((await merge(a.id, b.id)).status).toBe(200)
        unlock()
        const { status, text } = await waiting
        expect(status, text).toBeLessThan(300)
      } finally {
        unlock()
        await locked
      }
      const { comments, reactions, reportsMade } = await ok('GET', `/readers/${b.id}/export`)
      expect([...comments, ...reactions, ...reportsMade]).toHaveLength(1)
      expect(await tracesOf(service.app.db, a.id)).toEqual([])
    }
  },
)

test.runIf(onServer)(
  'a moderator who waits for a comment while its author is merged sees the one who stays (server form only)',
  async () => {
    const { db } = service.app
    const isWaiting = async () => (await db.query<{ n: number }>(WAITING))[0]?.n ?? 0
    const wait = (n: number) =>
      vi.waitFor(async () => expect(await isWaiting()).toBe(n), { timeout: 2000, interval: 1 })
    const pin = unnamed(`SELECT data->'comment'->'author'->>'id' AS id FROM events
      WHERE discussion_id = $1 AND type = 'comment_pinned'`)
    // A request that has waited 100 ms starts over behind the other one: on a busy machine the
    // moderator may be first, and then sees the reader from before, or both never wait at once.
    for (let round = 1; ; round++) {
      const [a, b] = [await newReader(service), await newReader(service)]
      const { id, discussionId } = await post(newPage(), a.headers, 'of a')
      const waiting: ReturnType<typeof call>[] = []
      await db.transaction(async (sql) => {
        await sql(LOCK, [discussionId])
        // In this order they get the lock.
        waiting.push(merge(a.id, b.id))
        await wait(1)
        waiting.push(call('POST', `/comments/${id}/pin`))
        if (round < 10) await wait(2).catch(() => undefined)
        else await wait(2)
      })
      const [merged, pinned] = await Promise.all(waiting)
      expect(merged?.status, merged?.text).toBe(200)
      expect(await tracesOf(service.app.db, a.id)).toEqual([])
      expect(await db.query(pin, [discussionId])).toEqual([{ id: b.id }])
      if (pinned?.json.author.id === a.id && round < 10) continue
      expect(pinned?.json).toMatchObject({ author: { id: b.id, externalId: b.externalId } })
      break
    }
  },
)
