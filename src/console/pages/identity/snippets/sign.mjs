import { createHmac } from 'node:crypto'

const AUDIENCE = '{tenant}'
const KID = '{kid}'
const SECRET = process.env.ENGAGEMENT_IDENTITY_SECRET
if (!SECRET) throw new Error('ENGAGEMENT_IDENTITY_SECRET is not set')

const encode = (value) => Buffer.from(JSON.stringify(value)).toString('base64url')

/**
 * Vouches for the reader who is signed in with you, for ten minutes: the value of the header
 * X-Service-Identity. `id` is their id with you; `profile` may have `name`, `avatarUrl`,
 * `profileUrl` and `badges`.
 */
export function signIdentity(id, profile = {}) {
  const now = Math.floor(Date.now() / 1000)
  const claims = { ...profile, sub: id, aud: AUDIENCE, iat: now, exp: now + 600 }
  const signed = `${encode({ alg: 'HS256', typ: 'JWT', kid: KID })}.${encode(claims)}`
  return `${signed}.${createHmac('sha256', SECRET).update(signed).digest('base64url')}`
}
