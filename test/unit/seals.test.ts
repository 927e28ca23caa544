import { randomBytes } from 'node:crypto'

import fc from 'fast-check'
import { expect, test } from 'vitest'

import { deriveKeys, keyIdOf, seal, type SealKeys, unseal } from '../../src/core/secrets/seals.ts'
import { readSettings } from '../../src/core/settings/settings.ts'

const keysOf = (ENCRYPTION_KEY: Buffer, ...ENCRYPTION_KEYS: Buffer[]): SealKeys => ({ ENCRYPTION_KEY, ENCRYPTION_KEYS })
const [first, second, third] = [randomBytes(32), randomBytes(32), randomBytes(32)]

test('a sealed value opens with its key, as the present key or a former one, and with no other', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (plain, context) => {
      const sealed = seal(keysOf(first), plain, context)
      expect(unseal(keysOf(first), sealed, context)).toBe(plain)
      expect(unseal(keysOf(second, third, first), sealed, context)).toBe(plain)
      expect(() => unseal(keysOf(second, third), sealed, context)).toThrow(`does not have the key ${keyIdOf(first)}`)
      expect(() => unseal(keysOf(first), sealed, `${context}x`)).toThrow('unable to authenticate')
    }),
  )
})

test('a sealed value begins with the id of its key, and does not open with any bit changed', () => {
  const sealed = seal(keysOf(second, first), 'a secret', 'context')
  expect(sealed.subarray(0, 4).toString('hex')).toBe(keyIdOf(second))
  fc.assert(
    fc.property(fc.nat(sealed.length * 8 - 1), (bit) => {
      const changed = Buffer.from(sealed)
      changed[bit >> 3]! ^= 1 << (bit & 7)
      expect(() => unseal(keysOf(second, first), changed, 'context')).toThrow(
        /unable to authenticate|does not have the key/,
      )
    }),
  )
})

test('derived keys are in the order of the keys, and differ by purpose', () => {
  const [current, former] = deriveKeys(keysOf(first, second), 'one')
  expect([current.id, former?.id]).toEqual([keyIdOf(first), keyIdOf(second)])
  expect(deriveKeys(keysOf(second), 'one')[0].key).toEqual(former?.key)
  expect(deriveKeys(keysOf(first), 'two')[0].key).not.toEqual(current.key)
})

const base64 = (key: Buffer) => key.toString('base64')
const read = (env: Record<string, string>) =>
  readSettings({ ADMIN_JWT_SECRET: 'x'.repeat(32), ENCRYPTION_KEY: base64(first), ...env }, () => {
    throw new Error('nothing is kept')
  })

test('ENCRYPTION_KEYS is a list, in which the present key counts once', () => {
  expect(read({}).ENCRYPTION_KEYS).toEqual([])
  const { ENCRYPTION_KEYS } = read({ ENCRYPTION_KEYS: ` ${base64(second)}, ${base64(first)},${base64(third)},` })
  expect(ENCRYPTION_KEYS).toEqual([second, third])
})

test.each(['nonsense', Buffer.alloc(31).toString('base64'), Array(11).fill(base64(first)).join()])(
  'ENCRYPTION_KEYS=%j is refused, and the refusal shows no key',
  (ENCRYPTION_KEYS) => {
    expect(() => read({ ENCRYPTION_KEYS })).toThrow(/^ENCRYPTION_KEYS: must be (32 bytes in base64|at most 10 keys)$/)
  },
)
