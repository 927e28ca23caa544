import { hash as digest, hkdfSync, randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'

const scryptAsync = promisify<string, Buffer, number, { N: number; r: number; p: number; maxmem: number }, Buffer>(
  scrypt,
)

export const sha256 = (data: string | Uint8Array): Buffer<ArrayBuffer> => digest('sha256', data, 'buffer')

export const sha256Hex = (data: string): string => digest('sha256', data, 'hex')

export const randomHex = (bytes: number): string => randomBytes(bytes).toString('hex')

/** A raw API key: `ek_` and 64 lower-case hex characters (docs/reference/errors.md). */
export const newRawKey = (): string => `ek_${randomHex(32)}`

/** The public key of a site, which is no secret: `pk_` and 64 lower-case hex characters. */
export const newPublicKey = (): string => `pk_${randomHex(32)}`

/** A raw client token: `ct_` and 64 lower-case hex characters. */
export const newClientToken = (): string => `ct_${randomHex(32)}`

/** A raw token of a guest: `gt_` and 64 lower-case hex characters. */
export const newGuestToken = (): string => `gt_${randomHex(32)}`

/** Derives a separate key for one purpose, so that no secret serves two purposes. */
export const deriveKey = (secret: string | Uint8Array, purpose: string): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, 'engagement-service', purpose, 32))

/** The cost of a new hash: 32 MB and some 80 ms of a core. Tests lower `N`. */
export const SCRYPT = { N: 2 ** 15, r: 8, p: 1, maxmem: 64 * 1024 * 1024 }

/**
 * A password as it is hashed (RFC 8265, OpaqueString). Keyboards and browsers write one é in two
 * ways, and macOS a space of its own beside AltGr.
 */
const asHashed = (password: string): string => password.replace(/\p{Zs}/gu, ' ').normalize('NFC')

/** `scrypt$N$r$p$salt$hash`, salt and hash in base64. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16)
  const hash = await scryptAsync(asHashed(password), salt, 32, SCRYPT)
  return ['scrypt', SCRYPT.N, SCRYPT.r, SCRYPT.p, salt.toString('base64'), hash.toString('base64')].join('$')
}

/** A hash that no password matches: checking it costs the same where there is no account. */
export const dummyPasswordHash = (): string =>
  ['scrypt', SCRYPT.N, SCRYPT.r, SCRYPT.p, 'AAAAAAAAAAAAAAAAAAAAAA==', 'AAAA'].join('$')

export async function verifyPassword(password: string, stored: string): Promise<boolean> {
  const [, N, r, p, salt, hash] = stored.split('$')
  const expected = Buffer.from(hash ?? '', 'base64')
  const options = { N: Number(N), r: Number(r), p: Number(p), maxmem: SCRYPT.maxmem }
  // Earlier releases hashed a password as it came.
  for (const form of new Set([asHashed(password), password])) {
    const actual = await scryptAsync(form, Buffer.from(salt ?? '', 'base64'), 32, options)
    if (actual.length === expected.length && timingSafeEqual(actual, expected)) return true
  }
  return false
}
