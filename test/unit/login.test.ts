import { afterAll, beforeAll, expect, test, vi } from 'vitest'

import * as crypto from '../../src/core/crypto.ts'
import { startService, type TestService } from '../harness/service.ts'

// The real functions, counted.
vi.mock('../../src/core/crypto.ts', { spy: true })

let service: TestService

beforeAll(async () => {
  service = await startService({ worker: false })
})
afterAll(() => service.close())

const login = (body: object) => service.call('POST', '/admin/auth/login', { headers: { 'x-api-key': '' }, body })

test('a wrong password and an unknown e-mail address answer the same, after the same work', async () => {
  const check = vi.mocked(crypto.verifyPassword)
  check.mockClear()
  const wrong = await login({ ...service.admin, password: 'something else' })
  const unknown = await login({ ...service.admin, email: 'nobody@example.com' })
  expect(wrong.json).toMatchObject({ status: 401, code: 'invalid_admin_token' })
  expect({ ...unknown.json, requestId: '' }).toEqual({ ...wrong.json, requestId: '' })
  const costs = check.mock.calls.map(([, stored]) => stored.split('$').slice(0, 4).join('$'))
  expect(costs).toHaveLength(2)
  expect(costs[0]).toBe(costs[1])
})
