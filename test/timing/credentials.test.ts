import { expect, test, vi } from 'vitest'

import { authenticate } from '../../src/api/http/credentials.ts'
import { type TestResponse, useService } from '../harness/service.ts'
import { holdsWithin } from '../harness/standstill.ts'
import { unnamed } from '../harness/sql.ts'

const service = useService()

function expectProblem({ status, json, headers }: TestResponse, expected: number, code: string): void {
  expect(json).toMatchObject({ code, status: expected })
  expect(status).toBe(expected)
  expect(headers.get('www-authenticate')).toContain(code)
}

const withKey = (key: string) => ({ headers: { 'x-api-key': key } })

async function mintKey(body: object): Promise<{ id: string; key: string }> {
  return service.ok('POST', '/keys', { label: 'test', capabilities: [], ...body })
}

test('an expired key: 401 expired_api_key, from the moment it expires', async () => {
  const { key, id } = await mintKey({
    capabilities: ['manage_api_keys'],
    expiresAt: new Date(Date.now() + 60_000).toISOString(),
  })
  expect((await service.call('GET', '/keys', withKey(key))).status).toBe(200)
  await service.app.db.query(unnamed('UPDATE api_keys SET expires_at = $1 WHERE id = $2'), [
    new Date(Date.now() - 1),
    id,
  ])
  await holdsWithin(6000, async () =>
    expectProblem(await service.call('GET', '/keys', withKey(key)), 401, 'expired_api_key'),
  )
})

test('a cached key expires by the clock alone', async () => {
  const expiresAt = new Date(Date.now() + 60_000).toISOString()
  const { key } = await mintKey({ capabilities: ['manage_api_keys'], expiresAt })
  expect((await service.call('GET', '/keys', withKey(key))).status).toBe(200)
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 60_001 })
  try {
    expectProblem(await service.call('GET', '/keys', withKey(key)), 401, 'expired_api_key')
  } finally {
    vi.useRealTimers()
  }
})

test('a revoked key: 401 revoked_api_key within 1 s', async () => {
  const { key, id } = await mintKey({ capabilities: ['manage_api_keys'] })
  expect((await service.call('GET', '/keys', withKey(key))).status).toBe(200)
  expect((await service.call('DELETE', `/keys/${id}`)).status).toBe(204)
  await holdsWithin(1000, async () =>
    expectProblem(await service.call('GET', '/keys', withKey(key)), 401, 'revoked_api_key'),
  )
})

test('another process refuses a revoked key within 1 s', async () => {
  const { key, id } = await mintKey({})
  // Caches are kept per app: this one has its own, and only the bus and the database in common.
  const elsewhere = { ...service.app }
  await expect(authenticate(elsewhere, { apiKey: key })).resolves.toMatchObject({ actor: { id } })
  await service.call('DELETE', `/keys/${id}`)
  await holdsWithin(1000, () =>
    expect(authenticate(elsewhere, { apiKey: key })).rejects.toMatchObject({ code: 'revoked_api_key' }),
  )
})

test('without the bus, a revoked key is refused within 5 s', async () => {
  const { key, id } = await mintKey({ capabilities: ['manage_api_keys'] })
  expect((await service.call('GET', '/keys', withKey(key))).status).toBe(200)
  await service.app.db.query(unnamed('UPDATE api_keys SET revoked_at = now() WHERE id = $1'), [id])
  await holdsWithin(5000, async () =>
    expectProblem(await service.call('GET', '/keys', withKey(key)), 401, 'revoked_api_key'),
  )
})
