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
  close(): Promise<void>
}

/** A provider by `oidc-provider`, whose one client has this callback. */
export async function startProvider(callback: string): Promise<TestProvider> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const people = new Map<string, Claims>()
  let next = ''
  const provider = new Provider(issuer, {
    clients: [{ client_id: CLIENT.clientId, client_secret: CLIENT.clientSecret, redirect_uris: [callback] }],
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name', 'groups', 'access'] },
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
  return {
    issuer,
    login: (subject, claims) => {
      people.set(subject, claims)
      next = subject
    },
    close: () => closed(server),
  }
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
