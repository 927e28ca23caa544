import ipaddr from 'ipaddr.js'
import { z } from 'zod'

import { databaseHosts } from './database-url.ts'

// The forms of settings: an environment has only texts.

export const flag = z.enum(['true', 'false']).transform((text) => text === 'true')
export const numberText = (least: number, most: number) => z.coerce.number().min(least).max(most)
/** A whole number. */
export const integerText = (least: number, most: number) => z.coerce.number().int().min(least).max(most)
export const port = integerText(0, 65_535)
export const path = z.string().min(1)
export const seconds = numberText(0.1, 3600)

/**
 * A secret of HS256: its text's bytes are the key, of 32 bytes at least (RFC 7518, section 3.2).
 */
export const identitySecretSchema = z.string().min(32, 'must have at least 32 characters')

/** A list of texts that are separated by commas. */
export const list = z.string().transform((text) =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== ''),
)

export const isRedisUrl = (url: string): boolean => URL.canParse(url) && /^rediss?:\/\//.test(url)

export const rawKey = /^ek_[0-9a-f]{64}$/

export const encryptionKey = z.base64('must be 32 bytes in base64').transform((text, ctx) => {
  const key = Buffer.from(text, 'base64')
  if (key.length !== 32) ctx.addIssue({ code: 'custom', message: 'must be 32 bytes in base64' })
  return key
})

export const cidrs = list.pipe(
  z.array(z.string().refine((text) => ipaddr.isValidCIDR(text), 'must be a list of CIDR ranges')),
)

export const ports = list.pipe(
  z
    .array(z.string().regex(/^\d{1,5}(-\d{1,5})?$/, 'must be a list of ports and ranges of them, as 443,1024-65535'))
    .min(1)
    .transform((parts) => parts.map((part) => part.split('-').map(Number)))
    .transform((parts) => parts.map(([from = 0, to = from]): readonly [from: number, to: number] => [from, to])),
)

export const databaseUrl = z
  .string()
  .refine(
    (url) => databaseHosts(url) !== null,
    'must be a URL as postgres://user:password@host:5432/name, or with several hosts as postgres://one:5432,two:5432/name; target_session_attrs may be read-write, primary or any',
  )
