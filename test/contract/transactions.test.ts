import { beforeAll, expect, test } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import type { Sql, TxSql } from '../../src/core/database/database.ts'
import { useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

const RENAME = unnamed('UPDATE tenants SET slug = $2 WHERE id = $1 RETURNING slug')
const FIND = unnamed('SELECT slug FROM tenants WHERE id = $1')
const FAIL = unnamed("SELECT $1::uuid, 'none'::int")

const service = useService()
let id: string

beforeAll(async () => {
  id = service.tenant.id
})

const rename = (sql: Sql, name: string): Promise<unknown> => sql(RENAME, [id, name])
const slug = async (sql: Sql = service.app.db.query): Promise<string | undefined> =>
  (await sql<{ slug: string }>(FIND, [id]))[0]?.slug

test('concurrent statements run in the order of their calls', async () => {
  const names = Array.from({ length: 20 }, () => newId())
  const seen = await service.app.db.transaction((sql) =>
    Promise.all(names.flatMap((name) => [rename(sql, name).then(() => undefined), slug(sql)])),
  )
  expect(seen.filter((name) => name !== undefined)).toEqual(names)
  expect(await slug()).toBe(names.at(-1))
})

test('nothing changes if one of them fails, and none runs after the end', async () => {
  const before = await slug()
  let late: Promise<unknown> = Promise.resolve()
  const run = service.app.db.transaction((sql) => {
    // It goes on although the transaction has failed.
    late = rename(sql, newId())
      .catch(() => undefined)
      .then(() => rename(sql, newId()))
      .catch(() => undefined)
      .then(() => rename(sql, newId()))
    late.catch(() => undefined)
    return Promise.all([sql(FAIL, [id]), rename(sql, newId()), rename(sql, newId())])
  })
  await expect(run).rejects.toThrow('invalid input syntax')
  await expect(late).rejects.toThrow(/aborted|has ended/)
  expect(await slug()).toBe(before)
})

test('an ignored failure fails the transaction', async () => {
  const before = await slug()
  const run = service.app.db.transaction((sql) => Promise.allSettled([rename(sql, newId()), sql(FAIL, [id])]))
  await expect(run).rejects.toThrow('was rolled back')
  expect(await slug()).toBe(before)
})

test('a statement after the end of its transaction is refused', async () => {
  let kept: TxSql | undefined
  await service.app.db.transaction(async (sql) => void (kept = sql))
  const before = await slug()
  await expect(rename(kept as TxSql, newId())).rejects.toThrow('has ended')
  expect(await slug()).toBe(before)
})
