import { expect, test, vi } from 'vitest'

import { tenantSettings } from '../../src/core/settings/tenant.ts'
import { type TestTenant, useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

const service = useService({ env: { WEBHOOK_ALLOWED_PORTS: '443,1024-65535' } })
let tenant: TestTenant
let count = 0

/** A tenant of its own for each test: settings outlive a test. */
async function freshTenant(): Promise<{ headers: Record<string, string> }> {
  tenant = await service.addTenant(`settings-${count++}`)
  return { headers: { 'x-api-key': tenant.apiKey } }
}

const stored = async (): Promise<unknown> =>
  (
    await service.app.db.query<{ settings: unknown }>(unnamed('SELECT settings FROM tenants WHERE id = $1'), [
      tenant.tenant.id,
    ])
  )[0]?.settings

test('GET /settings answers every setting with its default', async () => {
  const { status, json } = await service.call('GET', '/settings', await freshTenant())
  expect(status).toBe(200)
  expect(json).toEqual(tenantSettings({}))
})

test('GET /settings/public answers what readers may know, to a key without capabilities, and follows a change', async () => {
  const as = await freshTenant()
  const { json: minted } = await service.call('POST', '/keys', { body: { label: 'page', capabilities: [] }, ...as })
  const reading = { headers: { 'x-api-key': minted.key } }
  const answer = await service.call('GET', '/settings/public', reading)
  const { reactionTypes, editWindowSeconds, showEditHistory, maxDepth, badges } = tenantSettings({})
  const defaults = { reactionTypes, editWindowSeconds, showEditHistory, maxDepth, badges }
  expect([answer.status, answer.json]).toEqual([200, defaults])
  const badge = { id: 'staff', label: 'Staff', tone: 'info' }
  const body = { reactionTypes: ['like'], editWindowSeconds: 60, showEditHistory: true, maxDepth: 2, badges: [badge] }
  await service.call('PATCH', '/settings', { body, ...as })
  await vi.waitFor(async () => expect((await service.call('GET', '/settings/public', reading)).json).toEqual(body))
  const query =
    '{ publicSettings { reactionTypes editWindowSeconds showEditHistory maxDepth badges { id label tone } } }'
  expect((await service.graphql(query, {}, reading.headers)).json.data).toEqual({ publicSettings: body })
})

test('PATCH /settings changes the given fields, nested ones too, and keeps the others', async () => {
  const as = await freshTenant()
  const body = {
    maxDepth: 3,
    stream: { replayHours: 48 },
    reactionTypes: ['like'],
    classifier: { url: 'https://c.example.com/' },
  }
  const { status, json } = await service.call('PATCH', '/settings', { body, ...as })
  const defaults = tenantSettings({})
  expect(status).toBe(200)
  expect(json).toEqual({
    ...defaults,
    ...body,
    stream: { ...defaults.stream, replayHours: 48 },
    classifier: { url: 'https://c.example.com/', fallback: 'hold' },
  })
  expect((await service.call('GET', '/settings', as)).json).toEqual(json)
})

test.each([
  ['over http', 'http://x.example.com/', 'https_required'],
  ['of another scheme', 'ftp://x.example.com/', 'https_required'],
  ['with credentials', 'https://user:pass@x.example.com/', 'credentials_not_allowed'],
  ['of a private network', 'https://10.0.0.1/', 'address_not_allowed'],
  ['of a metadata service', 'https://169.254.169.254/latest', 'address_not_allowed'],
  ['of loopback in v6', 'https://[::1]/', 'address_not_allowed'],
  ['at the port of another service', 'https://x.example.com:25/', 'port_not_allowed'],
  ['with a line break', 'https://x.example.com/\n', 'invalid_url'],
  ['that is no URL', 'x.example.com', 'invalid_url'],
  ['of 2 049 characters', `https://x.example.com/${'a'.repeat(2027)}`, 'too_long'],
])(
  'an address %s is refused for a key set, a classifier and a mailer as it is for a webhook',
  async (_what, url, code) => {
    const as = await freshTenant()
    for (const [method, path, body, pointer] of [
      ['POST', '/webhooks', { url }, '/url'],
      ['PATCH', '/settings', { identity: { jwksUrl: url, issuer: 'x' } }, '/identity/jwksUrl'],
      ['PATCH', '/settings', { classifier: { url } }, '/classifier/url'],
      ['PATCH', '/settings', { guests: { mailUrl: url } }, '/guests/mailUrl'],
    ] as const) {
      const { status, json } = await service.call(method, path, { body, ...as })
      expect([status, json.errors?.[0]?.pointer, json.errors?.[0]?.code]).toEqual([422, pointer, code])
    }
    expect(await stored()).toEqual({})
  },
)

test('an address that was set under other rules does not block other changes', async () => {
  const as = await freshTenant()
  const settings = { classifier: { url: 'http://10.0.0.1/', fallback: 'hold' } }
  await service.app.db.query(unnamed('UPDATE tenants SET settings = $2::jsonb WHERE id = $1'), [
    tenant.tenant.id,
    JSON.stringify(settings),
  ])
  expect((await service.call('PATCH', '/settings', { body: { maxDepth: 3 }, ...as })).status).toBe(200)
  expect(await stored()).toEqual({ ...settings, maxDepth: 3 })
})

test('only values that differ from the defaults are stored, and null is a value', async () => {
  const as = await freshTenant()
  await service.call('PATCH', '/settings', {
    body: { maxDepth: 3, autoCloseDays: 7, stream: { replayHours: 48 } },
    ...as,
  })
  expect(await stored()).toEqual({ maxDepth: 3, autoCloseDays: 7, stream: { replayHours: 48 } })
  await service.call('PATCH', '/settings', {
    body: { maxDepth: 10, autoCloseDays: null, stream: { replayHours: 24 } },
    ...as,
  })
  expect(await stored()).toEqual({})
})

test.each([
  ['an unknown nested setting', { stream: { colour: 'red' } }, '/stream/colour'],
  ['a value out of bounds', { editWindowSeconds: -1 }, '/editWindowSeconds'],
  ['a nested value out of bounds', { webhookPolicy: { maxAttempts: 11 } }, '/webhookPolicy/maxAttempts'],
  ['an unknown word', { moderationMode: 'maybe' }, '/moderationMode'],
  ['a wrong type', { maxDepth: '3' }, '/maxDepth'],
  ['null where it is no value', { maxDepth: null }, '/maxDepth'],
  ['null in place of a group', { stream: null }, '/stream'],
  [
    'a disableThreshold below breakerThreshold',
    { webhookPolicy: { disableThreshold: 5 } },
    '/webhookPolicy/disableThreshold',
  ],
  ['a JWKS address without an issuer', { identity: { jwksUrl: 'https://x.example.com/jwks' } }, '/identity/issuer'],
  ['a word of punctuation alone', { bannedWords: ['fine', '!!!'] }, '/bannedWords/1'],
  ['an origin with a path', { allowedOrigins: ['https://x.example.com/a'] }, '/allowedOrigins/0'],
])(
  'PATCH /settings with %s: 422 validation_failed with its pointer, and nothing changes',
  async (_name, body, pointer) => {
    const as = await freshTenant()
    const { status, json } = await service.call('PATCH', '/settings', { body, ...as })
    expect(json).toMatchObject({ code: 'validation_failed', errors: [{ pointer }] })
    expect(status).toBe(422)
    expect(await stored()).toEqual({})
  },
)

test('concurrent changes of different settings all take effect', async () => {
  const as = await freshTenant()
  const changes = [
    { maxDepth: 3 },
    { maxLinks: 1 },
    { ticket: { connectSeconds: 9 } },
    { ticket: { reconnectSeconds: 90 } },
    { reportThreshold: 2 },
  ]
  await Promise.all(changes.map((body) => service.call('PATCH', '/settings', { body, ...as })))
  const { json } = await service.call('GET', '/settings', as)
  expect(json).toMatchObject({
    maxDepth: 3,
    maxLinks: 1,
    reportThreshold: 2,
    ticket: { connectSeconds: 9, reconnectSeconds: 90 },
  })
})

test('a change applies at once: the key budget', async () => {
  const as = await freshTenant()
  await service.call('PATCH', '/settings', { body: { activeKeyBudget: 1 }, ...as })
  const refusal = await service.call('POST', '/keys', { body: { label: 'one more', capabilities: [] }, ...as })
  expect(refusal.json).toMatchObject({ status: 409, code: 'key_budget_exhausted' })
})

test('a change has an audit entry, with before and after', async () => {
  const as = await freshTenant()
  await service.call('PATCH', '/settings', { body: { maxDepth: 4 }, ...as })
  const rows = await service.app.db.query(unnamed('SELECT action, before, after FROM audit_log WHERE tenant_id = $1'), [
    tenant.tenant.id,
  ])
  expect(rows).toEqual([{ action: 'settings.update', before: { maxDepth: 10 }, after: { maxDepth: 4 } }])
})

test('a change affects only its own tenant', async () => {
  const one = await freshTenant()
  const other = await freshTenant()
  await service.call('PATCH', '/settings', { body: { maxDepth: 4 }, ...one })
  await vi.waitFor(async () => expect((await service.call('GET', '/settings', one)).json.maxDepth).toBe(4))
  expect((await service.call('GET', '/settings', other)).json.maxDepth).toBe(10)
})
