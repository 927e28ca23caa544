import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'

import { upgrade } from '../../src/data/migrations/migrate.ts'
import { openServer } from '../../src/data/server/server.ts'
import { createBareDatabase, onServer, PATIENT } from '../harness/database.ts'
import { SILENT } from '../harness/log.ts'
import { callerFor, furnish, keyOf, READER, resourceOf, type Side } from '../harness/resources.ts'
import { DESCRIBED_ROUTES, requestOf, sampleOf } from '../harness/routes.ts'
import { startService, type TestService } from '../harness/service.ts'
import { listen } from '../harness/sse.ts'

/** What ALTER DATABASE … SET can change, and the code depends on. */
const HOSTILE = {
  DateStyle: `'German, DMY'`,
  TimeZone: `'Asia/Kathmandu'`,
  IntervalStyle: 'sql_standard',
  bytea_output: 'escape',
  standard_conforming_strings: 'off',
  client_encoding: 'LATIN9',
  search_path: 'pg_catalog, elsewhere',
  extra_float_digits: '-15',
  array_nulls: 'off',
  transform_null_equals: 'on',
  gin_fuzzy_search_limit: '1',
  default_transaction_isolation: 'serializable',
  default_transaction_deferrable: 'on',
  idle_session_timeout: '50',
  // Less than migrations take. A busy machine may not get through its shortest statements in less.
  statement_timeout: '50',
  lock_timeout: '1',
  idle_in_transaction_session_timeout: '1',
  row_security: 'off',
}

const DATABASES = [
  { name: 'of hostile settings', options: '', settings: HOSTILE },
  {
    name: 'with the Turkish locale of ICU',
    options: `LOCALE_PROVIDER icu ICU_LOCALE 'tr-TR' LOCALE 'C.UTF-8'`,
    settings: {},
  },
  { name: 'with the locale C', options: `LOCALE 'C'`, settings: {} },
]

/** What is stored, what is searched for. */
const FOUND = [
  ['TITLE of ISTANBUL', 'title istanbul'],
  ['İstanbul', 'ISTANBUL'],
  ['Işık', 'ISIK'],
  ['ПРИВЕТ, мир', 'привет МИР'],
  ['ΛΌΓΟΣ', 'λόγος'],
  ['Ångström', 'ANGSTROM'],
  ['ŁÓDŹ', 'łódź'],
  ['ԲԱՐԵՎ', 'բարեվ'],
] as const

const SKIPPED = onServer ? '' : ' (skipped: needs DATABASE_URL)'

describe.skipIf(!onServer).each(DATABASES)(`a database $name${SKIPPED}`, ({ options, settings }) => {
  let service: TestService
  let side: Side
  const began = Date.now()

  beforeAll(async () => {
    const { url, drop } = await createBareDatabase(options, settings)
    const server = await openServer({ url, size: 8, onError: () => undefined, deadlines: PATIENT })
    await upgrade(server, SILENT)
    const close = async (): Promise<void> => {
      await server.close()
      await drop()
    }
    service = await startService({ database: { ...server, close } })
    side = await furnish(service, service, 'databases')
  })
  afterAll(() => service.close())

  test('every read of the API answers as in any other, with instants of now', async () => {
    const reads = DESCRIBED_ROUTES.filter(({ route }) => route.method === 'GET')
    expect(reads.length).toBeGreaterThan(30)
    for (const described of reads) {
      const { path } = requestOf(described, (slot) =>
        slot.isId ? side.ids[resourceOf(described, slot)] : sampleOf(slot),
      )
      const credentials = await callerFor(service, side, described)
      const reader = described.access === 'reader' ? await side.as(READER) : {}
      const answer = await service.call('GET', path, { headers: { ...credentials, ...reader } })
      expect([path, answer.status, answer.text]).toEqual([path, 200, answer.text])
      for (const [, at = ''] of answer.text.matchAll(/"(?:createdAt|updatedAt|occurredAt)":"([^"]+)"/g)) {
        expect(new Date(at).toISOString()).toBe(at)
        expect(Math.abs(Date.parse(at) - began)).toBeLessThan(30 * 60_000)
      }
    }
  })

  test('a comment is posted, streamed, edited, liked, reported and judged', async () => {
    const { json: page } = await service.call('POST', '/discussions', { body: { externalId: 'whole-way' } })
    const stream = await listen(`${service.url}/api/v1/stream/${page.id}?lastEventId=0`, keyOf(service))
    const [ann, bob] = [await service.as('ann'), await service.as('bob')]
    const text = "a backslash \\n, a quote ', ünï, 😀"
    const posted = await service.call('POST', `/discussions/${page.id}/comments`, {
      headers: ann,
      body: { body: text },
    })
    expect(posted).toMatchObject({ status: 201, json: { body: text } })
    const path = `/comments/${posted.json.id}`
    const edited = await service.call('PATCH', path, { headers: ann, body: { body: `${text}!` } })
    expect(edited).toMatchObject({ status: 200, json: { body: `${text}!` } })
    expect(
      (await service.call('POST', `${path}/reactions`, { headers: bob, body: { type: 'like' } })).status,
    ).toBeLessThan(300)
    expect(
      (await service.call('POST', `${path}/report`, { headers: bob, body: { reason: 'spam' } })).status,
    ).toBeLessThan(300)
    expect((await service.call('POST', `${path}/reject`, { body: {} })).status).toBe(200)
    await vi.waitFor(() => expect(stream.received.map(({ id }) => id)).toEqual(['1', '2', '3', '4']), {
      timeout: 10_000,
    })
    stream.close()
  })

  test.each(FOUND)('a page and a reader named %s are found by %s', async (stored, asked) => {
    const externalId = `page ${stored}`
    await service.call('POST', '/discussions', { body: { externalId, title: stored } })
    const { json: page } = await service.call('POST', '/discussions', { body: { externalId, title: stored } })
    await service.ok(
      'POST',
      `/discussions/${page.id}/comments`,
      { body: 'here' },
      await service.as(`reader ${stored}`, { name: stored }),
    )
    const search = encodeURIComponent(asked)
    const pages = await service.call('GET', `/discussions?search=${search}`)
    expect(pages.json.data.map((each: { title: string }) => each.title)).toContain(stored)
    const readers = await service.call('GET', `/readers?search=${search}`)
    expect(readers.json.data.map((each: { name: string }) => each.name)).toContain(stored)
  })
})

test.skipIf(!onServer)(`tables in another schema are not taken for none${SKIPPED}`, async () => {
  const { url, drop } = await createBareDatabase('')
  const open = () => openServer({ url, size: 2, onError: () => undefined, deadlines: PATIENT })
  const run = async (sql: string): Promise<void> => {
    const client = new pg.Client(url)
    await client.connect()
    await client.query(sql)
    await client.end()
  }
  try {
    const first = await open()
    await upgrade(first, SILENT)
    await first.close()
    await run('ALTER SCHEMA public RENAME TO engagement; CREATE SCHEMA public')
    const second = await open()
    await expect(upgrade(second, SILENT)).rejects.toThrow(/its tables are in engagement/)
    await second.close()
    await run('ALTER SCHEMA public RENAME TO former_public; ALTER SCHEMA "engagement" RENAME TO public')
    const third = await open()
    await upgrade(third, SILENT)
    await third.close()
  } finally {
    await drop()
  }
})
