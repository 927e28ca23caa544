import {
  createCipheriv,
  createDecipheriv,
  createHash,
  hkdfSync,
  randomBytes,
  scrypt,
  timingSafeEqual,
} from 'node:crypto'
import { promisify } from 'node:util'

const scryptAsync = promisify<string, Buffer, number, { N: number; r: number; p: number; maxmem: number }, Buffer>(
  scrypt,
)

export const sha256 = (data: string | Uint8Array): Buffer => createHash('sha256').update(data).digest()

export const randomHex = (bytes: number): string => randomBytes(bytes).toString('hex')

/** A raw API key: `ek_` and 64 lower-case hex characters (specification, section 2.1). */
export const newRawKey = (): string => `ek_${randomHex(32)}`

/** A key of our own for one purpose, so that no secret serves two. */
export const deriveKey = (secret: string | Uint8Array, purpose: string): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, 'engagement-service', purpose, 32))

/** AES-256-GCM: 12 bytes of nonce, 16 of tag, then the cipher text. `context` must be the same at opening. */
export function seal(key: Buffer, plain: string, context: string): Buffer {
  const nonce = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(context))
  const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), body])
}

/** Opens what `seal` made. Throws where the key or the context is another, or a bit has changed. */
export function unseal(key: Buffer, sealed: Uint8Array, context: string): string {
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, 12))
    .setAAD(Buffer.from(context))
    .setAuthTag(sealed.subarray(12, 28))
  return Buffer.concat([decipher.update(sealed.subarray(28)), decipher.final()]).toString('utf8')
}

const SCRYPT = { N: 2 ** 15, r: 8, p: 1, maxmem: 64 * 1024 * 1024 }

/** `scrypt$N$r$p$salt$hash`, salt and hash in base64. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16)
  const hash = await scryptAsync(password, salt, 32, SCRYPT)
  return ['scrypt', SCRYPT.N, SCRYPT.r, SCRYPT.p, salt.toString('base64'), hash.toString('base64')].join('$')
}

/** A hash that no password matches, for an equal amount of work where there is none to check. */
export const DUMMY_PASSWORD_HASH = ['scrypt', SCRYPT.N, SCRYPT.r, SCRYPT.p, 'AAAAAAAAAAAAAAAAAAAAAA==', 'AAAA'].join(
  '$',
)

export async function verifyPassword(password: string, stored: string): Promise<boolean> {
  const [, N, r, p, salt, hash] = stored.split('$')
  const expected = Buffer.from(hash ?? '', 'base64')
  const options = { N: Number(N), r: Number(r), p: Number(p), maxmem: SCRYPT.maxmem }
  const actual = await scryptAsync(password, Buffer.from(salt ?? '', 'base64'), 32, options)
  return actual.length === expected.length && timingSafeEqual(actual, expected)
}
