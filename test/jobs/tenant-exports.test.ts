import { gunzipSync } from 'node:zlib'

import { beforeAll, beforeEach, describe, expect, test } from 'vitest'

import { makeNextExport } from '../../src/transfer/export/make.ts'
import { completeExport, deleteExpiredExports, takeExport } from '../../src/transfer/export/make-sql.ts'
import { type Headers, useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

const service = useService()
let admin: Headers

const login = async (credentials: object): Promise<Headers> => {
  const { json } = await service.call('POST', '/admin/auth/login', { headers: { 'x-api-key': '' }, body: credentials })
  return { authorization: `Bearer ${json.token}` }
}

beforeAll(async () => {
  admin = await login(service.admin)
})

const FORGET = unnamed('DELETE FROM tenant_exports')
beforeEach(async () => void (await service.app.db.query(FORGET)))

const create = async () => (await service.call('POST', '/exports', { headers: admin })).json
const read = async (id: string) => (await service.call('GET', `/exports/${id}`, { headers: admin })).json
const list = async () => (await service.call('GET', '/exports', { headers: admin })).json.data
const make = (signal = new AbortController().signal) => makeNextExport(service.app, signal)
const download = (id: string, headers = admin) => fetch(`${service.url}/api/v1/exports/${id}/file`, { headers })
const post = async (reader: string, body: string) =>
  await service.ok('POST', '/discussions/by-external/page/comments', { body }, await service.as(reader))

const PIECES = unnamed('SELECT count(*) AS n FROM tenant_export_pieces')
const countPieces = async () => (await service.app.db.query<{ n: number }>(PIECES))[0]?.n

test('a download takes no query parameter', async () => {
  const { id } = await create()
  await make()
  const get = (headers: Record<string, string>) => service.call('GET', `/exports/${id}/file?token=1&foo=2`, { headers })
  const { status, json } = await get(admin)
  expect([status, json.code]).toEqual([422, 'validation_failed'])
  expect(json.errors).toMatchObject([
    { pointer: '/token', code: 'unknown_parameter' },
    { pointer: '/foo', code: 'unknown_parameter' },
  ])
  // A caller who may not download at all learns nothing else.
  expect((await get({ 'x-api-key': service.apiKey })).status).toBe(403)
})

test('HEAD of a file tells its length, and is no download', async () => {
  const { id } = await create()
  await make()
  const url = `${service.url}/api/v1/exports/${id}/file`
  const { status, headers } = await fetch(url, { method: 'HEAD', headers: admin })
  expect([status, headers.get('content-length')]).toEqual([200, String((await read(id)).bytes)])
  const downloads = async () => {
    const { json } = await service.call('GET', '/audit-log?limit=9', { headers: admin })
    return json.data.filter((entry: Headers) => entry.action === 'export.download' && entry.targetId === id)
  }
  expect(await downloads()).toEqual([])
  await (await download(id)).arrayBuffer()
  expect(await downloads()).toHaveLength(1)
})

test('an export is made by a worker, and downloaded', async () => {
  await post('ann', 'a text to take along')
  const created = await service.ok('POST', '/exports', undefined, admin)
  expect(created).toMatchObject({ state: 'pending', bytes: null, completedAt: null, expiresAt: null, error: null })
  const { id } = created
  expect((await download(id)).status).toBe(404)

  expect(await make()).toBe(true)
  expect(await make()).toBe(false)
  const made = await read(id)
  expect(made.state).toBe('completed')
  expect(Date.parse(made.expiresAt) - Date.parse(made.completedAt)).toBe(24 * 3_600_000)
  expect(await list()).toEqual([made])

  const file = await download(id)
  expect(file.headers.get('content-type')).toBe('application/gzip')
  expect(file.headers.get('content-disposition')).toBe(
    `attachment; filename="demo-${made.completedAt.slice(0, 10)}.jsonl.gz"`,
  )
  const bytes = Buffer.from(await file.arrayBuffer())
  expect(bytes.length).toBe(made.bytes)
  const lines = gunzipSync(bytes).toString().trimEnd().split('\n')
  expect(lines.map((line) => JSON.parse(line))).toContainEqual(
    expect.objectContaining({ kind: 'comment', body: 'a text to take along' }),
  )
})

test('a repeated request waits for the same export, and a completed one replaces earlier ones', async () => {
  const [first, again] = await Promise.all([create(), create()])
  expect(again).toEqual(first)
  await make()
  const second = await create()
  expect(second.id).not.toBe(first.id)
  expect(await list()).toMatchObject([{ state: 'pending' }, { state: 'completed' }])
  await make()
  expect(await list()).toMatchObject([{ id: second.id, state: 'completed' }])
})

test('only an admin of the tenant can download it, and the download has an audit entry', async () => {
  const { id } = await create()
  await make()
  const other = await login((await service.addTenant('other')).admin)
  const key = { 'x-api-key': service.apiKey }
  expect((await download(id, key)).status).toBe(403)
  expect((await service.call('POST', '/exports')).json.code).toBe('admin_only')
  expect((await download(id, other)).status).toBe(404)
  expect((await service.call('DELETE', `/exports/${id}`, { headers: other })).status).toBe(404)
  expect((await download('no-id')).status).toBe(404)
  expect((await download(id)).status).toBe(200)
  expect((await service.call('DELETE', `/exports/${id}`, { headers: admin })).status).toBe(204)
  expect(await countPieces()).toBe(0)
  expect((await download(id)).status).toBe(404)
  const { json } = await service.call('GET', '/audit-log?limit=3', { headers: admin })
  expect(json.data.map((entry: { action: string; targetId: string }) => [entry.action, entry.targetId])).toEqual([
    ['export.delete', id],
    ['export.download', id],
    ['export.create', id],
  ])
})

test('an interrupted export leaves nothing, and is made again', async () => {
  const { id } = await create()
  const stopping = new AbortController()
  stopping.abort()
  await make(stopping.signal)
  expect(await countPieces()).toBe(0)
  expect(await read(id)).toMatchObject({ state: 'pending' })
  await make()
  expect(await read(id)).toMatchObject({ state: 'completed' })
})

const AGE = unnamed("UPDATE tenant_exports SET expires_at = now() - interval '1 second'")

test('it is deleted when it expires', async () => {
  await create()
  await make()
  expect(await deleteExpiredExports(service.app)).toBe(0)
  await service.app.db.query(AGE)
  expect(await deleteExpiredExports(service.app)).toBe(1)
  expect(await list()).toEqual([])
  expect(await countPieces()).toBe(0)
})

describe('an erasure', () => {
  test('deletes the file', async () => {
    const { author } = await post('bob', 'soon forgotten')
    const { id } = await create()
    await make()
    expect((await service.call('DELETE', `/readers/${author.id}`, { headers: admin })).status).toBe(204)
    expect((await download(id)).status).toBe(404)
    expect(await list()).toEqual([])
  })

  const onServer = process.env.DATABASE_URL !== undefined
  test.skipIf(!onServer)(
    `that ends while an export is made restarts the export${onServer ? '' : ' (skipped: needs DATABASE_URL)'}`,
    async () => {
      const { author } = await post('cleo', 'soon forgotten as well')
      const { id } = await create()
      const waiting = { tenantId: service.tenant.id, id }
      const making = service.app.db.transaction(async (sql) => {
        expect(await takeExport(sql, waiting)).toBe(true)
        // Nobody else makes it meanwhile.
        expect(await make()).toBe(false)
        await service.call('DELETE', `/readers/${author.id}`, { headers: admin })
        await completeExport(sql, waiting, 0, 24)
      })
      await expect(making).rejects.toMatchObject({ code: '40001' })
      expect(await read(id)).toMatchObject({ state: 'pending' })
      await make()
      const text = gunzipSync(Buffer.from(await (await download(id)).arrayBuffer())).toString()
      expect(text).not.toContain('soon forgotten as well')
    },
  )
})
