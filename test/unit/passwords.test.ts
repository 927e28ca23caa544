import { expect, test } from 'vitest'

import { dummyPasswordHash, hashPassword, verifyPassword } from '../../src/core/secrets/crypto.ts'

test('a password is hashed with a salt of its own, at a cost of 32 MB', async () => {
  const stored = await hashPassword('a password')
  expect(stored).toMatch(/^scrypt\$32768\$8\$1\$[\w+/]{22}==\$[\w+/]{43}=$/)
  expect(dummyPasswordHash()).toMatch(/^scrypt\$32768\$8\$1\$/)
  expect(await hashPassword('a password')).not.toBe(stored)
  expect(await verifyPassword('a password', stored)).toBe(true)
  expect(await verifyPassword('another one', stored)).toBe(false)
})
