import { getNamedType, isLeafType, isObjectType } from 'graphql'
import { beforeAll, expect, test } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { unseal } from '../../src/core/secrets/seals.ts'
import { schema } from '../../src/api/execution/schema.ts'
import { SHOWN_ONCE_EXTENSION } from '../../src/graphql/shown-once.ts'
import { type TestResponse, useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

const service = useService()
let endpointId: string

beforeAll(async () => {
  const body = { url: 'https://127.0.0.1:9/hook' }
  endpointId = (await service.call('POST', '/webhooks', { body })).json.id as string
})

const TABLES = unnamed(`SELECT table_name AS name FROM information_schema.tables
   WHERE table_schema = current_schema() AND table_type = 'BASE TABLE'`)
const OUTCOMES = unnamed(
  'SELECT tenant_id AS "tenantId", key_digest AS "keyDigest", body FROM idempotency_records WHERE body IS NOT NULL',
)

/** Every row of every table as text, and every stored outcome opened with the key. */
async function everythingStored(): Promise<string> {
  const { query } = service.app.db
  const texts: string[] = []
  for (const { name } of await query<{ name: string }>(TABLES)) {
    const rows = await query<{ row: string }>(unnamed(`SELECT t::text AS row FROM "${name}" t`))
    texts.push(...rows.map(({ row }) => row))
  }
  const outcomes = await query<{ tenantId: string; keyDigest: Uint8Array; body: Uint8Array }>(OUTCOMES)
  for (const { tenantId, keyDigest, body } of outcomes) {
    const context = `idempotency:${tenantId}:${Buffer.from(keyDigest).toString('hex')}`
    texts.push(unseal(service.app.settings, body, context))
  }
  return texts.join('\n')
}

async function expectStoredNowhere(secrets: readonly unknown[]): Promise<void> {
  const stored = await everythingStored()
  expect(stored).toContain('"createdAt"')
  for (const secret of secrets) {
    expect(secret).toMatch(/^((ek|ids|whs|ct)_[0-9a-f]{64}|whsec_[A-Za-z0-9+/]{43}=)$/)
    expect(stored).not.toContain(secret)
    // As bytes are printed.
    expect(stored).not.toContain(Buffer.from(String(secret)).toString('hex'))
  }
}

const isReplay = ({ headers }: TestResponse) => headers.get('idempotency-replayed') === 'true'

const adminHeaders = async () => {
  const login = await service.call('POST', '/admin/auth/login', { headers: { 'x-api-key': '' }, body: service.admin })
  return { authorization: `Bearer ${login.json.token as string}` }
}

test.each([
  ['POST /keys', 'key', () => ({ path: '/keys', body: { label: 'A key', capabilities: [] } })],
  ['POST /admin/keys', 'key', () => ({ path: '/admin/keys', body: { label: 'A key', capabilities: [] } })],
  ['POST /webhooks', 'secret', () => ({ path: '/webhooks', body: { url: 'https://127.0.0.1:9/other' } })],
  ['POST /webhooks/{id}/rotate-secret', 'secret', () => ({ path: `/webhooks/${endpointId}/rotate-secret`, body: {} })],
  ['POST /identity-secrets', 'secret', () => ({ path: '/identity-secrets', body: {} })],
  ['POST /classifier-secrets', 'secret', () => ({ path: '/classifier-secrets', body: {} })],
  ['POST /mail-secrets', 'secret', () => ({ path: '/mail-secrets', body: {} })],
  ['POST /client-tokens', 'token', () => ({ path: '/client-tokens', body: {} })],
] as const)('%s shows its secret only in the first answer, and stores nothing of it', async (_title, name, request) => {
  const { path, body } = request()
  const headers = { 'idempotency-key': newId(), ...(path.startsWith('/admin/') ? await adminHeaders() : {}) }
  const first = await service.call('POST', path, { body, headers })
  const again = await service.call('POST', path, { body, headers })
  const { [name]: secret, standardSecret, ...rest } = first.json as Record<string, unknown>
  expect(first.status, first.text).toBeLessThan(300)
  expect([isReplay(first), isReplay(again), again.status]).toEqual([false, true, first.status])
  expect(again.json).toEqual(rest)
  expect(again.text).not.toContain(`"${name}":`)
  expect(standardSecret !== undefined).toBe(/^\/(webhooks|classifier-secrets|mail-secrets)/.test(path))
  await expectStoredNowhere([secret, standardSecret ?? secret])
})

const ALL_AT_ONCE = /* GraphQL */ `
  mutation ($endpoint: ID!) {
    first: createApiKey(input: { label: "One", capabilities: [] }) {
      apiKey {
        label
        key: id
      }
      label: key
      again: key
    }
    second: createApiKey(input: { label: "Two", capabilities: [] }) {
      ...Minted
    }
    createWebhookEndpoint(input: { url: "https://127.0.0.1:9/third" }) {
      ... on CreateWebhookEndpointPayload {
        id: secret
        standard: standardSecret
      }
    }
    rotateWebhookSecret(input: { id: $endpoint, force: true }) {
      kid: secret
      id: standardSecret
    }
    createIdentitySecret {
      createdAt
      kid
      s: secret
    }
    createClassifierSecret {
      s: secret
      standard: standardSecret
    }
    createMailSecret {
      s: secret
      standard: standardSecret
    }
    createClientToken(input: {}) {
      t: token
    }
  }
  fragment Minted on CreateApiKeyPayload {
    apiKey {
      id
    }
    ...Key
  }
  fragment Key on CreateApiKeyPayload {
    k: key
  }
`

test('GraphQL: a document that fails beside a secret stores nothing of it either', async () => {
  const document = `mutation { made: createApiKey(input: { label: "Kept", capabilities: [] }) { key }
    refused: createApiKey(input: { label: "", capabilities: [] }) { key } }`
  const headers = { 'idempotency-key': newId() }
  const first = await service.graphql(document, {}, headers)
  const again = await service.graphql(document, {}, headers)
  const refused = { refused: null }
  expect(first.json).toMatchObject({ data: refused, errors: [{ extensions: { code: 'validation_failed' } }] })
  expect(again.json).toEqual({ ...first.json, data: { ...refused, made: { key: null } } })
  expect(isReplay(again)).toBe(true)
  await expectStoredNowhere([first.json.data.made.key])
})

test('GraphQL: secrets are null in a replay, whatever the aliases and fragments', async () => {
  const headers = { 'idempotency-key': newId() }
  const first = await service.graphql(ALL_AT_ONCE, { endpoint: endpointId }, headers)
  const again = await service.graphql(ALL_AT_ONCE, { endpoint: endpointId }, headers)
  expect([first.status, isReplay(first), isReplay(again)]).toEqual([200, false, true])
  const { data, errors } = first.json
  expect(errors).toBeUndefined()
  expect(again.json).toEqual({
    data: {
      ...data,
      first: { ...data.first, label: null, again: null },
      second: { ...data.second, k: null },
      createWebhookEndpoint: { id: null, standard: null },
      rotateWebhookSecret: { kid: null, id: null },
      createIdentitySecret: { ...data.createIdentitySecret, s: null },
      createClassifierSecret: { s: null, standard: null },
      createMailSecret: { s: null, standard: null },
      createClientToken: { t: null },
    },
  })
  await expectStoredNowhere([
    data.first.label,
    data.second.k,
    data.createWebhookEndpoint.id,
    data.createWebhookEndpoint.standard,
    data.rotateWebhookSecret.kid,
    data.rotateWebhookSecret.id,
    data.createIdentitySecret.s,
    data.createClassifierSecret.s,
    data.createClassifierSecret.standard,
    data.createMailSecret.s,
    data.createMailSecret.standard,
    data.createClientToken.t,
  ])
})

// A ticket lives for a minute, and nothing stores a login.
const NO_SECRETS = new Set(['StreamTicket.ticket', 'StreamTicket.streamUrl'])

test("every mutation's field with a secret's name is marked, nullable, and optional in OpenAPI", async () => {
  const marked = new Set<string>()
  for (const mutation of Object.values(schema.getMutationType()?.getFields() ?? {})) {
    const payload = getNamedType(mutation.type)
    if (!isObjectType(payload)) continue
    for (const type of [payload, ...Object.values(payload.getFields()).map((field) => getNamedType(field.type))]) {
      if (!isObjectType(type)) continue
      for (const field of Object.values(type.getFields())) {
        const name = `${type.name}.${field.name}`
        if (!isLeafType(getNamedType(field.type))) continue
        const isMarked = field.extensions[SHOWN_ONCE_EXTENSION] === true
        if (isMarked) {
          marked.add(name)
          expect(String(field.type), name).toMatch(/^String$|^\[String!\]$/)
        } else if (/^(raw|key$|secret$|token|ticket$|password|invitation|recovery|otp|streamUrl)/i.test(field.name)) {
          expect(NO_SECRETS, `${name} shows something secret: give it shownOnce()`).toContain(name)
        }
      }
    }
  }
  expect([...marked].sort()).toEqual([
    'AcceptInvitationPayload.token',
    'BeginTotpPayload.otpauthUrl',
    'BeginTotpPayload.secret',
    'ChangePasswordPayload.token',
    'ConfirmTotpPayload.recoveryCodes',
    'ConfirmTotpPayload.token',
    'CreateApiKeyPayload.key',
    'CreateClassifierSecretPayload.secret',
    'CreateClassifierSecretPayload.standardSecret',
    'CreateClientTokenPayload.token',
    'CreateIdentitySecretPayload.secret',
    'CreateMailSecretPayload.secret',
    'CreateMailSecretPayload.standardSecret',
    'CreateWebhookEndpointPayload.secret',
    'CreateWebhookEndpointPayload.standardSecret',
    'Invitation.url',
    'LoginPayload.token',
    'RotateWebhookSecretPayload.secret',
    'RotateWebhookSecretPayload.standardSecret',
    'SwitchTenantPayload.token',
  ])
  const { json } = await service.call('GET', '/openapi.json')
  const made = JSON.stringify(json.paths['/api/v1/keys'].post.responses['201'].content['application/json'].schema)
  const { $ref } = JSON.parse(made) as { $ref: string }
  const { required, properties } = json.components.schemas[$ref.split('/').at(-1) ?? '']
  expect(required).not.toContain('key')
  expect(properties.key).toMatchObject({ type: 'string' })
})
