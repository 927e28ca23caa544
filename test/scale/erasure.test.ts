import { expect, test, vi } from 'vitest'

import type { Sql } from '../../src/core/database/database.ts'
import { callsTo } from '../harness/calls.ts'
import { expectExactCounts as expectExact } from '../harness/counts.ts'
import { dumpTables } from '../harness/dump.ts'
import { newPerson } from '../harness/people.ts'
import { type Headers, PATIENT, useReaders, useService } from '../harness/service.ts'

const service = useService({ env: PATIENT })
const { bob } = useReaders(service, 'bob')

const { call, ok } = callsTo(() => service)

const post = (page: string, headers: Headers, body: string, parentId?: string) =>
  ok('POST', `/discussions/by-external/${page}/comments`, { body, parentId: parentId ?? null }, headers)
const erase = async (id: string) => expect((await call('DELETE', `/readers/${id}`)).status).toBe(204)
const setMode = (erasureMode: string) => ok('PATCH', '/settings', { erasureMode })
const expectExactCounts = () => expectExact(service.app.db, service.tenant.id)

test('more rows than one batch, over many discussions, are erased as well', async () => {
  await setMode('delete')
  const person = await newPerson(service)
  const mine = await post('many-0', person.headers, person.word)
  const count = 130
  const write = async (n: number): Promise<void> => {
    const { id } = await post(`many-${n % 7}`, person.headers, `${person.word} ${n}`)
    if (n % 10 === 0) await post(`many-${n % 7}`, bob, 'kept', id)
    await ok('POST', `/comments/${id}/reactions`, { type: 'like' }, person.headers)
  }
  for (let n = 0; n < count; n += 10) await Promise.all(Array.from({ length: 10 }, (_, k) => write(n + k)))
  await erase(mine.author.id)
  await expectExactCounts()
  const dump = await dumpTables(service.app.db)
  for (const mark of person.marks) expect(dump).not.toContain(mark)
})

test.each([
  ['without an Idempotency-Key', {}],
  ['with one', { 'idempotency-key': 'erase-in-short-transactions' }],
])('no transaction of an erasure locks more than one discussion and 20 comments: %s', async (_how, headers) => {
  await setMode('anonymise')
  const person = await newPerson(service)
  const written = [await post('short-0', person.headers, person.word)]
  for (let n = 1; n < 50; n++)
    written.push(await post(`short-${n < 30 ? 0 : n % 4}`, person.headers, `${person.word} ${n}`))
  const { transaction } = service.app.db
  const locked: { discussions: Set<unknown>; comments: Set<unknown> }[] = []
  vi.spyOn(service.app.db, 'transaction').mockImplementation((work, lockWaitMs) =>
    transaction((sql) => {
      const locks = { discussions: new Set<unknown>(), comments: new Set<unknown>() }
      locked.push(locks)
      const watched: Sql = (asked, params) => {
        if (asked.name === 'lock_discussion') locks.discussions.add(params?.[1])
        if (asked.name === 'lock_comment') locks.comments.add(params?.[1])
        return sql(asked, params)
      }
      return work(Object.assign(watched, { prisma: sql.prisma, within: sql.within }))
    }, lockWaitMs),
  )
  const { id } = written[0].author
  const erased = await call('DELETE', `/readers/${id}`, undefined, headers)
  vi.restoreAllMocks()
  expect(erased.status).toBe(204)
  expect(Math.max(...locked.map(({ discussions }) => discussions.size))).toBe(1)
  expect(Math.max(...locked.map(({ comments }) => comments.size))).toBe(20)
  expect(locked.flatMap(({ comments }) => [...comments])).toHaveLength(50)
  const dump = await dumpTables(service.app.db)
  for (const mark of person.marks) expect(dump).not.toContain(mark)
  if ('idempotency-key' in headers) {
    const again = await call('DELETE', `/readers/${id}`, undefined, headers)
    expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([204, 'true'])
  }
  await expectExactCounts()
})
