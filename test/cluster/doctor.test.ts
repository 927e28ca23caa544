import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, createServer, type Server } from 'node:net'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { examine } from '../../src/cli/doctor.ts'
import { freePort } from '../harness/ports.ts'
import { hasPostgres, type PostgresServer, startPostgres } from '../harness/postgres.ts'

const CONNECT_MS = 1000
const skipped = hasPostgres ? '' : ' (skipped: needs PostgreSQL)'

describe.skipIf(!hasPostgres)(`the doctor asks each host of DATABASE_URL${skipped}`, () => {
  let primary: PostgresServer
  let standby: PostgresServer
  let stranger: PostgresServer
  const programs: Server[] = []

  beforeAll(async () => {
    primary = await startPostgres()
    standby = await startPostgres({}, primary)
    stranger = await startPostgres()
    programs.push(
      createHttpServer((_request, response) => response.end('hello')),
      createServer((socket) =>
        socket
          .on('error', () => undefined)
          .resume()
          .write('SSH-2.0-OpenSSH_9.2\r\n'),
      ),
      // One takes connections and sends nothing, another one ends each at once. A socket that is
      // not read never notices its end.
      createServer((socket) => void socket.on('error', () => undefined).resume()),
      createServer((socket) =>
        socket
          .on('error', () => undefined)
          .resume()
          .end(),
      ),
    )
    for (const program of programs) await new Promise<void>((resolve) => program.listen(0, '127.0.0.1', resolve))
  })
  afterAll(async () => {
    for (const program of programs) program.close()
    await Promise.all([primary, standby, stranger].map((server) => server?.close()))
  })

  const at = ({ port }: { port: number }): string => `127.0.0.1:${port}`
  const portOf = (program: Server | undefined): number => (program?.address() as AddressInfo | undefined)?.port ?? 0

  /** The lines of the hosts, without levels that are `ok`, and all lines of the database. */
  async function ask(hosts: readonly string[], name = 'postgres', more: Record<string, string> = {}) {
    const begun = performance.now()
    const found = await examine({
      DATABASE_URL: `postgres://postgres:hunter2@${hosts.join(',')}/${name}`,
      DATABASE_CONNECT_TIMEOUT_SECONDS: String(CONNECT_MS / 1000),
      ADMIN_JWT_SECRET: 'a'.repeat(32),
      ENCRYPTION_KEY: Buffer.alloc(32).toString('base64'),
      ...more,
    })
    for (const { text } of found) expect(text).not.toContain('hunter2')
    const lines = found.filter(({ part }) => /^hosts?$/.test(part)).map(({ level, text }) => `${level} ${text}`)
    return { lines, ms: performance.now() - begun, database: found.find(({ part }) => part === 'database') }
  }

  test('a single host has no line of its own', async () => {
    expect((await ask([at(primary)])).lines).toEqual([])
  })

  test('tells a primary from its standby', async () => {
    expect((await ask([at(standby), at(primary)])).lines).toEqual([
      `ok ${at(standby)} is a standby`,
      `ok ${at(primary)} takes writes`,
    ])
  })

  test('one server under two names is no split brain', async () => {
    const { lines } = await ask([at(primary), `localhost:${primary.port}`])
    expect(lines).toEqual([`ok ${at(primary)} takes writes`, `ok localhost:${primary.port} takes writes`])
  })

  test('a host that is down, frozen or mute: a warning each, in time', async () => {
    const nobody = `127.0.0.1:${await freePort()}`
    const mute = `127.0.0.1:${portOf(programs[2])}`
    const closing = `127.0.0.1:${portOf(programs[3])}`
    standby.freeze()
    try {
      const { lines, ms, database } = await ask([nobody, at(standby), mute, closing, at(primary)])
      expect(lines).toEqual([
        `warn ${nobody} does not answer (ECONNREFUSED): start it, or take it out of the URL`,
        expect.stringMatching(new RegExp(`^warn ${at(standby)} does not answer \\(`)),
        expect.stringMatching(new RegExp(`^warn ${mute} does not answer \\(`)),
        expect.stringMatching(new RegExp(`^warn ${closing} does not answer \\(`)),
        `ok ${at(primary)} takes writes`,
      ])
      expect(database?.level).toBe('ok')
      // All at once, and each at most twice; the rest is what else the doctor looks at.
      expect(ms).toBeLessThan(5 * CONNECT_MS)
    } finally {
      standby.unfreeze()
    }
  })

  test('without a host that takes writes, each host is reported all the same', async () => {
    const { lines, database } = await ask([at(standby), `127.0.0.1:${await freePort()}`])
    expect(lines).toEqual([`ok ${at(standby)} is a standby`, expect.stringMatching(/^warn .* does not answer/)])
    expect(database?.level).toBe('fail')
  })

  test('recognises other programs, a server without this database, and a different server', async () => {
    const [http, ssh] = [`127.0.0.1:${portOf(programs[0])}`, `127.0.0.1:${portOf(programs[1])}`]
    const { lines } = await ask([at(primary), http, ssh])
    expect(lines).toEqual([
      `ok ${at(primary)} takes writes`,
      `fail ${http} is another program, not PostgreSQL: look at the address and the port`,
      `fail ${ssh} is another program, not PostgreSQL: look at the address and the port`,
    ])
    expect((await ask([at(primary), at(standby)], 'missing')).lines).toEqual(
      [primary, standby].map(
        (server) => `warn ${at(server)} answers, but lets nobody in (database "missing" does not exist)`,
      ),
    )
    expect((await ask([at(stranger), at(standby)])).lines).toEqual([
      `ok ${at(stranger)} takes writes`,
      `fail ${at(standby)} is a standby of another server: take it out of the URL`,
    ])
    expect((await ask([at(primary), at(stranger)])).lines.at(-1)).toMatch(
      /^fail DATABASE_URL: \S+ and \S+ both take writes: different database servers/,
    )
  })

  test('asks the hosts of DATABASE_DIRECT_URL too', async () => {
    const direct = `postgres://postgres@${at(primary)},${at(standby)}/postgres`
    const { lines } = await ask([at(primary)], 'postgres', { DATABASE_DIRECT_URL: direct })
    expect(lines).toEqual([`ok ${at(primary)} takes writes`, `ok ${at(standby)} is a standby`])
  })

  // The last one: the standby follows nobody afterwards.
  test('a standby that was promoted beside its primary is a split brain', async () => {
    await standby.promote()
    const { lines } = await ask([at(primary), at(standby)])
    expect(lines.slice(0, 2)).toEqual([`ok ${at(primary)} takes writes`, `ok ${at(standby)} takes writes`])
    expect(lines[2]).toBe(
      `fail DATABASE_URL: ${at(primary)} and ${at(standby)} both take writes: a split brain: what is written to one is not on the other. Stop all but the right one`,
    )
  })
})
