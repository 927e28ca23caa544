import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

import { ServiceError } from '../errors.ts'
import { deriveKey, sha256 } from './crypto.ts'
import type { Settings } from '../settings/settings.ts'

/**
 * The keys of a process: ENCRYPTION_KEY seals and signs; those of ENCRYPTION_KEYS only open and
 * verify.
 */
export type SealKeys = Pick<Settings, 'ENCRYPTION_KEY' | 'ENCRYPTION_KEYS'>

/** Bytes of a key id. */
export const KEY_ID_BYTES = 4
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** Names a key without revealing it: the first 8 hex digits of its SHA-256. */
export const keyIdOf = (key: Buffer): string => idBytesOf(key).toString('hex')

const idBytesOf = (key: Buffer): Buffer => sha256(key).subarray(0, KEY_ID_BYTES)

/** Every key of the process, the sealing one first. */
export const allKeys = ({ ENCRYPTION_KEY, ENCRYPTION_KEYS }: SealKeys): readonly Buffer[] => [
  ENCRYPTION_KEY,
  ...ENCRYPTION_KEYS,
]

/**
 * AES-256-GCM: 4 bytes of key id, 12 of nonce, 16 of tag, then the ciphertext. `unseal` needs the
 * same `context`.
 */
export function seal({ ENCRYPTION_KEY: key }: SealKeys, plain: string, context: string): Buffer<ArrayBuffer> {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(context))
  const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()])
  return Buffer.concat([idBytesOf(key), nonce, cipher.getAuthTag(), body])
}

/**
 * Opens the result of `seal`. Throws MissingKeyError where the process lacks the key, another error
 * where the context differs or a bit has changed.
 */
export function unseal(keys: SealKeys, sealed: Uint8Array, context: string): string {
  const id = sealed.subarray(0, KEY_ID_BYTES)
  const key = allKeys(keys).find((each) => idBytesOf(each).equals(id))
  if (key === undefined) throw new MissingKeyError(Buffer.from(id).toString('hex'))
  const [nonce, tag] = [KEY_ID_BYTES, KEY_ID_BYTES + NONCE_BYTES]
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(nonce, tag))
    .setAAD(Buffer.from(context))
    .setAuthTag(sealed.subarray(tag, tag + TAG_BYTES))
  return Buffer.concat([decipher.update(sealed.subarray(tag + TAG_BYTES)), decipher.final()]).toString('utf8')
}

/** The process lacks a key. The message is for the log: an answer may go to anybody. */
export class MissingKeyError extends ServiceError {
  constructor(id: string) {
    super('unavailable', { detail: 'A key of the service is missing. Its log says which.', retryAfterSeconds: 60 })
    this.name = 'MissingKeyError'
    this.message = `The service does not have the key ${id}, which it needs: put it into ENCRYPTION_KEYS.`
  }
}

/** A key derived from one of the process's keys, for one purpose. */
export interface DerivedKey {
  /** The id of the key that it is derived from. */
  id: string
  key: Buffer
}

/**
 * The keys for one purpose. The first one signs new values; the others verify values from before a
 * rotation.
 */
export const deriveKeys = (keys: SealKeys, purpose: string): readonly [DerivedKey, ...DerivedKey[]] => {
  const derive = (key: Buffer): DerivedKey => ({ id: keyIdOf(key), key: deriveKey(key, purpose) })
  return [derive(keys.ENCRYPTION_KEY), ...keys.ENCRYPTION_KEYS.map(derive)]
}
