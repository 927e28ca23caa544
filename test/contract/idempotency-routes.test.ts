import { Kind, OperationTypeNode, print } from 'graphql'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { addMember, bearing } from '../harness/members.ts'
import { addDelivery } from '../harness/outbox.ts'
import { type DescribedRoute, DESCRIBED_ROUTES, requestOf, sampleOf, type Slot } from '../harness/routes.ts'
import { startService, type TestResponse, type TestService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'
import { addUpload } from '../harness/uploads.ts'

let service: TestService
let adminToken: string

beforeAll(async () => {
  // A worker would change rows in between.
  service = await startService({ worker: false })
  const login = await service.call('POST', '/admin/auth/login', { headers: { 'x-api-key': '' }, body: service.admin })
  adminToken = login.json.token as string
  await service.call('PATCH', '/settings', {
    body: { activeKeyBudget: 1000, webhookEndpoints: 1000, editWindowSeconds: 86_400 },
  })
})
afterAll(() => service.close())

// Some end the sign-in that they are sent with: it cannot send them again.
const ENDS_ITSELF = new Set(['changePassword', 'confirmTotp', 'logout', 'logoutEverywhere', 'removeTotp'])
const WRITES = DESCRIBED_ROUTES.filter(
  ({ route, access, field }) => route.method !== 'GET' && access !== 'public' && !ENDS_ITSELF.has(field),
)
const NEEDS_HELD = /^POST \/comments\/:\w+\/(approve|reject)$/

/**
 * Makes a thing for each id that a route may name, used by that route alone. Other values are made
 * up.
 */
async function furnish({ title }: DescribedRoute, reader: string): Promise<(slot: Slot) => unknown> {
  const post = async (path: string, body: object): Promise<TestResponse['json']> => {
    const { status, json, text } = await service.call('POST', path, { body, headers: await service.as(reader) })
    expect(status, text).toBeLessThan(300)
    return json
  }
  const discussion = await post('/discussions', { externalId: `page-${newId()}` })
  const comments = `/discussions/${discussion.id}/comments`
  const parent = await post(comments, { body: 'A comment' })
  if (NEEDS_HELD.test(title)) await service.call('PATCH', '/settings', { body: { moderationMode: 'pre' } })
  const comment = await post(comments, { body: 'Another comment' })
  await service.call('PATCH', '/settings', { body: { moderationMode: 'none' } })
  const endpoint = await post('/webhooks', { url: 'https://127.0.0.1:9/hook' })
  const { deliveryId } = await addDelivery(service.app, service.tenant.id, endpoint.id as string)
  const ids: readonly [RegExp, unknown][] = [
    [/^discussion/, discussion.id],
    [/^parentId$/, parent.id],
    [/^(comments?|ids$)/, comment.id],
    [/^reader/, comment.author.id],
    [/^keys?\//, (await post('/keys', { label: 'A key', capabilities: [] })).id],
    [/^secrets/, endpoint.kid],
    [/^identity-secrets/, (await post('/identity-secrets', {})).kid],
    [/^classifier-secrets/, (await post('/classifier-secrets', {})).kid],
    [/^deliver/, deliveryId],
    [/^import-uploads/, await addUpload(service, service.tenant.id, 'imported')],
    [/^members/, await memberFor(title)],
    [/^(webhooks?|endpoint)/, endpoint.id],
  ]
  return (slot) => (slot.isId ? (ids.find(([word]) => word.test(slot.key))?.[1] ?? newId()) : sampleOf(slot))
}

async function memberFor(title: string): Promise<string> {
  if (!title.endsWith('invitation')) return (await addMember(service, service, 'analyst')).id
  const body = { email: `${newId()}@example.com`, role: 'analyst' }
  return (await service.call('POST', '/admin/members', { headers: bearing(adminToken), body })).json.id as string
}

const TABLES = unnamed(`SELECT table_name AS name FROM information_schema.tables
   WHERE table_schema = current_schema() AND table_type = 'BASE TABLE' ORDER BY 1`)

/**
 * A digest of all rows, table by table, except when keys were last used, which is recorded in the
 * background.
 */
async function allRows(): Promise<Record<string, unknown>> {
  const digests: Record<string, unknown> = {}
  for (const { name } of await service.app.db.query<{ name: string }>(TABLES)) {
    const row = "(to_jsonb(t) - 'last_used_at' - 'last_seen_at')::text"
    const digest = `SELECT count(*) AS rows, md5(string_agg(${row}, ' ' ORDER BY ${row})) AS digest FROM "${name}" t`
    digests[name] = (await service.app.db.query(unnamed(digest)))[0]
  }
  expect(digests).toHaveProperty('comments')
  return digests
}

/**
 * A replay leaves out secrets that are shown once (test/contract/shown-once); GraphQL has null
 * instead.
 */
const withoutSecrets = (text: string): string =>
  text
    .replaceAll(
      /"(key|secret|standardSecret|token|url|otpauthUrl)":("((ek|ids|whs|whsec|ct)_[\w+/=]+|eyJ[\w.-]+|http[^"#]+#\w+|[A-Z2-7]{32}|otpauth:[^"]+)"|null),?/g,
      '',
    )
    .replaceAll(',}', '}')

let sent = 0
let succeeded = 0

/** Sends the request twice; the second one changes nothing and sends no messages. */
async function expectOnce(send: () => Promise<TestResponse>): Promise<TestResponse> {
  const first = await send()
  expect(first.headers.get('idempotency-replayed')).toBeNull()
  expect(first.status, first.text).toBeLessThan(500)
  const rows = await allRows()
  const publish = vi.spyOn(service.app.bus, 'publish')
  const again = await send()
  expect(publish).not.toHaveBeenCalled()
  publish.mockRestore()
  expect(again.headers.get('idempotency-replayed')).toBe('true')
  expect(again.status).toBe(first.status)
  expect(again.headers.get('content-type')).toBe(first.headers.get('content-type'))
  expect(withoutSecrets(again.text)).toBe(withoutSecrets(first.text))
  expect(await allRows()).toEqual(rows)
  sent++
  if (first.status < 300 && first.json?.errors === undefined) succeeded++
  return first
}

const headersOf = async ({ needsToken }: DescribedRoute, reader: string): Promise<Record<string, string>> => ({
  'idempotency-key': newId(),
  ...(needsToken ? { authorization: `Bearer ${adminToken}` } : {}),
  ...(await service.as(reader)),
})

test.each(WRITES.map((described) => [described.title, described] as const))(
  '%s: sent twice with one key it runs once',
  async (_title, described) => {
    const reader = newId()
    const { path, body } = requestOf(described, await furnish(described, reader))
    const headers = await headersOf(described, reader)
    await expectOnce(() => service.call(described.route.method, path, { body, headers }))
  },
)

const operationOf = ({ route }: DescribedRoute) =>
  route.document.definitions.find((definition) => definition.kind === Kind.OPERATION_DEFINITION)?.operation

// By the API key: what only an admin may do has its route above.
const MUTATIONS = WRITES.filter(
  (described) => !described.needsToken && operationOf(described) === OperationTypeNode.MUTATION,
)

test.each(MUTATIONS.map((described) => [described.field, described] as const))(
  'mutation %s: sent twice with one key it runs once',
  async (_field, described) => {
    const reader = newId()
    const fill = await furnish(described, reader)
    const input = described.slots.map(
      (slot) => [slot.name, slot.isId && slot.isList ? [fill(slot)] : fill(slot)] as const,
    )
    const headers = await headersOf(described, reader)
    await expectOnce(() =>
      service.graphql(print(described.route.document), { input: Object.fromEntries(input) }, headers),
    )
  },
)

test('most of them succeeded, because refusals alone would prove little', () => {
  expect(sent).toBeGreaterThan(30)
  expect(succeeded).toBeGreaterThan(sent * 0.8)
})
