import { setTimeout as pause } from 'node:timers/promises'

import { createClient } from 'graphql-sse'
import { beforeEach, describe, expect, test, vi } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { callsTo } from '../harness/calls.ts'
import { addMember, type TestMember } from '../harness/members.ts'
import { type TestTenant, useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

/** Long enough for an unwanted message to arrive: bus, pace and repair. */
const SILENCE_MS = 1500

const service = useService({ env: { STREAM_REPAIR_SECONDS: '1' } })
let tenant: TestTenant
let [ann, bob]: TestMember[] = []
const first = (): TestMember => ann as TestMember
const second = (): TestMember => bob as TestMember

beforeEach(async () => {
  tenant = await service.addTenant(`t-${newId()}`)
  ann = await addMember(service, tenant, 'moderator')
  bob = await addMember(service, tenant, 'editor')
  await ok('PATCH', '/settings', { moderationMode: 'pre' }, { 'x-api-key': tenant.apiKey })
})

const { ok } = callsTo(() => service)
const as = ({ headers }: TestMember, method: string, path: string, body?: unknown) =>
  ok(method, path, body, { 'x-api-key': '', ...headers })

async function post(): Promise<string> {
  const headers = { 'x-api-key': tenant.apiKey, ...(await tenant.as('ada')) }
  return (await ok('POST', '/discussions/by-external/page/comments', { body: 'text' }, headers)).id
}

const claim = (member: TestMember, ...ids: string[]) => as(member, 'POST', '/moderation/claim', { ids })

const LAPSE = unnamed(`UPDATE comment_claims SET expires_at = now() - interval '1 ms' WHERE comment_id = $1`)

describe('colleagues hear of claims', () => {
  async function follow({ headers }: TestMember): Promise<{ heard: unknown[]; end: () => void }> {
    const client = createClient({ url: `${service.url}/graphql/stream`, headers, retryAttempts: 0 })
    const heard: unknown[] = []
    client.subscribe(
      { query: 'subscription { moderationQueueChanged { pending reported } }' },
      { next: ({ data }) => void heard.push(data), error: () => undefined, complete: () => undefined },
    )
    await vi.waitFor(() => expect(heard).toHaveLength(1))
    return { heard, end: () => client.dispose() }
  }
  test('of a claim, its return and its end; not of its prolongation', async () => {
    const id = await post()
    const { heard, end } = await follow(second())
    await claim(first(), id)
    await vi.waitFor(() => expect(heard).toHaveLength(2))
    await claim(first(), id)
    await pause(SILENCE_MS)
    expect(heard).toHaveLength(2)
    await as(first(), 'DELETE', '/moderation/claim')
    await vi.waitFor(() => expect(heard).toHaveLength(3))
    await claim(first(), id)
    await vi.waitFor(() => expect(heard).toHaveLength(4))
    await service.app.db.query(LAPSE, [id])
    await vi.waitFor(() => expect(heard).toHaveLength(5), { timeout: 5000 })
    end()
  })

  test('not while one moderator alone is signed in', async () => {
    const id = await post()
    await addMember(service, tenant, 'analyst')
    const OTHERS = unnamed(
      `DELETE FROM sign_ins s USING members m WHERE s.tenant_id = $1 AND s.member_id <> $2
       AND m.tenant_id = s.tenant_id AND m.id = s.member_id AND m.role <> 'analyst'`,
    )
    await service.app.db.query(OTHERS, [tenant.tenant.id, first().id])
    const { heard, end } = await follow(first())
    await claim(first(), id)
    await as(first(), 'DELETE', '/moderation/claim')
    await claim(first(), id)
    await pause(SILENCE_MS)
    expect(heard).toHaveLength(1)
    end()
  })
})
