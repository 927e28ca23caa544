import { Kind, OperationTypeNode, print } from 'graphql'
import { beforeAll, expect, test, vi } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { effort } from '../harness/effort.ts'
import { addMember, bearing } from '../harness/members.ts'
import { addDelivery } from '../harness/outbox.ts'
import { type DescribedRoute, DESCRIBED_ROUTES, requestOf, sampleOf, type Slot } from '../harness/routes.ts'
import { type TestResponse, useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'
import { addUpload } from '../harness/uploads.ts'

// A worker would change rows in between.
const service = useService()
let adminToken: string
/** The statement of `allRows`. */
let digests: string

beforeAll(async () => {
  const login = await service.call('POST', '/admin/auth/login', { headers: { 'x-api-key': '' }, body: service.admin })
  adminToken = login.json.token as string
  await service.ok('PATCH', '/settings', { activeKeyBudget: 1000, webhookEndpoints: 1000, editWindowSeconds: 86_400 })
  digests = await digestsOfAll()
})

// Some end the sign-in that they are sent with: it cannot send them again.
const ENDS_ITSELF = new Set(['changePassword', 'confirmTotp', 'logout', 'logoutEverywhere', 'removeTotp'])
const WRITES = DESCRIBED_ROUTES.filter(
  ({ route, access, field }) => route.method !== 'GET' && access !== 'public' && !ENDS_ITSELF.has(field),
)
/** Nobody reports or mutes themselves. */
const NEEDS_ANOTHER = new Set(['muteReader', 'reportComment'])
const NEEDS_HELD = /^POST \/comments\/:\w+\/(approve|reject)$/

/**
 * Makes a thing for each id that the route names, used by that route alone. Other values are made
 * up.
 */
async function furnish({ title, field, slots }: DescribedRoute, reader: string): Promise<(slot: Slot) => unknown> {
  const author = NEEDS_ANOTHER.has(field) ? newId() : reader
  const post = async (path: string, body?: object): Promise<TestResponse['json']> =>
    service.ok('POST', path, body, await service.as(author))
  const discussion = once(() => post('/discussions', { externalId: `page-${newId()}` }))
  const addComment = async (body: string) => post(`/discussions/${(await discussion()).id}/comments`, { body })
  const parent = once(() => addComment('A comment'))
  const comment = once(async () => {
    await parent()
    if (!NEEDS_HELD.test(title)) return addComment('Another comment')
    await service.call('PATCH', '/settings', { body: { moderationMode: 'pre' } })
    const held = await addComment('Another comment')
    await service.call('PATCH', '/settings', { body: { moderationMode: 'none' } })
    return held
  })
  const endpoint = once(async () => {
    const made = await post('/webhooks', { url: 'https://127.0.0.1:9/hook' })
    const state = field === 'enableWebhookEndpoint' ? 'disabled' : 'verified'
    await service.app.db.query(SET_STATE, [made.id, state])
    return made
  })
  const makers: readonly [RegExp, () => Promise<unknown>][] = [
    [/^discussion/, async () => (await discussion()).id],
    [/^parentId$/, async () => (await parent()).id],
    [/^(comments?|ids$)/, async () => (await comment()).id],
    [/^reader/, async () => (await comment()).author.id],
    [/^keys?\//, async () => (await post('/keys', { label: 'A key', capabilities: [] })).id],
    [/^secrets/, async () => (await endpoint()).kid],
    [/^identity-secrets/, async () => (await post('/identity-secrets', {})).kid],
    [/^classifier-secrets/, async () => (await post('/classifier-secrets', {})).kid],
    [/^deliver/, async () => (await addDelivery(service.app, service.tenant.id, (await endpoint()).id)).deliveryId],
    [/^mail-secrets/, async () => (await post('/mail-secrets')).kid],
    [
      /^documents/,
      async () => (await post('/documents', { manifest: { [newId()]: '{ __typename }' } })).data[0].documentId,
    ],
    [/^exports/, async () => (await service.ok('POST', '/exports', undefined, bearing(adminToken))).id],
    [/^notes/, async () => (await post(`/comments/${(await comment()).id}/notes`, { text: 'A note' })).id],
    [/^notice-channels/, async () => (await post('/notice-channels', CHANNEL)).id],
    [/^sites/, async () => (await post('/sites', { name: 'A site', origins: ['https://a.example'] })).id],
    [
      /^into$/,
      async () =>
        (
          await service.ok(
            'POST',
            `/discussions/${(await discussion()).id}/comments`,
            { body: 'Theirs' },
            await service.as(newId()),
          )
        ).author.id,
    ],
    [/^import-uploads/, () => addUpload(service, service.tenant.id, 'imported')],
    [/^members/, () => memberFor(title)],
    [/^(webhooks?|endpoint)/, async () => (await endpoint()).id],
  ]
  const ids = new Map<string, unknown>()
  for (const { isId, key } of slots) {
    if (isId) ids.set(key, (await makers.find(([word]) => word.test(key))?.[1]()) ?? newId())
  }
  return (slot) => (slot.isId ? ids.get(slot.key) : sampleOf(slot))
}

/** Makes it when it is first asked for. */
function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined
  return () => (made ??= make())
}

async function memberFor(title: string): Promise<string> {
  if (!title.endsWith('invitation')) return (await addMember(service, service, 'analyst')).id
  const body = { email: `${newId()}@example.com`, role: 'analyst' }
  return (await service.call('POST', '/admin/members', { headers: bearing(adminToken), body })).json.id as string
}

const SET_STATE = unnamed('UPDATE webhook_endpoints SET state = $2 WHERE id = $1')

const CHANNEL = { kind: 'slack', url: 'https://hooks.example.com/x', on: ['comment_waiting'] }

const TABLES = unnamed(`SELECT table_name AS name FROM information_schema.tables
   WHERE table_schema = current_schema() AND table_type = 'BASE TABLE' ORDER BY 1`)

/**
 * A digest of all rows of each table, except when keys were last used, which is recorded in the
 * background.
 */
async function digestsOfAll(): Promise<string> {
  const names = (await service.app.db.query<{ name: string }>(TABLES)).map(({ name }) => name)
  expect(names).toContain('comments')
  const row = "(to_jsonb(t) - 'last_used_at' - 'last_seen_at')::text"
  return names
    .map(
      (name) =>
        `SELECT '${name}' AS name, count(*) AS rows, md5(string_agg(${row}, ' ' ORDER BY ${row})) AS digest FROM "${name}" t`,
    )
    .join(' UNION ALL ')
}

// PostgreSQL 18 reads the tables in no fixed order.
const allRows = async (): Promise<object[]> => service.app.db.query<object>(unnamed(`${digests} ORDER BY name`))

/**
 * A replay leaves out secrets that are shown once (test/contract/shown-once); GraphQL has null
 * instead.
 */
const withoutSecrets = (text: string): string =>
  text
    .replaceAll(FILLER.trim(), '')
    // Of a long answer, the replay is a request of its own.
    .replaceAll(/"requestId":"[^"]*"/g, '')
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

/** A failure need not show it. */
const FILLER = 'a long text '
let longPage: Promise<string> | undefined

/**
 * The text of a mutation with another field before it, that makes the answer so long that only its
 * ids are stored.
 */
async function lengthened(mutation: string): Promise<string> {
  longPage ??= addLongPage()
  const long = `long: updateDiscussion(input: { id: "${await longPage}", title: "Long" }) {
    discussion { comments(first: 20) { nodes { body bodyHtml } } }
  }`
  return mutation.replace('{', `{ ${long}`)
}

async function addLongPage(): Promise<string> {
  const { json } = await service.call('POST', '/discussions', { body: { externalId: 'long' } })
  for (let n = 0; n < 5; n++) {
    const body = { body: `${n} ${FILLER.repeat(800)}` }
    await service.call('POST', `/discussions/${json.id}/comments`, { body, headers: await service.as('long') })
  }
  return json.id as string
}

// By the API key: what only an admin may do has its route above.
// On the embedded defaults a third of them: their routes run all of them.
const MUTATIONS = WRITES.filter(
  (described) => !described.needsToken && operationOf(described) === OperationTypeNode.MUTATION,
).filter((_, n) => n % effort(1, 3) === 0)

test.each(MUTATIONS.map((described) => [described.field, described] as const))(
  'mutation %s in a long answer: sent twice with one key it runs once',
  async (_field, described) => {
    const reader = newId()
    const fill = await furnish(described, reader)
    const input = described.slots.map(
      (slot) => [slot.name, slot.isId && slot.isList ? [fill(slot)] : fill(slot)] as const,
    )
    const headers = await headersOf(described, reader)
    const short = print(described.route.document)
    // A read on behalf of an erased reader makes a new record of them.
    const document = described.field === 'eraseReader' ? short : await lengthened(short)
    const first = await expectOnce(() => service.graphql(document, { input: Object.fromEntries(input) }, headers))
    // Some routes have variables that are no input: they are refused before a field runs.
    if (first.json.data != null && document !== short) expect(first.text.length).toBeGreaterThan(65_536)
  },
)

test('most of them succeeded, because refusals alone would prove little', () => {
  expect(sent).toBeGreaterThan(30)
  expect(succeeded).toBeGreaterThan(sent * 0.9)
})
