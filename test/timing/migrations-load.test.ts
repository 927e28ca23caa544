import pg from 'pg'
import { beforeAll, describe, expect, test, vi } from 'vitest'

import { onServer } from '../harness/database.ts'
import { useService } from '../harness/service.ts'
import { runningMs } from '../harness/standstill.ts'
import { startUpgrade } from '../harness/upgrade-process.ts'
import { unnamed } from '../harness/sql.ts'

const COMMENTS = Number(process.env.MIGRATION_COMMENTS ?? 20_000)
const WRITES_PER_SECOND = 50
const LONGEST_WAIT_MS = 1000
const WARM_UP_WRITES = 100

// Without triggers and foreign keys it takes a third of the time.
const FILL = `
  SET session_replication_role = replica;
  INSERT INTO discussions (tenant_id, id, external_id, comment_count, seq)
  SELECT id, gen_random_uuid(), 'filled-' || n, ${COMMENTS / 10}, 1 FROM tenants, generate_series(1, 10) n;
  INSERT INTO comments (tenant_id, id, discussion_id, body, body_html, status, first_approved_at)
  SELECT d.tenant_id, ('0190' || lpad(to_hex(n), 8, '0') || '7000' || substr(md5(d.id::text || n), 1, 16))::uuid, d.id,
    t.body, '<p>' || t.body || '</p>', 'approved', now()
  FROM discussions d, generate_series(1, ${COMMENTS / 10}) n,
    LATERAL (SELECT 'I have read this twice, and I still miss point ' || n AS body) t
  WHERE d.external_id LIKE 'filled-%';
  CREATE TABLE elsewhere (id bigserial PRIMARY KEY);`

interface Write {
  from: number
  to: number
  failure: string | null
}

describe.skipIf(!onServer)(`on a server${onServer ? '' : ' (skipped: needs DATABASE_URL)'}`, () => {
  const service = useService({ worker: true })
  let url: string

  beforeAll(async () => {
    const [row] = await service.app.db.query<{ name: string }>(unnamed('SELECT current_database() AS name'))
    const address = new URL(process.env.DATABASE_URL ?? '')
    address.pathname = `/${row?.name}`
    url = address.href
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    await client.query(FILL)
    await client.query('ANALYZE')
    await client.end()
  }, 600_000)

  /** Writes at a steady pace, however long each takes, until `stop`. */
  function startWriting(perSecond: number, write: (n: number) => Promise<void>) {
    const writes: Promise<Write>[] = []
    const timer = setInterval(() => {
      const from = runningMs()
      const end = (failure: string | null): Write => ({ from, to: runningMs(), failure })
      writes.push(
        write(writes.length).then(
          () => end(null),
          (error: unknown) => end(String(error)),
        ),
      )
    }, 1000 / perSecond)
    return async (): Promise<Write[]> => {
      clearInterval(timer)
      return Promise.all(writes)
    }
  }

  test(
    `no write waits longer than a second while ${COMMENTS} comments are migrated`,
    async () => {
      const readers = await Promise.all(Array.from({ length: 20 }, (_, n) => service.as(`reader-${n}`)))
      // Posts on old discussions, and edits and reactions on what was posted: all of it touches the
      // table that changes.
      let last: string | undefined
      let done = 0
      const stopWriting = startWriting(WRITES_PER_SECOND, async (n) => {
        const headers = readers[n % readers.length] ?? {}
        const isPost = last === undefined || n % 2 === 0
        const { status, json, text } = isPost
          ? await service.call('POST', `/discussions/by-external/filled-${1 + (n % 10)}/comments`, {
              headers,
              body: { body: `written ${n}` },
            })
          : await service.call('PUT', `/comments/${last}/reaction`, { headers, body: { type: 'like' } })
        if (status >= 300) throw new Error(text)
        done++
        if (isPost) last = json.id as string
      })
      // The delays here come from the machine: no migration touches this table.
      const elsewhere = new pg.Pool({ connectionString: url, max: 2 })
      const stopElsewhere = startWriting(
        20,
        async () => void (await elsewhere.query('INSERT INTO elsewhere DEFAULT VALUES')),
      )
      // The version to come, beside the one that writes above.
      const next = new pg.Pool({ connectionString: url, max: 1 })
      let written = 0
      const stopNext = startWriting(2, async () => {
        if (last === undefined) return
        const { rowCount } = await next
          .query(`UPDATE comments SET language = 'en' WHERE id = $1`, [last])
          .catch((error: { code?: string }) => {
            if (error.code === '42703') return { rowCount: 0 }
            throw error
          })
        written += rowCount ?? 0
      })
      // The first requests of a process are slow by themselves.
      await vi.waitFor(() => expect(done).toBeGreaterThan(WARM_UP_WRITES), { timeout: 60_000 })
      const startedAt = runningMs()
      expect(await startUpgrade(url).exited).toEqual([0, null])
      const tookMs = Math.round(runningMs() - startedAt)
      const [ofService, ofElsewhere, ofNext] = await Promise.all([stopWriting(), stopElsewhere(), stopNext()])
      await Promise.all([elsewhere.end(), next.end()])

      const writes = [...ofService, ...ofNext].filter(({ to }) => to > startedAt)
      expect(writes.flatMap(({ failure }) => failure ?? [])).toEqual([])
      const excuse = ({ from, to }: Write): number =>
        Math.max(
          0,
          ...ofElsewhere.filter((other) => other.from < to && other.to > from).map((other) => other.to - other.from),
        )
      const waits = writes.map((write) => write.to - write.from)
      console.log({ tookMs, writes: writes.length, longestMs: Math.max(...waits), written })
      expect(writes.map((write) => write.to - write.from - excuse(write)).filter((ms) => ms > LONGEST_WAIT_MS)).toEqual(
        [],
      )
      expect(ofService.length).toBeGreaterThan(0)
      expect(written).toBeGreaterThan(0)
      const [left] = await service.app.db.query(
        unnamed('SELECT count(*)::int AS n FROM comments WHERE language IS NULL'),
      )
      expect(left).toEqual({ n: 0 })
    },
    120_000 + 3 * COMMENTS,
  )
})
