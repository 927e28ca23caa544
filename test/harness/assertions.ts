import { SignJWT } from 'jose'
import { expect } from 'vitest'

import type { TestResponse, TestService, TestTenant } from './service.ts'

export const BODY = '{"body":"Hello"}'
export const seconds = (): number => Math.floor(Date.now() / 1000)
export const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text)

/** Posts a comment with `token` as the assertion: a write on the reader's behalf. */
export const postAs = (service: TestService, token: string, tenant: TestTenant = service): Promise<TestResponse> =>
  service.call('POST', '/discussions/by-external/identity/comments', {
    body: BODY,
    headers: { 'x-api-key': tenant.apiKey, 'x-service-identity': token },
  })

export interface Change {
  claims?: Record<string, unknown>
  header?: Record<string, unknown>
  key?: Uint8Array
}

/** An assertion that is good but for `change`. Undefined claims are left out. */
export function signAssertion(tenant: TestTenant, { claims = {}, header = {}, key }: Change = {}): Promise<string> {
  const { kid, secret } = tenant.identitySecret
  const now = seconds()
  return new SignJWT({ sub: 'reader-1', aud: tenant.tenant.slug, iat: now, exp: now + 600, ...claims })
    .setProtectedHeader({ alg: 'HS256', kid, ...header })
    .sign(key ?? utf8(secret))
}

/** A 401 as a problem document that shows nothing of a library. */
export function expectRefusal(response: TestResponse, code: string): void {
  expect(response.json).toMatchObject({
    status: 401,
    code,
    title: expect.any(String) as string,
    detail: expect.any(String) as string,
  })
  expect(response.status).toBe(401)
  expect(response.headers.get('content-type')).toMatch(/^application\/problem\+json/)
  expect(response.headers.get('www-authenticate')).toContain(code)
  expect(response.text).not.toMatch(/jose|JWS|JWT_|node_modules|at .*\.ts/)
}

/** The detail of a 422 says of each wrong value where it stands, in the order of `errors`. */
export function expectDetailOf({ json }: TestResponse): void {
  const errors = json.errors as { pointer: string; message: string }[]
  expect(errors.length).toBeGreaterThan(0)
  const parts = errors.map(({ pointer, message }) => `${pointer === '' ? 'The body' : pointer} ${message}`)
  expect(json.detail).toBe(parts.join('; '))
}
