import { randomBytes, scryptSync } from 'node:crypto'

import { afterEach, expect, test } from 'vitest'

import { dummyPasswordHash, hashPassword, SCRYPT, verifyPassword } from '../../src/core/secrets/crypto.ts'

const { N } = SCRYPT
afterEach(() => {
  SCRYPT.N = N
})

test('a password is hashed with a salt of its own, at a cost of 32 MB', async () => {
  const stored = await hashPassword('a password')
  expect(stored).toMatch(/^scrypt\$32768\$8\$1\$[\w+/]{22}==\$[\w+/]{43}=$/)
  expect(dummyPasswordHash()).toMatch(/^scrypt\$32768\$8\$1\$/)
  expect(await hashPassword('a password')).not.toBe(stored)
  expect(await verifyPassword('a password', stored)).toBe(true)
  expect(await verifyPassword('another one', stored)).toBe(false)
})

test('a password is the same however a keyboard composes its letters and its spaces', async () => {
  SCRYPT.N = 1024
  const password = 'Pässwört ñ 한글 1234'
  const typed = [
    password,
    password.normalize('NFD'),
    password.replaceAll(' ', '\u00A0'),
    password.replace(' ', '\u3000'),
  ]
  for (const first of typed) {
    const stored = await hashPassword(first)
    for (const next of typed) expect(await verifyPassword(next, stored), `${first} ${next}`).toBe(true)
    // Other letters stay others.
    expect(await verifyPassword('Passwort n 한글 1234', stored)).toBe(false)
    expect(await verifyPassword(password.toLowerCase(), stored)).toBe(false)
  }
})

test('a password that an earlier release hashed as it came is still right', async () => {
  SCRYPT.N = 1024
  const password = 'Pässwört 1234'.normalize('NFD')
  const salt = randomBytes(16)
  const hash = scryptSync(password, salt, 32, SCRYPT)
  const stored = `scrypt$${SCRYPT.N}$8$1$${salt.toString('base64')}$${hash.toString('base64')}`
  expect(await verifyPassword(password, stored)).toBe(true)
  expect(await verifyPassword('Passwort 1234', stored)).toBe(false)
})
