import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'

import {
  type Behaviour,
  hang,
  isGenuine,
  type Received,
  type Receiver,
  reply,
  startReceiver,
} from '../harness/receiver.ts'
import { startService, type TestService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

let receiver: Receiver
let service: TestService
let pages = 0
let path = ''

beforeAll(async () => {
  receiver = await startReceiver()
  service = await startService({ env: { WEBHOOK_CA_FILE: receiver.caFile } })
  expect((await service.call('POST', '/classifier-secrets')).status).toBe(201)
})
afterAll(async () => {
  await service.close()
  await receiver.close()
})

const set = async (body: object) => expect((await service.call('PATCH', '/settings', { body })).status).toBe(200)

async function classify(behaviour: Behaviour, fallback: 'approve' | 'hold' = 'hold'): Promise<void> {
  path = `/classify-${++pages}`
  receiver.on(path, behaviour)
  await set({ classifier: { url: `${receiver.url}${path}`, fallback } })
}

const says =
  (verdict: string): Behaviour =>
  (_request, response) =>
    reply(response, 200, JSON.stringify({ verdict }))

const asked = (): Received[] => receiver.requests.filter((request) => request.path === path)

async function post(body: string, { reader = 'ann' } = {}): Promise<{ id: string }> {
  const options = { body: { body }, headers: await service.as(reader) }
  const answer = await service.call('POST', `/discussions/by-external/page-${pages}/comments`, options)
  expect(answer.status, answer.text).toBe(201)
  return answer.json
}

const WAITING = unnamed('SELECT count(*)::int AS n FROM classifier_requests')
const isDecided = () => vi.waitFor(async () => expect(await service.app.db.query(WAITING)).toEqual([{ n: 0 }]))

afterEach(async () => {
  receiver.on(path, null)
  await set({ classifier: null })
  await isDecided()
})

test('without a verdict the fallback holds or approves: no answer within 2 s', async () => {
  for (const [fallback, status] of [
    ['approve', 'approved'],
    ['hold', 'pending'],
  ] as const) {
    await classify(hang, fallback)
    const began = Date.now()
    const { id } = await post(`fallback ${fallback}`)
    await isDecided()
    expect((await service.call('GET', `/comments/${id}`)).json.status).toBe(status)
    expect(asked()).toHaveLength(1)
    expect(Date.now() - began).toBeGreaterThanOrEqual(2000)
  }
})

test('a hanging classifier delays no other tenant', async () => {
  await classify(hang)
  const other = await service.addTenant('quick')
  const key = { 'x-api-key': other.apiKey }
  const made = (await service.call('POST', '/classifier-secrets', { headers: key })).json
  receiver.on('/quick', says('approve'))
  await service.call('PATCH', '/settings', { body: { classifier: { url: `${receiver.url}/quick` } }, headers: key })
  await Promise.all(Array.from({ length: 40 }, (_, n) => post(`${n}`, { reader: `h-${n}` })))
  await vi.waitFor(() => expect(asked().length).toBeGreaterThan(0))
  const began = asked().length
  const headers = { ...key, ...(await other.as('ann')) }
  const { json } = await service.call('POST', '/discussions/by-external/x/comments', { body: { body: 'x' }, headers })
  await vi.waitFor(
    async () => expect((await service.call('GET', `/comments/${json.id}`, { headers })).json.status).toBe('approved'),
    { interval: 20, timeout: 10_000 },
  )
  // The hanging ones are still the first ones: none was waited for.
  expect(began).toBeLessThanOrEqual(32)
  const [question] = receiver.requests.filter((request) => request.path === '/quick')
  expect(isGenuine(question!, { [made.kid]: made.secret })).toBe(true)
  await set({ classifier: null })
})
