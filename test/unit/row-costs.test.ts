import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'

import { RowCosts } from '../../src/core/queues/row-costs.ts'
import type { App } from '../../src/core/app.ts'
import { sharedWriter } from '../../src/core/queues/shared-writer.ts'

const rowsOf = (counts: Record<string, number>): string[] =>
  Object.entries(counts).flatMap(([tenant, rows]) => Array.from({ length: rows }, () => tenant))

/** Milliseconds of a statement. A row of a tenant takes 0.2, unless `rowMs` says otherwise. */
const msOf = (tenants: readonly string[], rowMs: Record<string, number> = {}): number =>
  tenants.reduce((sum, tenant) => sum + (rowMs[tenant] ?? 0.2), 3)

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'performance'] })
  // Zero is no time for an LRUCache.
  vi.advanceTimersByTime(1)
})
afterEach(() => void vi.useRealTimers())

describe('costs of rows', () => {
  const learned = (rowMs: Record<string, number>, ...statements: Record<string, number>[]): RowCosts => {
    const costs = new RowCosts()
    costs.note('slow')
    costs.note('other')
    for (const rows of statements.map(rowsOf)) costs.learn(rows, msOf(rows, rowMs))
    return costs
  }

  test('one statement is enough to recognise a tenant whose rows are slow', () => {
    const costs = learned({ slow: 10 }, { slow: 60, other: 4 })
    expect(costs.heavy(rowsOf({ slow: 10, other: 20 }))).toEqual(new Set(['slow']))
  })

  test("a tenant is not blamed for another's slow rows in the same statements", () => {
    const mixed = Array.from({ length: 100 }, (_, n) => ({ slow: 20 + (n % 7), other: 1 + (n % 3) }))
    const costs = learned({ slow: 10 }, ...mixed)
    expect(costs.heavy(rowsOf({ slow: 2, other: 6 }))).toEqual(new Set(['slow']))
  })

  test('not even if each has one row, once it has also written without the other', () => {
    const mixed = Array.from({ length: 100 }, () => [{ slow: 1, other: 1 }, { other: 1 }, { slow: 1 }]).flat()
    const costs = learned({ slow: 12 }, ...mixed)
    expect(costs.heavy(rowsOf({ slow: 1, other: 20 }))).toEqual(new Set(['slow']))
  })

  test('a tenant that is no longer slow is recognised', () => {
    const costs = learned({ slow: 10 }, { slow: 60 }, { slow: 20 })
    expect(costs.heavy(rowsOf({ slow: 20 }))).toEqual(new Set(['slow']))
    for (let n = 0; n < 40; n++) costs.learn(rowsOf({ slow: 2 + (n % 5) }), msOf(rowsOf({ slow: 2 + (n % 5) })))
    expect(costs.heavy(rowsOf({ slow: 20 }))).toEqual(new Set(['slow']))
    vi.advanceTimersByTime(1001)
    expect(costs.heavy(rowsOf({ slow: 5 }))).toEqual(new Set())
  })

  test('a tenant need not write apart while no other one writes', () => {
    const costs = learned({ slow: 10 }, { slow: 60 })
    vi.advanceTimersByTime(10_001)
    costs.note('other')
    costs.note('slow')
    vi.advanceTimersByTime(9_999)
    costs.note('slow')
    expect(costs.heavy(rowsOf({ slow: 60 }))).toEqual(new Set(['slow']))
    vi.advanceTimersByTime(2)
    expect(costs.heavy(rowsOf({ slow: 60 }))).toEqual(new Set())
    costs.note('other')
    expect(costs.heavy(rowsOf({ slow: 60 }))).toEqual(new Set(['slow']))
  })

  test('a single stall is forgotten', () => {
    const rows = rowsOf({ one: 3, other: 1 })
    const costs = learned({}, { one: 3, other: 1 })
    costs.learn(rows, 2000)
    for (let n = 0; n < 40; n++) costs.learn(rowsOf({ one: 1 + (n % 5) }), msOf(rowsOf({ one: 1 + (n % 5) })))
    expect(costs.heavy(rowsOf({ one: 5 }))).toEqual(new Set())
  })

  test('a statement has as many rows as it can write in the time, at least four', () => {
    const costs = learned({ slow: 5, huge: 500 }, ...Array.from({ length: 20 }, () => ({ slow: 9 })))
    expect(costs.fitting(rowsOf({ slow: 60 }), 50)).toBeGreaterThanOrEqual(9)
    expect(costs.fitting(rowsOf({ slow: 60 }), 50)).toBeLessThanOrEqual(11)
    expect(costs.fitting([...rowsOf({ slow: 60 }).map(() => null), 'slow'], 50)).toBe(61)
    costs.learn(rowsOf({ huge: 4 }), msOf(rowsOf({ huge: 4 }), { huge: 500 }))
    expect(costs.fitting(rowsOf({ huge: 60 }), 50)).toBe(4)
  })

  test('rows of unknown tenants are few, until their cost is known', () => {
    const costs = new RowCosts()
    expect(costs.fitting(rowsOf({ unknown: 128 }), 50)).toBe(20)
    costs.learn(rowsOf({ unknown: 20 }), msOf(rowsOf({ unknown: 20 })))
    expect(costs.fitting(rowsOf({ unknown: 128 }), 50)).toBe(128)
  })
})

describe('tenants that write at the same time', () => {
  interface Draft {
    tenant: string
    n: number
  }

  /** A writer on a database whose statements take what their rows cost, by the fake clock. */
  function writerOn(connections: number, rowMs: Record<string, number>) {
    const statements: { tenants: Set<string>; drafts: readonly Draft[]; begun: number; ended: number }[] = []
    const underWay = { apart: 0, most: 0 }
    const write = sharedWriter<Draft, { isBusy: false }>({
      name: 'comments',
      write: async (_app, drafts) => {
        const tenants = new Set(drafts.map(({ tenant }) => tenant))
        const statement = { tenants, drafts, begun: performance.now(), ended: Infinity }
        statements.push(statement)
        const isSlow = [...tenants].some((tenant) => rowMs[tenant] !== undefined)
        if (isSlow) underWay.most = Math.max(underWay.most, ++underWay.apart)
        const ms = msOf(
          drafts.map(({ tenant }) => tenant),
          rowMs,
        )
        await new Promise((resolve) => setTimeout(resolve, ms))
        if (isSlow) underWay.apart--
        statement.ended = performance.now()
        return drafts.map(() => ({ isBusy: false }))
      },
      isBusy: ({ isBusy }) => isBusy,
      tenantOf: ({ tenant }) => tenant,
      placeOf: () => 'page',
      turnOf: () => null,
      spanOf: () => undefined,
    })
    const app = { db: { connections, maxWaitMs: 60_000 }, settings: { DATABASE_LOCK_PATIENCE_SECONDS: 1 } } as App
    const counts: Record<string, number> = {}
    const post = (tenant: string): Promise<unknown> =>
      write(app, { tenant, n: (counts[tenant] = (counts[tenant] ?? 0) + 1) })
    /** Clients that post again with each answer, until `until`. */
    const clients = (tenant: string, count: number, until: number, onAnswer?: (ms: number) => void): void => {
      const loop = async (): Promise<void> => {
        while (performance.now() < until) {
          const from = performance.now()
          await post(tenant)
          onAnswer?.(performance.now() - from)
        }
      }
      for (let n = 0; n < count; n++) void loop()
    }
    return { statements, underWay, post, clients, counts }
  }

  const idle = async (): Promise<void> => {
    await vi.advanceTimersByTimeAsync(60_000)
    expect(vi.getTimerCount()).toBe(0)
  }

  test('share statements, except with one whose rows are slow: each waits for at most two of its own', async () => {
    const { statements, clients } = writerOn(16, { slow: 10 })
    const waits: number[] = []
    clients('slow', 64, 5000)
    await vi.advanceTimersByTimeAsync(300)
    // The first ones wait for the statement that is under way.
    clients('one', 4, 5000, (ms) => waits.push(ms))
    clients('other', 4, 5000, (ms) => waits.push(ms))
    await vi.advanceTimersByTimeAsync(600)
    expect(waits.length).toBeGreaterThan(8)
    const known = statements.length
    waits.length = 0
    await idle()
    const later = statements.slice(known)
    expect(later.filter(({ tenants }) => tenants.has('slow') && tenants.size > 1)).toEqual([])
    expect(later.some(({ tenants }) => tenants.has('one') && tenants.has('other'))).toBe(true)
    // Two statements of eight rows.
    expect(Math.max(...waits)).toBeLessThanOrEqual(2 * msOf(rowsOf({ one: 4, other: 4 })))
    expect(waits.length).toBeGreaterThan(5000)
  })

  test('wait only for few rows of a tenant that is not known yet', async () => {
    const { statements, clients } = writerOn(16, { slow: 10 })
    clients('slow', 64, 1000)
    clients('one', 4, 1000)
    await idle()
    const shared = statements.filter(({ tenants }) => tenants.has('slow') && tenants.size > 1)
    expect(shared.length).toBeLessThanOrEqual(1)
    for (const { drafts } of statements.slice(0, 2)) expect(drafts.length).toBeLessThanOrEqual(20)
  })

  test("keep each tenant's order, together or apart, and nothing is written twice", async () => {
    const rowMs: Record<string, number> = {}
    const { statements, post, counts } = writerOn(16, rowMs)
    const posted: Promise<unknown>[] = []
    for (let round = 0; round < 40; round++) {
      // It is slow in every other ten rounds.
      if (round % 10 === 0) rowMs.slow = round % 20 === 0 ? 10 : 0.2
      for (let n = 0; n < 16; n++) posted.push(post('slow'), post('one'))
      await vi.advanceTimersByTimeAsync(round % 4 === 3 ? 2000 : 20)
    }
    await idle()
    await Promise.all(posted)
    const isShared = statements.map(({ tenants }) => tenants.size > 1)
    expect([isShared.includes(true), isShared.includes(false)]).toEqual([true, true])
    for (const tenant of ['slow', 'one']) {
      const written = statements.flatMap(({ drafts }) => drafts.filter((draft) => draft.tenant === tenant))
      expect(written.map(({ n }) => n)).toEqual(Array.from({ length: counts[tenant] ?? 0 }, (_, n) => n + 1))
      const own = statements.filter(({ tenants }) => tenants.has(tenant))
      for (const [n, { begun }] of own.entries()) expect(begun).toBeGreaterThanOrEqual(own[n - 1]?.ended ?? 0)
    }
  })

  test('leave most of the pool free, however many of them are slow', async () => {
    const slow = Object.fromEntries(Array.from({ length: 12 }, (_, n) => [`slow-${n}`, 10]))
    const { clients, underWay, counts } = writerOn(16, slow)
    for (const tenant of Object.keys(slow)) clients(tenant, 16, 20_000)
    await vi.advanceTimersByTimeAsync(5000)
    underWay.most = 0
    await idle()
    expect(underWay.most).toBe(4)
    const each = Object.values(counts)
    expect(Math.max(...each)).toBeLessThanOrEqual(1.5 * Math.min(...each))
  })

  test('on one connection wait for one short statement of the slow one', async () => {
    const { statements, clients } = writerOn(1, { slow: 10 })
    clients('slow', 64, 2000)
    clients('one', 1, 2000)
    await idle()
    for (const { drafts } of statements.slice(20)) expect(drafts.length).toBeLessThanOrEqual(6)
  })

  test('share statements again once none is slow any more', async () => {
    const rowMs: Record<string, number> = { slow: 10 }
    const { statements, post } = writerOn(16, rowMs)
    const round = async (): Promise<Set<string>[]> => {
      const before = statements.length
      const posted = Array.from({ length: 12 }, () => [post('one'), post('slow')]).flat()
      await idle()
      await Promise.all(posted)
      return statements.slice(before).map(({ tenants }) => tenants)
    }
    await round()
    expect((await round()).filter(({ size }) => size > 1)).toEqual([])
    rowMs.slow = 0.2
    for (let n = 0; n < 20; n++) await round()
    expect((await round()).filter(({ size }) => size > 1)).not.toEqual([])
  })
})
