import { afterAll, expect, test, vi } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { useService } from '../harness/service.ts'
import { type Listener, listen, subscribe } from '../harness/sse.ts'

const service = useService()
const open: Listener<unknown>[] = []

afterAll(() => open.forEach((listener) => listener.close()))

const NAME = 'http_request_duration_seconds'
const scrape = (): Promise<string> => service.scrape()

/** How many answers have been counted under these labels. */
async function count(method: string, route: string, status: string): Promise<number> {
  const labels = `method="${method}",route="${route}",status="${status}"`
  const line = (await scrape()).split('\n').find((each) => each.startsWith(`${NAME}_count{${labels}}`))
  return Number(line?.split(' ').at(-1) ?? 0)
}

const expectCount = (method: string, route: string, status: string, expected: number): Promise<void> =>
  vi.waitFor(async () => expect(await count(method, route, status)).toBe(expected))

test('GET /metrics counts and times answers by method, route and class of status', async () => {
  const { json } = await service.call('POST', '/discussions', { body: { externalId: 'measured' } })
  for (const id of [json.id as string, json.id as string, newId(), 'nonsense']) {
    await service.call('GET', `/discussions/${id}`)
  }
  await service.graphql('{ discussions { edges { node { id } } } }')
  await expectCount('POST', '/api/v1/discussions', '2xx', 1)
  await expectCount('GET', '/api/v1/discussions/:id', '2xx', 2)
  await expectCount('GET', '/api/v1/discussions/:id', '4xx', 2)
  await expectCount('POST', '/graphql', '2xx', 1)
  expect(await scrape()).toMatch(new RegExp(`^${NAME}_bucket\\{le="10",.*route="/graphql".*\\} 1$`, 'm'))
})

test('requests without a route share one line, whatever their path', async () => {
  const { status } = await service.call('GET', '/guess/ek_1')
  expect(status).toBe(404)
  await fetch(`${service.url}/another?token=ek_1`, { method: 'DELETE' })
  await expectCount('other', 'unknown', '4xx', 2)
  expect(await scrape()).not.toMatch(/guess|another|ek_/)
})

test('a stream is counted once, when it opens', async () => {
  const { json } = await service.call('POST', '/discussions', { body: { externalId: 'streamed' } })
  const headers = { 'x-api-key': service.apiKey }
  const route = '/api/v1/stream/:discussionId'
  const stream = await listen(`${service.url}/api/v1/stream/${json.id}`, headers)
  open.push(stream, subscribe({ url: service.url, headers, variables: { discussionId: json.id as string } }))
  await expectCount('GET', route, '2xx', 1)
  await expectCount('POST', '/graphql/stream', '2xx', 1)
  stream.close()
  await service.call('GET', `/stream/${newId()}`, { headers: { 'x-api-key': 'ek_1' } })
  await expectCount('GET', route, '4xx', 1)
  expect(await count('GET', route, '2xx')).toBe(1)
})
