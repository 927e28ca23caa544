import { exportJWK, generateKeyPair, SignJWT } from 'jose'

import { refreshDueKeySets } from '../../src/domains/readers/key-sets.ts'
import { send } from './send.ts'
import type { TestResponse, TestService, TestTenant } from './service.ts'

const ISSUER = 'https://login.example.com'
export const ORIGIN = 'https://www.example.com'

/** What a page of a site asks. */
export interface AsksSite {
  ask: (method: string, path: string, options?: AskOptions) => Promise<TestResponse>
}

/** A site of a tenant, whose readers sign in at an issuer with one key. */
export interface TestSite extends AsksSite {
  id: string
  publicKey: string
  pair: Awaited<ReturnType<typeof generateKeyPair>>
  /** A token as the issuer signs it. */
  token: (claims?: Record<string, unknown>, header?: Record<string, unknown>) => Promise<string>
}

interface AskOptions {
  /** Of the page; null for none. */
  origin?: string | null
  token?: string
  body?: unknown
  headers?: Record<string, string>
}

export const keyOf = ({ apiKey }: TestTenant): Record<string, string> => ({ 'x-api-key': apiKey })

/** Seconds since 1970. */
export const now = (): number => Math.floor(Date.now() / 1000)

/** The query that names a page. */
export const page = (address = `${ORIGIN}/article`, more: Record<string, string> = {}): string =>
  `?${String(new URLSearchParams({ externalId: address, ...more }))}`

interface SiteOptions {
  origins?: string[]
  /** Of the tenant. */
  settings?: { identity?: object } & Record<string, unknown>
  /** False where a worker fetches the keys of an issuer that is there. */
  keys?: boolean
}

export async function addSite(
  service: TestService,
  tenant: TestTenant,
  { origins = [ORIGIN], settings: { identity = {}, ...settings } = {}, keys = true }: SiteOptions = {},
): Promise<TestSite> {
  const headers = keyOf(tenant)
  const issuer = { issuer: ISSUER, jwksUrl: `${ISSUER}/jwks/${tenant.tenant.slug}` }
  const body = { identity: { ...issuer, ...identity }, ...settings }
  await service.ok('PATCH', '/settings', body, headers)
  const pair = await generateKeyPair('RS256', { extractable: true })
  const jwk = { ...(await exportJWK(pair.publicKey)), kid: 'k1', use: 'sig' }
  // The key set of another tenant may be due as well, and keeps its keys.
  const fetchJson = (url: string) =>
    url === body.identity.jwksUrl ? Promise.resolve({ keys: [jwk] }) : Promise.reject(new Error('is of another tenant'))
  if (keys) await refreshDueKeySets(service.app, fetchJson)
  const { id, publicKey } = await service.ok('POST', '/sites', { name: 'Blog', origins }, headers)
  return {
    id,
    publicKey,
    pair,
    token: (claims = {}, header = {}) =>
      new SignJWT({
        iss: ISSUER,
        sub: 'ann',
        aud: tenant.tenant.slug,
        iat: now(),
        exp: now() + 600,
        name: 'Ann',
        ...claims,
      })
        .setProtectedHeader({ alg: 'RS256', kid: 'k1', ...header })
        .sign(pair.privateKey),
    ask: (method, path, options) => ask(`${service.url}/engagement/${publicKey}${path}`, method, options),
  }
}

/** What a page asks at an address of its site. */
export function ask(
  url: string,
  method: string,
  { origin = ORIGIN, token, body, headers = {} }: AskOptions = {},
): Promise<TestResponse> {
  return send(
    url,
    method,
    {
      ...(origin !== null && { origin }),
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(method !== 'GET' && { 'x-requested-with': 'engagement' }),
      ...headers,
    },
    body,
  )
}
