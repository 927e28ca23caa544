import { beforeAll, describe, expect, test, vi } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { codeOf, troubleOf } from '../../src/core/outage.ts'
import { ofTenant } from '../../src/core/queues/patience.ts'
import { inOneTransaction } from '../../src/core/scope.ts'
import type { Sql } from '../../src/core/database/database.ts'
import { onServer } from '../harness/database.ts'
import { useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

const RENAME = unnamed('UPDATE tenants SET slug = $2 WHERE id = $1')
const READ_ONLY = unnamed('SET TRANSACTION READ ONLY')
const FIND = unnamed('SELECT slug FROM tenants WHERE id = $1')

const service = useService()
let id: string

beforeAll(async () => {
  id = service.tenant.id
})

const slugBySql = async (sql: Sql): Promise<string | undefined> => (await sql<{ slug: string }>(FIND, [id]))[0]?.slug
const slug = async (): Promise<string | undefined> =>
  (await service.app.prisma.tenant.findUnique({ where: { id } }))?.slug

describe('Prisma in a transaction', () => {
  test('sees what SQL has written there, and SQL what Prisma has; other connections do not', async () => {
    const before = await slug()
    const renamed = newId()
    const again = newId()
    const run = service.app.db.transaction(async (sql) => {
      await sql(RENAME, [id, renamed])
      expect((await sql.prisma.tenant.findUnique({ where: { id } }))?.slug).toBe(renamed)
      await sql.prisma.tenant.update({ where: { id }, data: { slug: again } })
      expect(await slugBySql(sql)).toBe(again)
      throw new Error('enough')
    })
    await expect(run).rejects.toThrow('enough')
    expect(await slug()).toBe(before)
  })

  test('commits with it', async () => {
    const renamed = newId()
    await service.app.db.transaction((sql) => sql.prisma.tenant.update({ where: { id }, data: { slug: renamed } }))
    expect(await slug()).toBe(renamed)
    expect(await slugBySql(service.app.db.query)).toBe(renamed)
  })

  test('many at once stay separate', async () => {
    const sessions = Array.from({ length: 12 }, () => newId())
    await Promise.all(
      sessions.map(async (name) => {
        const run = service.app.db.transaction(async (sql) => {
          const { prisma } = sql
          const made = await prisma.tenant.create({ data: { id: newId(), slug: name } })
          const [found, others] = [
            await prisma.tenant.findUnique({ where: { id: made.id } }),
            await prisma.tenant.count({ where: { slug: { in: sessions } } }),
          ]
          expect([found?.slug, others]).toEqual([name, 1])
          throw new Error('enough')
        })
        await expect(run).rejects.toThrow('enough')
      }),
    )
  })

  test('an error of the database keeps its code', async () => {
    const taken = (await slug()) ?? ''
    const run = service.app.db.transaction((sql) => sql.prisma.tenant.create({ data: { id: newId(), slug: taken } }))
    await expect(run).rejects.toSatisfy((error: Error) => codeOf(error) === '23505')
  })

  test.skipIf(!onServer)(
    'that fails to get a lock runs again once it is free (skipped: needs DATABASE_URL)',
    async () => {
      const { db } = ofTenant(service.app, id)
      let runs = 0
      let letGo: () => void = () => undefined
      let holds: () => void = () => undefined
      const held = new Promise<void>((resolve) => (holds = resolve))
      const gate = new Promise<void>((resolve) => (letGo = resolve))
      const holder = service.app.db.transaction(async (sql) => {
        await sql(RENAME, [id, newId()])
        holds()
        await gate
      })
      await held
      const renamed = newId()
      const waiting = db.transaction(async (sql) => {
        runs++
        await sql.prisma.tenant.update({ where: { id }, data: { slug: renamed } })
      })
      await vi.waitFor(() => expect(runs).toBeGreaterThan(1))
      letGo()
      await Promise.all([holder, waiting])
      expect(await slug()).toBe(renamed)
    },
  )

  test('if the database takes no writes, is an outage', async () => {
    const run = service.app.db.transaction(async (sql) => {
      await sql(READ_ONLY)
      await sql.prisma.tenant.update({ where: { id }, data: { slug: newId() } })
    })
    await expect(run).rejects.toSatisfy((error) => troubleOf(error) === 'read_only')
  })
})

describe("Prisma in a request's one transaction", () => {
  test('reads and writes there, and a step that fails undoes its writes', async () => {
    const before = await slug()
    const [first, second] = [newId(), newId()]
    const run = inOneTransaction(service.app, async (_sql, attempt) => {
      await attempt((app) =>
        app.db.transaction((sql) => sql.prisma.tenant.update({ where: { id }, data: { slug: first } })),
      )
      const failed = attempt(async (app) => {
        await app.db.transaction((sql) => sql.prisma.tenant.update({ where: { id }, data: { slug: second } }))
        expect((await app.prisma.tenant.findUnique({ where: { id } }))?.slug).toBe(second)
        throw new Error('a step')
      })
      await expect(failed).rejects.toThrow('a step')
      await attempt(async (app) => {
        const rows = await Promise.all([
          app.prisma.tenant.findUnique({ where: { id } }),
          app.prisma.tenant.findFirst({ where: { id } }),
          app.db.query<{ slug: string }>(FIND, [id]).then(([row]) => row),
        ])
        expect(rows.map((row) => row?.slug)).toEqual([first, first, first])
      })
      throw new Error('all')
    })
    await expect(run).rejects.toThrow('all')
    expect(await slug()).toBe(before)
  })

  test('is refused once the transaction is over', async () => {
    let kept = service.app
    await inOneTransaction(service.app, (_sql, attempt) =>
      attempt(async (app) => {
        kept = app
        await app.prisma.tenant.findUnique({ where: { id } })
      }),
    )
    await expect(kept.prisma.tenant.findUnique({ where: { id } })).rejects.toThrow(/closed|over/)
  })
})

test('many reads of one tick, alike or not, need no transaction', async () => {
  const { prisma } = service.app
  const where = { id }
  const read = await Promise.all([
    prisma.tenant.findUnique({ where }),
    prisma.tenant.findUnique({ where, include: { apiKeys: { where: { revokedAt: null } } } }),
    prisma.tenant.findUnique({ where, include: { apiKeys: { where: { revokedAt: null } } } }),
    prisma.tenant.findUnique({ where: { id: newId() }, include: { apiKeys: { where: { revokedAt: null } } } }),
  ])
  expect(read.map((row) => row?.id)).toEqual([id, id, id, undefined])
})

test('Prisma outside of a transaction refuses writes that need one', async () => {
  const run = service.app.prisma.tenant.create({
    data: {
      id: newId(),
      slug: newId(),
      readers: { create: { id: newId(), externalId: 'x', profileIssuedAt: new Date() } },
    },
  })
  await expect(run).rejects.toThrow('db.transaction')
})
