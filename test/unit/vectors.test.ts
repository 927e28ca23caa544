import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'

import fc from 'fast-check'
import { Webhook, WebhookVerificationError as StandardError } from 'standardwebhooks'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'

import type { App } from '../../src/core/app.ts'
import type { Tenant } from '../../src/core/caller.ts'
import { ServiceError } from '../../src/core/errors.ts'
import { standardSignatureOf } from '../../src/core/delivery/request.ts'
import { newSigningSecret, shownOf } from '../../src/core/secrets/signing-secrets.ts'
import { seal } from '../../src/core/secrets/seals.ts'
import { tenantSettings } from '../../src/core/settings/tenant.ts'
import { verifyIdentity } from '../../src/domains/readers/identity.ts'
import { identitySecretContext } from '../../src/domains/readers/keyring.ts'
import { verifyWebhook, WebhookVerificationError } from '../../src/clients/receiver/verify.ts'
import type { AssertionVector, TENANT } from '../harness/assertion-vectors.ts'
import type { StandardVector } from '../harness/standard-vectors.ts'
import { VECTOR_FILES } from '../harness/vectors.ts'
import type { WebhookVector } from '../harness/webhook-vectors.ts'

const { webhooks, standard, assertions } = VECTOR_FILES

test.each(Object.entries(VECTOR_FILES))(
  'the file of %s is up to date with `npm run generate`',
  (_name, { path, make }) => {
    expect(readFileSync(path, 'utf8')).toBe(make())
  },
)

describe('verifyWebhook', () => {
  const { vectors }: { vectors: WebhookVector[] } = JSON.parse(readFileSync(webhooks.path, 'utf8'))

  test.each(vectors.map((vector) => [vector.name, vector.expected, vector] as const))(
    '%s: %s',
    (_name, expected, { now, secrets, headers, body }) => {
      const verify = (): string => {
        try {
          verifyWebhook(headers, Buffer.from(body), secrets, { now: new Date(now) })
          return 'valid'
        } catch (error) {
          if (error instanceof WebhookVerificationError) return error.reason
          throw error
        }
      }
      expect(verify()).toBe(expected)
    },
  )
})

describe('the library of Standard Webhooks', () => {
  const { vectors }: { vectors: StandardVector[] } = JSON.parse(readFileSync(standard.path, 'utf8'))

  beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }))
  afterEach(() => void vi.useRealTimers())

  test.each(vectors.map((vector) => [vector.name, vector.expected, vector] as const))(
    '%s: %s',
    (_name, expected, { now, standardSecret, headers, body }) => {
      vi.setSystemTime(new Date(now))
      const verify = (): string => {
        try {
          new Webhook(standardSecret).verify(body, headers)
          return 'valid'
        } catch (error) {
          if (error instanceof StandardError) return 'refused'
          throw error
        }
      }
      expect(verify()).toBe(expected)
    },
  )

  test('signs any id, time and body as the service does', () => {
    fc.assert(
      fc.property(
        fc.string(),
        fc.date({ noInvalidDate: true, min: new Date(0) }),
        fc.string({ unit: 'binary' }),
        (id, at, body) => {
          const secrets = [newSigningSecret(), newSigningSecret()]
          const expected = secrets.map((each) => new Webhook(shownOf(each).standardSecret).sign(id, at, body))
          expect(standardSignatureOf(secrets, id, at, body)).toBe(expected.join(' '))
        },
      ),
    )
  })

  test('gives the signature of the specification of Standard Webhooks', () => {
    const secret = Buffer.from('MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'base64').toString('hex')
    const at = new Date(1_614_265_330_000)
    const signed = standardSignatureOf(
      [{ kid: '0a1b2c3d', secret: `whs_${secret}` }],
      'msg_p5jXN8AQM9LWM0D4loKWxJek',
      at,
      '{"test": 2432232314}',
    )
    expect(signed).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=')
  })
})

describe('an assertion', () => {
  const { tenant, vectors }: { tenant: typeof TENANT; vectors: AssertionVector[] } = JSON.parse(
    readFileSync(assertions.path, 'utf8'),
  )
  const jwksUrl = 'https://www.example.com/jwks.json'
  const known: Tenant = {
    id: '01980000-0000-7000-8000-000000000001',
    slug: tenant.slug,
    settings: tenantSettings({ identity: { issuer: tenant.issuer, jwksUrl } }),
    discussionsDeleted: 0,
    suspendedAt: null,
    suspensionReason: null,
    mailSecretUntil: null,
  }

  beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }))
  afterEach(() => void vi.useRealTimers())

  /** A process that finds the tenant's keys in its database, and nothing else. */
  function appWithKeys(): App {
    const settings = { ENCRYPTION_KEY: randomBytes(32), ENCRYPTION_KEYS: [], CACHE_MB: 64 }
    const secrets = tenant.identitySecrets.map(({ kid, secret }) => ({
      kid,
      sealed: seal(settings, secret, identitySecretContext(known.id, kid)),
      expiresAt: null,
    }))
    const rows: Record<string, unknown[]> = {
      live_identity_secrets: secrets,
      find_key_set: [{ url: jwksUrl, jwks: tenant.jwks, fetchedAt: new Date(), error: null }],
    }
    return {
      settings,
      db: { query: async ({ name }: { name: string }) => rows[name] ?? [] },
      bus: { onGap: () => undefined, subscribe: async () => undefined, publish: () => undefined },
    } as unknown as App
  }

  test.each(vectors.map((vector) => [vector.name, vector] as const))('%s', async (_name, vector) => {
    vi.setSystemTime(new Date(vector.now))
    const verify = async (): Promise<AssertionVector['expected']> => {
      try {
        const identity = await verifyIdentity(appWithKeys(), known, vector.assertion, Buffer.from(vector.body))
        const { issuedAt: _, badges: __, expiresAt: ___, ...reader } = identity
        return { reader }
      } catch (error) {
        if (error instanceof ServiceError) return { code: error.code as 'invalid_identity' }
        throw error
      }
    }
    expect(await verify()).toEqual(vector.expected)
    expect(vector.valid).toBe('reader' in vector.expected)
  })
})
