import { createHash, createHmac } from 'node:crypto'

/** The signed-in reader at the publisher. */
export interface SignedInReader {
  /**
   * The reader's id in the publisher's own user table, 1 to 255 characters. It must never pass to
   * another person.
   */
  id: string
  name?: string | null | undefined
  avatarUrl?: string | null | undefined
  profileUrl?: string | null | undefined
  /** Ids of badges of the tenant's settings. The service ignores others, and all beyond ten. */
  badges?: readonly string[] | null | undefined
}

export interface Profile {
  id: string
  name: string | null
  avatarUrl: string | null
  profileUrl: string | null
  /** Absent where the publisher says nothing of badges. */
  badges?: string[]
}

export interface Signer {
  /** The tenant's slug. */
  tenant: string
  identitySecret: string
}

const MAX_ID = 255
const MAX_NAME = 80
const MAX_URL = 2048
/** As many as the settings can have. */
const MAX_BADGES = 20

/**
 * A reader in the form that the service accepts. A long name is cut. An address that is not https,
 * and what cannot be the id of a badge, is left out. So bad data in a user table keeps no one from
 * writing. Throws a TypeError for an id that is empty, too long or not a text.
 */
export function profileOf({ id, name, avatarUrl, profileUrl, badges }: SignedInReader): Profile {
  // Two readers with one broken id would become the same person.
  if (typeof id !== 'string' || id === '' || charactersOf(id).length > MAX_ID || /\0|\p{Surrogate}/u.test(id)) {
    throw new TypeError(`a reader's id must be a text of 1 to ${MAX_ID} characters`)
  }
  const profile = { id, name: nameOf(name), avatarUrl: httpsUrl(avatarUrl), profileUrl: httpsUrl(profileUrl) }
  return badges == null ? profile : { ...profile, badges: badgesOf(badges) }
}

const badgesOf = (ids: readonly string[]): string[] =>
  ids.filter((id) => typeof id === 'string' && /^[a-z0-9_-]{1,32}$/.test(id)).slice(0, MAX_BADGES)

function nameOf(name: string | null | undefined): string | null {
  if (name == null) return null
  const cut = charactersOf(name.replaceAll(/\0|\p{Surrogate}/gu, ''))
    .slice(0, MAX_NAME)
    .join('')
    .trim()
  return cut === '' ? null : cut
}

/** The characters of a text as the service counts them: code points. */
export const charactersOf = (text: string): string[] => Array.from(text)

function httpsUrl(url: string | null | undefined): string | null {
  if (url == null || charactersOf(url).length > MAX_URL || !URL.canParse(url)) return null
  return /^https:\/\/[^\s\p{Cc}\p{Surrogate}]+$/iu.test(url) ? url : null
}

/** Long enough to arrive, and short enough that a leaked assertion is useless a minute later. */
const LIFETIME_SECONDS = 60

/**
 * The assertion for a reader: an HS256 JWT, written here because it is too little code for a
 * dependency of every publisher. `body` is that of a write, to which the assertion is then bound.
 */
export function signAssertion({ tenant, identitySecret }: Signer, profile: Profile, body: Uint8Array | null): string {
  const { id, ...rest } = profile
  const iat = Math.floor(Date.now() / 1000)
  const header = { alg: 'HS256', typ: 'JWT', kid: sha256(identitySecret, 'hex').slice(0, 8) }
  const claims = {
    sub: id,
    aud: tenant,
    iat,
    exp: iat + LIFETIME_SECONDS,
    ...rest,
    ...(body === null ? {} : { bodySha256: sha256(body, 'base64url') }),
  }
  const signed = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  return `${signed}.${createHmac('sha256', identitySecret).update(signed).digest('base64url')}`
}

/**
 * The key under which the service stores an outcome. A page's own key is scoped to this reader, so
 * that it cannot reach outcomes of other readers or of the publisher's own requests.
 */
export const idempotencyKeyFor = ({ id }: Profile, key: string): string =>
  `page:${sha256(JSON.stringify([id, key]), 'base64url')}`

const sha256 = (data: string | Uint8Array, encoding: 'hex' | 'base64url'): string =>
  createHash('sha256').update(data).digest(encoding)
