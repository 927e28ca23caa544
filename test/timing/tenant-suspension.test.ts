import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { resumeTenant, suspendTenant } from '../../src/domains/tenants/suspend.ts'
import { callsTo } from '../harness/calls.ts'
import { eachOf, everyCredential, outcomesOf } from '../harness/every-credential.ts'
import { useMute } from '../harness/mute.ts'
import { type TestTenant, useService } from '../harness/service.ts'
import { listen, subscribe } from '../harness/sse.ts'
import { holdsWithin } from '../harness/standstill.ts'

const WAIT = { timeout: 10_000, interval: 20 }
const ORIGIN = 'https://site.example'

const service = useService({ env: { TRUSTED_PROXIES: '127.0.0.0/8' }, worker: true })
const mute = useMute(service)
let tenant: TestTenant
let discussionId: string
const streams: { close(): void }[] = []

beforeEach(async () => {
  tenant = await service.addTenant(`t-${newId()}`)
  await ok('PATCH', '/settings', { allowedOrigins: [ORIGIN] })
  discussionId = (await ok('POST', '/discussions', { externalId: 'page' })).id
})
afterEach(() => streams.splice(0).forEach((stream) => stream.close()))

const key = () => ({ 'x-api-key': tenant.apiKey })

const { ok } = callsTo(() => service, key)

describe.each([
  ['with the bus', () => service.app, 1000],
  ['without the bus', () => mute.app, 5000],
] as const)('%s', (_, by, withinMs) => {
  test('a suspended tenant is refused by every credential, and a resumed one by none', async () => {
    const kinds = await everyCredential({ service, tenant, discussionId, origin: ORIGIN })
    const works = eachOf(kinds, { status: 200, code: undefined })
    const refused = eachOf(kinds, { status: 403, code: 'tenant_suspended' })
    expect(await outcomesOf(kinds)).toEqual(works)
    await suspendTenant(by(), tenant.tenant.id)
    await holdsWithin(withinMs, async () => expect(await outcomesOf(kinds)).toEqual(refused))
    await resumeTenant(by(), tenant.tenant.id)
    await holdsWithin(withinMs, async () => expect(await outcomesOf(kinds)).toEqual(works))
  })

  test('its streams and subscriptions end, and those of another tenant go on', async () => {
    const { ticket } = await ok('POST', '/stream/ticket', { discussionId })
    const path = `${service.url}/api/v1/stream/${discussionId}`
    const mine = [await listen(path, key()), await listen(`${path}?ticket=${ticket}`, { origin: ORIGIN })]
    const subscription = subscribe({ url: service.url, headers: key(), variables: { discussionId } })
    const stranger = await service.addTenant(`t-${newId()}`)
    const elsewhere = await service.call('POST', '/discussions', {
      headers: { 'x-api-key': stranger.apiKey },
      body: { externalId: 'page' },
    })
    const other = await listen(`${service.url}/api/v1/stream/${elsewhere.json.id}`, { 'x-api-key': stranger.apiKey })
    streams.push(...mine, subscription, other)
    await ok('POST', `/discussions/${discussionId}/comments`, { body: 'before' }, await tenant.as('ada'))
    for (const { received } of [...mine, subscription]) await vi.waitFor(() => expect(received).toHaveLength(1), WAIT)
    await suspendTenant(by(), tenant.tenant.id)
    const within = { timeout: withinMs, interval: 20 }
    for (const stream of mine)
      await vi.waitFor(() => expect(stream.framing.at(-1)?.type).toBe('connection-timeout'), within)
    await vi.waitFor(() => expect(subscription.failure).not.toBeNull(), within)
    for (const stream of mine) await vi.waitFor(() => expect(stream.refusal).toContain('403'), WAIT)
    expect(other.losses).toBe(0)
  })
})
