import { createHook } from 'node:async_hooks'

import { expect, test } from 'vitest'

import { dummyPasswordHash } from '../../src/core/secrets/crypto.ts'
import { createAdmin } from '../../src/domains/bootstrap/bootstrap.ts'
import { useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

const service = useService()

/** How many passwords are hashed while it runs. */
async function hashesDuring<T>(work: () => Promise<T>): Promise<[hashes: number, result: T]> {
  let hashes = 0
  const hook = createHook({ init: (_id, type) => void (hashes += type === 'SCRYPTREQUEST' ? 1 : 0) }).enable()
  const result = await work()
  hook.disable()
  return [hashes, result]
}

const login = (body: object) => service.call('POST', '/admin/auth/login', { headers: { 'x-api-key': '' }, body })
const costOf = (stored: string): string[] => stored.split('$').slice(0, 4)

test('a wrong password and an unknown e-mail address get the same answer, after the same work', async () => {
  const [wrongHashes, wrong] = await hashesDuring(() => login({ ...service.admin, password: 'something else' }))
  const [unknownHashes, unknown] = await hashesDuring(() => login({ ...service.admin, email: 'nobody@example.com' }))
  expect(wrong.json).toMatchObject({ status: 401, code: 'invalid_admin_token' })
  expect({ ...unknown.json, requestId: '' }).toEqual({ ...wrong.json, requestId: '' })
  expect([wrongHashes, unknownHashes]).toEqual([1, 1])
  const { email } = await createAdmin(service.app, service.tenant.id, 'one.more@example.com')
  const select = unnamed('SELECT password_hash AS stored FROM accounts WHERE email = $1')
  const [admin] = await service.app.db.query<{ stored: string }>(select, [email])
  expect(costOf(admin?.stored ?? '')).toEqual(costOf(dummyPasswordHash()))
})
