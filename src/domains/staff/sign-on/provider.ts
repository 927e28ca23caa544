import type { Configuration, ServerMetadata } from 'openid-client'

import { type App, perApp } from '../../../core/app.ts'
import type { Id } from '../../../core/ids.ts'
import { readClaim } from '../../../core/input/claims.ts'
import { roomOf } from '../../../core/cache.ts'
import { createReadCache } from '../../../core/read-cache.ts'
import { unseal } from '../../../core/secrets/seals.ts'
import type { OidcSettings } from '../../../core/settings/tenant.ts'
import { refuseSignOn } from './refusals.ts'

/** The library is loaded by the first sign-on: few processes need it. */
const library = () => import('openid-client')

const KEPT_MS = 5 * 60_000
const SCOPES = ['openid', 'email', 'profile']
/** Okta tells groups only who asks for them. */
const GROUPS = 'groups'

/** The sealing context of a client's secret. */
export const oidcSecretContext = (tenantId: Id, clientId: string): string => `oidc-secret:${tenantId}:${clientId}`

/** What a sign-on leaves with the browser until it is back from the provider. */
export interface Begun {
  state: string
  nonce: string
  codeVerifier: string
}

/** What the provider says of a person. */
export type Claims = Readonly<Record<string, unknown>> & { sub: string }

type Fetch = (
  url: string,
  options: { method: string; headers: Record<string, string>; body?: unknown },
) => Promise<Response>

/** The library's requests go through the guarded agent: forms, and answers in JSON. */
const fetchFor =
  ({ fetch }: App): Fetch =>
  async (url, { method, headers, body }) => {
    if (method !== 'GET' && method !== 'POST') throw new Error(`${method} is not sent`)
    const sent = body instanceof URLSearchParams ? { body: body.toString() } : {}
    const { status, text } = await fetch(url, { method, headers, ...sent })
    return new Response(text, { status, headers: { 'content-type': typeOf(text) } })
  }

/** A provider may answer who a person is as a signed token. */
const typeOf = (text: string): string => (text.trimStart().startsWith('{') ? 'application/json' : 'application/jwt')

/** What providers say of themselves, up to 5 min old. Each sign-on reads their keys again. */
const metadata = perApp((app) =>
  createReadCache<ServerMetadata>({
    room: roomOf(app, 'other'),
    part: 0.25,
    maxAgeMs: KEPT_MS,
    read: async (issuer) => {
      const { allowInsecureRequests, customFetch, discovery } = await library()
      const options = { [customFetch]: fetchFor(app), execute: insecure(app, allowInsecureRequests) }
      return (await discovery(new URL(issuer), '-', undefined, undefined, options)).serverMetadata()
    },
  }),
)

const insecure = <Allow>({ settings }: App, allow: Allow): Allow[] => (settings.WEBHOOK_ALLOW_HTTP ? [allow] : [])

/** The tenant's client at its provider. Refuses where the provider or the secret is missing. */
async function clientOf(app: App, tenantId: Id, { issuer, clientId }: OidcSettings): Promise<Configuration> {
  const openid = await library()
  const row = await app.prisma.oidcSecret.findUnique({ where: { tenantId_clientId: { tenantId, clientId } } })
  if (row === null) throw refuseSignOn('not_configured', 'The setting has no client secret.')
  const secret = unseal(app.settings, row.sealed, oidcSecretContext(tenantId, clientId))
  const server = await metadata(app)
    .get(issuer)
    .catch((error: unknown) => {
      throw refuseSignOn('provider_failed', error)
    })
  // The standard's default is Basic, and most providers name what they take.
  const isPost = server.token_endpoint_auth_methods_supported?.includes('client_secret_post') === true
  const authentication = isPost ? openid.ClientSecretPost(secret) : openid.ClientSecretBasic(secret)
  const client = new openid.Configuration(server, clientId, undefined, authentication)
  client[openid.customFetch] = fetchFor(app)
  openid.enableNonRepudiationChecks(client)
  insecure(app, openid.allowInsecureRequests).forEach((allow) => allow(client))
  return client
}

/** Where the browser goes to sign in, and what it must bring back. */
export async function beginAt(
  app: App,
  tenantId: Id,
  oidc: OidcSettings,
  redirectUri: string,
): Promise<{ url: URL; begun: Begun }> {
  const openid = await library()
  const client = await clientOf(app, tenantId, oidc)
  const begun = {
    state: openid.randomState(),
    nonce: openid.randomNonce(),
    codeVerifier: openid.randomPKCECodeVerifier(),
  }
  const url = openid.buildAuthorizationUrl(client, {
    redirect_uri: redirectUri,
    scope: scopesFor(client.serverMetadata(), oidc).join(' '),
    state: begun.state,
    nonce: begun.nonce,
    code_challenge: await openid.calculatePKCECodeChallenge(begun.codeVerifier),
    code_challenge_method: 'S256',
  })
  return { url, begun }
}

/**
 * What the provider says of the person who is back from it, at `url`. Claims that the token lacks
 * are asked of the provider: many leave out the address, or the groups.
 */
export async function finishAt(
  app: App,
  tenantId: Id,
  oidc: OidcSettings,
  url: URL,
  { state, nonce, codeVerifier }: Begun,
): Promise<Claims> {
  const openid = await library()
  const client = await clientOf(app, tenantId, oidc)
  try {
    const tokens = await openid.authorizationCodeGrant(client, url, {
      expectedState: state,
      expectedNonce: nonce,
      pkceCodeVerifier: codeVerifier,
      idTokenExpected: true,
    })
    const claims = tokens.claims()
    if (claims === undefined) throw new Error('no ID token')
    const isWhole = wantedOf(oidc).every((name) => readClaim(claims, name) !== undefined)
    if (isWhole || client.serverMetadata().userinfo_endpoint === undefined) return claims
    return joined(claims, await openid.fetchUserInfo(client, tokens.access_token, claims.sub))
  } catch (error) {
    throw refuseSignOn('provider_failed', error)
  }
}

/**
 * The claims of the ID token, and what the provider answers beside them. An address and whether it
 * is verified come from one of both, if one has them: the two may name different addresses.
 */
export function joined(claims: Claims, info: Claims): Claims {
  const { email, email_verified: isVerified } =
    hasVerified(claims) || !hasVerified(info) ? { ...info, ...claims } : info
  return { ...info, ...claims, email, email_verified: isVerified }
}

const hasVerified = ({ email, email_verified: isVerified }: Claims): boolean =>
  email !== undefined && isVerified !== undefined

const scopesFor = ({ scopes_supported: known }: ServerMetadata, { roleClaim }: OidcSettings): string[] =>
  roleClaim === GROUPS && known?.includes(GROUPS) === true ? [...SCOPES, GROUPS] : SCOPES

const wantedOf = ({ roleClaim }: OidcSettings): string[] => [
  'email',
  'email_verified',
  ...(roleClaim === null ? [] : [roleClaim]),
]
