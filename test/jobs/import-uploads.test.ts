import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'

import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'

import { type ImportFile, importFile } from '../../src/transfer/import/import.ts'
import { removeEnded } from '../../src/transfer/uploads/remove.ts'
import { workOnUploads } from '../../src/transfer/uploads/work.ts'
import { onServer } from '../harness/database.ts'
import { effort } from '../harness/effort.ts'
import { useFolder } from '../harness/folders.ts'
import { type TestTenant, useService } from '../harness/service.ts'
import { fixture, makeIssoDatabase } from '../harness/sources.ts'
import { unnamed } from '../harness/sql.ts'
import { comment, dumpImported, page, reader } from '../harness/transfer.ts'
import { begin, put, upload, type Uploading } from '../harness/uploads.ts'

const PART = 1024 * 1024

const service = useService()
const folder = useFolder()
let names = 0

interface Place extends Uploading {
  tenant: TestTenant
}

async function signIn(tenant: TestTenant): Promise<Place> {
  const login = await service.call('POST', '/admin/auth/login', { headers: { 'x-api-key': '' }, body: tenant.admin })
  return { service, tenant, headers: { authorization: `Bearer ${login.json.token}` } }
}

const newPlace = async (): Promise<Place> => signIn(await service.addTenant(`uploads-${++names}`))

const read = async ({ headers }: Place, id: string) =>
  (await service.call('GET', `/import-uploads/${id}`, { headers })).json
const act = (place: Place, id: string, what: 'complete' | 'run') =>
  service.call('POST', `/import-uploads/${id}/${what}`, { headers: place.headers })
const remove = (place: Place, id: string) => service.call('DELETE', `/import-uploads/${id}`, { headers: place.headers })
const work = (signal = new AbortController().signal) => workOnUploads(service.app, signal)

async function clear(): Promise<void> {
  while (await removeEnded(service.app)) continue
}

const PARTS = unnamed('SELECT count(*)::int AS n FROM import_upload_parts WHERE tenant_id = $1')
const partsOf = async ({ tenant }: Place) =>
  (await service.app.db.query<{ n: number }>(PARTS, [tenant.tenant.id]))[0]?.n

const linesOf = (items: readonly object[], length = 0): Buffer =>
  Buffer.from(items.map((item) => `${JSON.stringify(item).padEnd(length)}\n`).join(''))

const items = [reader('ann'), page('p'), comment('1', 1), comment('2', 2, { parentId: '1' })]
const small = linesOf(items)
const jsonl = (content = small) => ({ source: 'jsonl', fileName: 'items.jsonl', content })

/** Some 2.4 parts. Where there are fewer comments, blanks behind them fill these. */
const MANY = effort(2500, 250)
const words = 'word '.repeat(180)
const large = linesOf(
  [...items, ...Array.from({ length: MANY }, (_, n) => comment(`l${n}`, 3 + (n % 50), { body: `${n} ${words}` }))],
  effort(0, 10_000),
)

/** Imports an uploaded file whole. Returns its last state. */
async function importUploaded(place: Place, what: Parameters<typeof upload>[1]) {
  const { id } = await upload(place, what)
  expect(await work()).toBe(true)
  const rehearsed = await read(place, id)
  expect(rehearsed).toMatchObject({ state: 'rehearsed', error: null, report: null })
  expect((await act(place, id, 'run')).status).toBe(202)
  expect(await work()).toBe(true)
  const imported = await read(place, id)
  expect(imported).toMatchObject({ state: 'imported', error: null, bytesRead: what.content.length })
  expect(imported.report).toMatchObject({ counts: rehearsed.rehearsal.counts, refused: rehearsed.rehearsal.refused })
  return imported
}

describe('an uploaded file', () => {
  test('becomes the same rows as by the command line, whatever the order of its parts', async () => {
    const [one, other] = [await newPlace(), await newPlace()]
    const { json } = await begin(one, { source: 'jsonl', fileName: 'items.jsonl', bytes: large.length })
    expect(json).toMatchObject({ state: 'uploading', partBytes: PART, parts: 3, missingParts: [0, 1, 2] })
    const partOf = (n: number) => large.subarray(n * PART, (n + 1) * PART)
    // The last one first, one twice, and one replaced.
    for (const n of [2, 2]) expect((await put(one, json.id, n, partOf(n))).status).toBe(204)
    expect((await put(one, json.id, 0, Buffer.alloc(PART, 'x'))).status).toBe(204)
    expect((await put(one, json.id, 0, partOf(0))).status).toBe(204)
    expect((await act(one, json.id, 'complete')).json).toMatchObject({
      code: 'invalid_transition',
      detail: 'Parts are missing: 1. missingParts says which.',
    })
    expect(await read(one, json.id)).toMatchObject({ state: 'uploading', missingParts: [1] })
    expect((await put(one, json.id, 1, partOf(1))).status).toBe(204)
    // Two requests complete it once.
    const both = await Promise.all([act(one, json.id, 'complete'), act(one, json.id, 'complete')])
    expect(both.map(({ status, json: { state } }) => [status, state])).toEqual([
      [202, 'rehearsing'],
      [202, 'rehearsing'],
    ])
    await work()
    expect(await read(one, json.id)).toMatchObject({
      state: 'rehearsed',
      rehearsal: {
        counts: { comments: MANY + 2, readers: 1 },
        already: 0,
        refused: { total: 0 },
        commentsWithoutAuthor: 0,
      },
    })
    // The rehearsal has changed nothing.
    expect(await dumpImported(service.app.db, one.tenant.tenant.id)).toEqual([])
    await Promise.all([act(one, json.id, 'run'), act(one, json.id, 'run')])
    await work()
    expect(await work()).toBe(false)
    const imported = await read(one, json.id)
    expect(imported).toMatchObject({
      state: 'imported',
      report: { counts: { comments: MANY + 2 }, pagesWithoutAddress: null },
    })
    const { json: made } = await service.call('GET', `/imports/${imported.importId}`, { headers: one.headers })
    expect(made).toMatchObject({ fileName: 'items.jsonl', state: 'finished', counts: { comments: MANY + 2 } })

    const path = join(folder, 'items.jsonl')
    writeFileSync(path, large)
    await importFile(service.app, other.tenant.tenant.id, { source: 'jsonl', path })
    const expected = await dumpImported(service.app.db, other.tenant.tenant.id)
    expect(expected.length).toBeGreaterThan(2 * MANY)
    expect(await dumpImported(service.app.db, one.tenant.tenant.id)).toEqual(expected)
    await clear()
    expect(await partsOf(one)).toBe(0)
    // Its report stays for a day.
    expect(Date.parse(imported.expiresAt) - Date.parse(imported.endedAt)).toBe(24 * 3_600_000)
  })

  const sources: [ImportFile['source'], () => string, ((path: string) => Buffer)?][] = [
    ['disqus', () => fixture('disqus.xml')],
    ['wordpress', () => fixture('wordpress.xml'), (path) => gzipSync(readFileSync(path))],
    ['remark42', () => fixture('remark42.jsonl')],
    ['commento', () => fixture('commento.json')],
    ['artrans', () => fixture('artrans.json')],
    ['isso', () => makeIssoDatabase(join(folder, 'isso.db'))],
  ]

  test.each(sources)('of %s is imported as by the command line', async (source, pathOf, pack = readFileSync) => {
    const [one, other] = [await newPlace(), await newPlace()]
    const path = pathOf()
    const report = await importFile(service.app, other.tenant.tenant.id, { source, path })
    const { report: uploaded } = await importUploaded(one, { source, fileName: 'file', content: pack(path) })
    const { counts, already, refused, changed } = report
    expect(counts.comments).toBeGreaterThan(0)
    expect(uploaded).toMatchObject({ counts, already, refused, changed })
  })

  test('is imported with the tables and the rules of the command line', async () => {
    const place = await newPlace()
    const { report } = await importUploaded(place, {
      source: 'wordpress',
      fileName: 'wordpress.xml',
      content: readFileSync(fixture('wordpress.xml')),
      page: 'path',
      map: 'old,new\n/2019/05/harbour/,https://new.example/harbour\n',
      authors: 'ann@reader.example,subscriber-1\n',
    })
    expect(report.tables).toMatchObject({ map: { rows: 1, used: 1 }, authors: { rows: 1, used: 1 } })
    const headers = { 'x-api-key': place.tenant.apiKey }
    const { json } = await service.call('GET', '/discussions/by-external/%2Fharbour', { headers })
    expect(json.url).toBe('https://new.example/harbour')
  })

  test('that was imported before brings nothing again', async () => {
    const place = await newPlace()
    await importUploaded(place, jsonl())
    const again = await importUploaded(place, jsonl())
    expect(again).toMatchObject({ importId: null, report: { counts: { comments: 0 }, already: 4 } })
  })
})

test('an uploaded export does not change who signs in to the console', async () => {
  const place = await newPlace()
  const oidc = { issuer: 'https://id.example', clientId: 'c', emailDomains: ['city.example'], only: true }
  const settings = { maxLinks: 7, staff: { requireTwoFactor: true, oidc } }
  const header = {
    kind: 'header',
    form: 'engagement-service',
    version: 1,
    tenant: 'a',
    exportedAt: '2026-01-01T00:00:00Z',
  }
  const { rehearsal, report } = await importUploaded(place, jsonl(linesOf([header, { kind: 'settings', settings }])))
  const first = [{ place: 'line 2', reason: 'leaves out staff, which only an owner changes' }]
  expect([rehearsal.changed, report.changed]).toMatchObject([{ first }, { first }])
  const { json } = await service.call('GET', '/settings', { headers: place.headers })
  expect(json).toMatchObject({ maxLinks: 7, staff: { oidc: null, requireTwoFactor: false } })
})

describe('a file that cannot be imported', () => {
  const broken: [string, string, Buffer, RegExp, object?][] = [
    ['is cut off', 'disqus', readFileSync(fixture('disqus.xml')).subarray(0, 900), /it ends in the middle/],
    ['is of another system', 'wordpress', readFileSync(fixture('disqus.xml')), /looks like the XML export of Disqus/],
    ['is no archive', 'coral', small, /it looks like|archive of tar/],
    ['is damaged gzip', 'jsonl', gzipSync(large).subarray(0, 5000), /the file is damaged/],
    ['is no database', 'isso', Buffer.from('SQLite format 3\0 and then nothing'), /no database of Isso/],
    ['is UTF-16 without a text', 'jsonl', Buffer.alloc(5000, 0xfe), /./],
    ['has a wrong table', 'jsonl', small, /^map: row 1 has not two columns/, { map: 'one\n' }],
  ]

  test.each(broken)('because it %s fails with the reason', async (_why, source, content, reason, more = {}) => {
    const place = await newPlace()
    const { id } = await upload(place, { source, fileName: 'file', content, ...more })
    await work()
    const { state, error, rehearsal } = await read(place, id)
    expect({ state, error, rehearsal }).toEqual({
      state: 'failed',
      error: expect.stringMatching(reason),
      rehearsal: null,
    })
    expect((await act(place, id, 'run')).json.code).toBe('invalid_transition')
    // The next one may come.
    expect((await begin(place, { source, fileName: 'file', bytes: 5 })).status).toBe(201)
  })

  test('a worker that dies with it each time is not followed by others for ever', async () => {
    const place = await newPlace()
    const { id } = await upload(place, jsonl())
    const where = { tenantId: place.tenant.tenant.id, id }
    await service.app.prisma.importUpload.updateMany({ where, data: { attempts: 10 } })
    await work()
    expect(await read(place, id)).toMatchObject({ state: 'failed', error: 'Workers have begun it 10 times in vain.' })
  })
})

describe('a part', () => {
  const refused: [string, number | string, number, number, string][] = [
    ['is too long', 0, PART + 1, 413, 'body_too_large'],
    ['is too short', 0, PART - 1, 422, 'validation_failed'],
    ['is empty', 1, 0, 422, 'validation_failed'],
    ['is last, and has the size of another one', 1, PART, 422, 'validation_failed'],
    ['is behind the end', 2, 10, 404, 'not_found'],
    ['has a negative number', -1, PART, 404, 'not_found'],
    ['has no number', '1e0', 10, 404, 'not_found'],
    ['has a number of another form', '01', 10, 404, 'not_found'],
  ]

  let place: Place
  let id: string
  beforeAll(async () => {
    place = await newPlace()
    id = (await begin(place, { source: 'jsonl', fileName: 'x', bytes: PART + 10 })).json.id
  })

  test.each(refused)('that %s is refused', async (_why, n, bytes, status, code) => {
    const answer = await put(place, id, n, Buffer.alloc(bytes))
    expect([answer.status, await answer.json()]).toEqual([status, expect.objectContaining({ code })])
    expect(await partsOf(place)).toBe(0)
  })

  test('is checked against its digest, if one is given', async () => {
    const bytes = Buffer.alloc(10, 'a')
    const digest = createHash('sha256').update(bytes).digest('base64')
    const wrong = await put(place, id, 1, Buffer.alloc(10, 'b'), { 'content-digest': `sha-256=:${digest}:` })
    expect([wrong.status, await wrong.json()]).toMatchObject([422, { errors: [{ code: 'wrong_digest' }] }])
    expect((await put(place, id, 1, bytes, { 'content-digest': `sha-256=:${digest}:` })).status).toBe(204)
  })

  test('is bytes, and no other route takes bytes', async () => {
    const json = await put(place, id, 1, Buffer.from('"12345678"'), { 'content-type': 'application/json' })
    expect(json.status).toBe(415)
    const headers = { ...place.headers, 'content-type': 'application/octet-stream' }
    const other = await fetch(`${service.url}/api/v1/import-uploads`, { method: 'POST', headers, body: '{}' })
    expect(other.status).toBe(415)
    const get = await fetch(`${service.url}/api/v1/import-uploads/${id}/parts/1`, { headers: place.headers })
    expect([get.status, get.headers.get('allow')]).toEqual([405, 'PUT'])
  })

  test('is refused once the upload is completed or deleted', async () => {
    const other = await newPlace()
    const done = await upload(other, jsonl())
    expect((await put(other, done.id, 0, small)).status).toBe(409)
    await remove(other, done.id)
    expect((await put(other, done.id, 0, small)).status).toBe(404)
  })

  test('of another tenant, and without an admin, is refused before it is read', async () => {
    const foreign = await newPlace()
    expect((await put(foreign, id, 1, Buffer.alloc(10))).status).toBe(404)
    const key = { service, headers: { 'x-api-key': place.tenant.apiKey } }
    expect((await put(key, id, 1, Buffer.alloc(10))).status).toBe(403)
    expect((await put({ service, headers: {} }, id, 1, Buffer.alloc(10))).status).toBe(401)
    expect((await remove(foreign, id)).status).toBe(404)
    for (const what of ['complete', 'run'] as const) expect((await act(foreign, id, what)).status).toBe(404)
    expect((await service.call('GET', '/import-uploads', { headers: foreign.headers })).json.data).toEqual([])
  })
})

describe('the limits', () => {
  test('a file has at most 1 GB and at least a byte', async () => {
    const place = await newPlace()
    for (const bytes of [0, -1, 1_000_000_001, 1.5]) {
      const { status } = await begin(place, { source: 'jsonl', fileName: 'x', bytes })
      expect([bytes, status]).toEqual([bytes, 422])
    }
    for (const wrong of [{ source: 'nothing' }, { fileName: '../x' }, { page: 'x' }, { as: 'a b' }, { fileName: '' }]) {
      const { json } = await begin(place, { source: 'jsonl', fileName: 'x', bytes: 1, ...wrong })
      expect(json).toMatchObject({ code: 'validation_failed', errors: [{ pointer: `/${Object.keys(wrong)[0]}` }] })
    }
    expect((await begin(place, { source: 'jsonl', fileName: 'x', bytes: 1_000_000_000 })).status).toBe(201)
  })

  test('a tenant has one upload at a time, and stores no more than two', async () => {
    const place = await newPlace()
    const whole = { source: 'jsonl', fileName: 'x', bytes: 1_000_000_000 }
    const both = await Promise.all([begin(place, whole), begin(place, whole)])
    expect(both.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 409])
    const drop = async () => {
      const { json } = await service.call('GET', '/import-uploads', { headers: place.headers })
      for (const { id } of json.data) expect((await remove(place, id)).status).toBe(204)
    }
    await drop()
    expect((await begin(place, whole)).status).toBe(201)
    await drop()
    expect((await begin(place, whole)).json).toMatchObject({ code: 'invalid_transition' })
    await clear()
    expect((await begin(place, whole)).status).toBe(201)
  })
})

describe('an upload that ends early', () => {
  const WAITING = unnamed(
    "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
  )
  const EXPIRE = unnamed("UPDATE import_uploads SET expires_at = now() - interval '1 second' WHERE id = $1")

  test.each(['uploading', 'rehearsed'])('is gone a day after it is %s, with its parts', async (state) => {
    const place = await newPlace()
    const { json: begun } = await begin(place, { source: 'jsonl', fileName: 'x', bytes: small.length })
    await put(place, begun.id, 0, small)
    if (state === 'rehearsed') {
      await act(place, begun.id, 'complete')
      await work()
    }
    const { expiresAt } = await read(place, begun.id)
    expect(Math.abs(Date.parse(expiresAt) - Date.now() - 24 * 3_600_000)).toBeLessThan(60_000)
    await clear()
    expect(await partsOf(place)).toBe(1)
    await service.app.db.query(EXPIRE, [begun.id])
    expect((await read(place, begun.id)).status).toBe(404)
    for (const what of ['complete', 'run'] as const) expect((await act(place, begun.id, what)).status).toBe(404)
    await clear()
    expect(await partsOf(place)).toBe(0)
    expect(await service.app.prisma.importUpload.count({ where: { id: begun.id } })).toBe(0)
  })

  test('is deleted while a worker reads it: the worker stops, and another upload may begin', async () => {
    const place = await newPlace()
    const { id } = await upload(place, jsonl(large))
    const working = work()
    expect((await remove(place, id)).status).toBe(204)
    await clear()
    await working
    expect((await read(place, id)).status).toBe(404)
    expect(await work()).toBe(false)
    expect((await begin(place, { source: 'jsonl', fileName: 'x', bytes: 1 })).status).toBe(201)
  })

  test.each(['complete', 'run'] as const)('stays deleted where a %s comes while the deletion commits', async (what) => {
    const place = await newPlace()
    const { json: begun } = await begin(place, { source: 'jsonl', fileName: 'x', bytes: small.length })
    await put(place, begun.id, 0, small)
    if (what === 'run') {
      await act(place, begun.id, 'complete')
      await work()
    }
    const { db } = service.app
    onTestFinished(() => void vi.restoreAllMocks())
    const asked = await service.app.db.transaction(async (sql) => {
      await sql.prisma.importUpload.updateMany({ where: { id: begun.id }, data: { expiresAt: new Date(0) } })
      const [query, transaction] = [vi.spyOn(db, 'query'), vi.spyOn(db, 'transaction')]
      const answer = act(place, begun.id, what)
      // It waits for the row, or on the embedded database for the connection.
      await vi.waitFor(async () => {
        expect(query.mock.calls.length + transaction.mock.calls.length).toBeGreaterThan(0)
        if (onServer) expect(await db.query(WAITING)).toHaveLength(1)
      })
      return { answer }
    })
    expect((await asked.answer).status).toBe(404)
    expect(await work()).toBe(false)
    expect((await read(place, begun.id)).status).toBe(404)
  })

  test('a worker that is stopped leaves it to the next one', async () => {
    const place = await newPlace()
    const { id } = await upload(place, jsonl(large))
    await work(AbortSignal.abort())
    expect(await read(place, id)).toMatchObject({ state: 'rehearsing', error: null })
    await work()
    await act(place, id, 'run')
    await work(AbortSignal.abort())
    expect(await read(place, id)).toMatchObject({ state: 'importing', error: null })
    await work()
    expect(await read(place, id)).toMatchObject({ state: 'imported', report: { counts: { comments: MANY + 2 } } })
    const where = { tenantId_id: { tenantId: place.tenant.tenant.id, id } }
    expect(await service.app.prisma.importUpload.findUnique({ where })).toMatchObject({ attempts: 1 })
  })

  test('after an import whose end was not noted keeps its report', async () => {
    const place = await newPlace()
    const { id, report, importId } = await importUploaded(place, jsonl())
    const where = { tenantId: place.tenant.tenant.id, id }
    await service.app.prisma.importUpload.updateMany({ where, data: { endedAt: null, expiresAt: null } })
    await work()
    expect(await read(place, id)).toMatchObject({ state: 'imported', importId, report })
  })
})

test('its actions are in the audit log, as those of the admin', async () => {
  const place = await newPlace()
  const { id, importId } = await importUploaded(place, jsonl())
  await remove(place, id)
  const { json } = await service.call('GET', '/audit-log?limit=10', { headers: place.headers })
  const entries = json.data.map(({ action, targetId }: { action: string; targetId: string }) => [action, targetId])
  expect(entries.slice(0, 5)).toEqual([
    ['import_upload.delete', id],
    ['import.finish', importId],
    ['import_upload.run', id],
    ['import_upload.complete', id],
    ['import_upload.create', id],
  ])
})
