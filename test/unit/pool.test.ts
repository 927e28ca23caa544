import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

import { expect, test, vi } from 'vitest'

import { troubleOf } from '../../src/core/outage.ts'
import { Connection } from '../../src/data/server/connection.ts'
import { poolOn } from '../../src/data/embedded/session.ts'
import { lendPGlite, openTestDatabase } from '../harness/database.ts'
import { unnamed } from '../harness/sql.ts'

test('callers that wait for a connection when the database is closed get an answer', async () => {
  const { db, close } = await openTestDatabase()
  const numbers = Array.from({ length: 40 }, (_, n) => n)
  const answers = numbers.map((n) => db.query<{ n: number }>(unnamed('SELECT $1::int AS n'), [n]))
  const closed = close()
  expect((await Promise.all(answers)).map(([row]) => row?.n)).toEqual(numbers)
  await closed
})

test('a transaction under way when the database is closed continues, with Prisma too', async () => {
  const { db, close } = await openTestDatabase()
  const closed: Promise<void>[] = []
  const counted = await db.transaction(async (sql) => {
    const before = await sql.prisma.tenant.count()
    closed.push(close())
    await sql(unnamed('SELECT pg_sleep(0.05)'))
    return [before, await sql.prisma.tenant.count()]
  })
  expect(counted).toEqual([0, 0])
  await Promise.all(closed)
})

test('a failed transaction leaves nothing to the next statement', async () => {
  const { db, close } = await openTestDatabase()
  const failed = db.transaction(async (sql) => {
    await sql(unnamed("SET LOCAL application_name = 'of the transaction'"))
    await sql(unnamed('SELECT 1 / 0'))
  })
  await expect(failed).rejects.toMatchObject({ code: '22012' })
  const [row] = await db.query<{ name: string }>(unnamed("SELECT current_setting('application_name') AS name"))
  expect(row?.name).not.toBe('of the transaction')
  await close()
})

test('the answer to a statement is not held once it is read', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const { db, close } = await openTestDatabase()
  const read = () => db.query(unnamed("SELECT repeat('x', 1000000) AS text"))
  const held = (): number => {
    collect()
    return process.memoryUsage().heapUsed
  }
  await read()
  const before = held()
  for (let n = 0; n < 30; n++) await read()
  expect((held() - before) / 1e6).toBeLessThan(10)
  await close()
})

test('a PGlite whose program has ended is not called again', async () => {
  const { pglite } = await lendPGlite()
  const pool = poolOn(pglite)
  pool.on('error', () => undefined)
  const asked = vi.spyOn(pglite, 'execProtocolRawStream')
  await pool.query('SELECT 1')
  asked.mockRejectedValueOnce(new Error('Program terminated with exit(1)'))
  await expect(pool.query('SELECT 2')).rejects.toThrow('Program terminated')
  const times = asked.mock.calls.length
  await expect(pool.query('SELECT 3')).rejects.toThrow('PGlite is closed')
  expect(asked).toHaveBeenCalledTimes(times)
  asked.mockRestore()
  await pool.end()
  // Not given back: no other test could use it.
  await pglite.close()
})

/** An error as PostgreSQL sends it. */
function refusal(fields: Record<string, string>): Buffer {
  const body = `${Object.entries(fields)
    .map(([field, value]) => `${field}${value}\0`)
    .join('')}\0`
  const head = Buffer.alloc(5)
  head.write('E')
  head.writeInt32BE(4 + Buffer.byteLength(body), 1)
  return Buffer.concat([head, Buffer.from(body)])
}

test('a server that takes no connections is down, in whatever language it says so', async () => {
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', () =>
      socket.end(refusal({ S: 'ВАЖНО', V: 'FATAL', C: '55000', M: 'база данных не принимает подключения' })),
    )
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const error = await new Connection({ host: '127.0.0.1', port }).connect().catch((thrown: unknown) => thrown)
  expect(troubleOf(error)).toBe('down')
  server.close()
})
