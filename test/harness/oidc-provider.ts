import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { Provider } from 'oidc-provider'

type Claims = Readonly<Record<string, unknown>>

export const CLIENT = { clientId: 'engagement', clientSecret: 'a secret of the client, long enough' } as const

/** The identity provider of a publisher, which logs in the person of `login`. */
export interface TestProvider {
  issuer: string
  /** Who logs in next, by their `sub`. */
  login(subject: string, claims: Claims): void
  /** Signs in by the authorization code flow, as a page does. Returns the ID token. */
  idTokenOf(subject: string, claims: Claims): Promise<string>
  /** A token of the same key, with other claims than the provider's own. */
  sign(claims: Claims): Promise<string>
  close(): Promise<void>
}

/** A provider by `oidc-provider`, whose one client has this callback. */
export async function startProvider(callback: string): Promise<TestProvider> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const people = new Map<string, Claims>()
  let next = ''
  const { privateKey } = await generateKeyPair('RS256', { extractable: true })
  const provider = new Provider(issuer, {
    clients: [{ client_id: CLIENT.clientId, client_secret: CLIENT.clientSecret, redirect_uris: [callback] }],
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name', 'groups', 'access'] },
    jwks: { keys: [{ ...(await exportJWK(privateKey)), kid: 'one', alg: 'RS256', use: 'sig' }] },
    // The name is in the ID token as well, as most issuers have it.
    conformIdTokenClaims: false,
    cookies: { keys: ['a key of the cookies'] },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_ctx, { uid }) => `/interaction/${uid}` },
    findAccount: (_ctx, sub) => ({ accountId: sub, claims: () => ({ ...people.get(sub), sub }) }),
    loadExistingGrant: async ({ oidc }) => {
      const { session, client } = oidc
      if (session?.accountId === undefined || client === undefined) return
      const grant = new provider.Grant({ accountId: session.accountId, clientId: client.clientId })
      grant.addOIDCScope('openid email profile')
      await grant.save()
      return grant
    },
  })
  const handle = provider.callback()
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    if (request.url?.startsWith('/interaction/') !== true) return void handle(request, response)
    void provider.interactionFinished(request, response, { login: { accountId: next } })
  })
  const login = (subject: string, claims: Claims): void => {
    people.set(subject, claims)
    next = subject
  }
  return {
    issuer,
    login,
    idTokenOf: async (subject, claims) => {
      login(subject, claims)
      return tokenFor(issuer, callback)
    },
    sign: (claims) => new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'one' }).sign(privateKey),
    close: () => closed(server),
  }
}

/** The ID token of who logs in next: a browser with cookies that follows to the callback. */
async function tokenFor(issuer: string, callback: string): Promise<string> {
  const { clientId, clientSecret } = CLIENT
  const verifier = 'a verifier of the code, which has 43 characters'.replaceAll(/\W/g, '-')
  const digest = createHash('sha256').update(verifier).digest('base64url')
  const asked = { client_id: clientId, redirect_uri: callback, response_type: 'code', scope: 'openid email profile' }
  const proof = { code_challenge: digest, code_challenge_method: 'S256' }
  const cookies = new Map<string, string>()
  let url = `${issuer}/auth?${new URLSearchParams({ ...asked, ...proof })}`
  while (!url.startsWith(callback)) {
    const cookie = [...cookies].map((pair) => pair.join('=')).join('; ')
    const answer = await fetch(url, { redirect: 'manual', headers: { cookie } })
    for (const each of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(each) ?? []
      cookies.set(name, value)
    }
    url = new URL(answer.headers.get('location') ?? '', url).href
  }
  const answer = await fetch(`${issuer}/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${clientId}:${encodeURIComponent(clientSecret)}`)}` },
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      code: new URL(url).searchParams.get('code') ?? '',
      redirect_uri: callback,
      code_verifier: verifier,
    }),
  })
  const { id_token: token } = (await answer.json()) as { id_token: string }
  return token
}

/** What a provider of our own answers, so that each part of it can be wrong. */
export interface FakeProvider {
  issuer: string
  /** The claims of the next ID token, over the right ones. */
  claims: Claims
  /** Signs with a new key from now on. Its id is that of before, or another. */
  rotate(kid?: string): Promise<void>
  /** Signs with a key that it does not publish. */
  isForger: boolean
  /** What it answers in place of a token. */
  tokenAnswer: { status: number; body: string } | null
  /** The nonce of the last request, as the browser has brought it. */
  nonce: string
  requests: string[]
  close(): Promise<void>
}

export async function startFakeProvider(): Promise<FakeProvider> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  let [kid, keys] = ['one', await generateKeyPair('RS256')]
  const forged = await generateKeyPair('RS256')
  const fake: FakeProvider = {
    issuer,
    claims: {},
    rotate: async (name = 'one') => {
      kid = name
      keys = await generateKeyPair('RS256')
    },
    isForger: false,
    tokenAnswer: null,
    nonce: '',
    requests: [],
    close: () => closed(server),
  }
  const answerTo = async (path: string): Promise<{ status: number; body: string }> => {
    const json = (body: object) => ({ status: 200, body: JSON.stringify(body) })
    if (path === '/.well-known/openid-configuration')
      return json({
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/jwks`,
        scopes_supported: ['openid', 'email', 'profile', 'groups'],
        response_types_supported: ['code'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: ['RS256'],
        authorization_response_iss_parameter_supported: true,
      })
    if (path === '/jwks')
      return json({ keys: [{ ...(await exportJWK(keys.publicKey)), kid, alg: 'RS256', use: 'sig' }] })
    if (fake.tokenAnswer !== null) return fake.tokenAnswer
    const now = Math.floor(Date.now() / 1000)
    const payload = { iss: issuer, aud: CLIENT.clientId, nonce: fake.nonce, iat: now, exp: now + 60, ...fake.claims }
    const signer = new SignJWT(payload).setProtectedHeader({ alg: 'RS256', kid })
    const token = await signer.sign(fake.isForger ? forged.privateKey : keys.privateKey)
    return json({ access_token: 'access', token_type: 'Bearer', expires_in: 60, id_token: token })
  }
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const path = request.url ?? ''
    fake.requests.push(path)
    request.resume()
    void answerTo(path).then(({ status, body }) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(body),
    )
  })
  return fake
}

const closed = (server: ReturnType<typeof createServer>): Promise<void> => {
  server.closeAllConnections()
  return new Promise((resolve) => server.close(() => resolve()))
}
