import { afterEach, expect, test, vi } from 'vitest'

import { hubOf } from '../../src/live/hub.ts'
import { PresenceReporter } from '../../src/domains/tickets/presence.ts'
import { useService } from '../harness/service.ts'
import { statementsOf } from '../harness/statements.ts'
import type { StreamClient } from '../harness/stream-client.ts'
import { unnamed } from '../harness/sql.ts'
import { useStreams } from '../harness/streams.ts'

const service = useService()
const { open } = useStreams(service)
const reporters: PresenceReporter[] = []

afterEach(() => Promise.all(reporters.splice(0).map((reporter) => reporter.stop())))

async function connect(discussionId: string): Promise<StreamClient> {
  const client = await open(discussionId)
  await vi.waitFor(() => expect(client.connected).toBeDefined())
  return client
}

const streamsOf = async (discussionId: string): Promise<number> =>
  (await service.call('GET', `/discussions/${discussionId}/presence`)).json.streams

/** Reports streams as another process would. */
function otherProcess(discussionId: string, streams: () => number): PresenceReporter {
  const tenantId = service.tenant.id
  const counts = () => (streams() === 0 ? [] : [{ tenantId, discussionId, streams: streams() }])
  const reporter = new PresenceReporter({ db: service.app.db, log: service.app.log, hub: { counts } })
  reporters.push(reporter)
  return reporter
}

test('GET /discussions/{id}/presence counts the streams that are open now', async () => {
  const [id, quiet] = [await service.newDiscussion(), await service.newDiscussion()]
  const first = await connect(id)
  await connect(id)
  const asked = Date.now()
  const { status, json } = await service.call('GET', `/discussions/${id}/presence`)
  const answered = Date.now()
  expect(status).toBe(200)
  expect(json).toEqual({ streams: 2, asOf: expect.any(String) })
  // The database may have another clock.
  expect(Date.parse(json.asOf)).toBeGreaterThan(asked - 5000)
  expect(Date.parse(json.asOf)).toBeLessThan(answered + 5000)
  expect(await streamsOf(quiet)).toBe(0)
  first.close()
  await vi.waitFor(async () => expect(await streamsOf(id)).toBe(1))
})

test('the GraphQL field has the same, for many discussions by one statement', async () => {
  const ids = [await service.newDiscussion(), await service.newDiscussion(), await service.newDiscussion()]
  await connect(ids[1] ?? '')
  const { result, statements } = await statementsOf(service, () =>
    service.graphql('{ discussions(first: 3) { edges { node { id presence { streams asOf } } } } }'),
  )
  const nodes = result.json.data.discussions.edges.map(
    (edge: { node: { id: string; presence: { streams: number } } }) => edge.node,
  )
  expect(nodes.map(({ presence }: { presence: { streams: number } }) => presence.streams)).toEqual([0, 1, 0])
  expect(statements.filter((name) => name === 'count_streams')).toHaveLength(1)
})

test('streams of other processes count, as long as these report them', async () => {
  const id = await service.newDiscussion()
  await connect(id)
  let streams = 3
  const process = otherProcess(id, () => streams)
  await process.report()
  expect(await streamsOf(id)).toBe(4)
  streams = 1
  await process.report()
  expect(await streamsOf(id)).toBe(2)
  streams = 0
  await process.report()
  expect(await streamsOf(id)).toBe(1)
})

test('a process without a report for 5 s no longer counts', async () => {
  const id = await service.newDiscussion()
  const process = otherProcess(id, () => 7)
  await process.report()
  expect(await streamsOf(id)).toBe(7)
  const aged = "UPDATE stream_processes SET seen_at = now() - interval '5 seconds' WHERE id = $1"
  await service.app.db.query(unnamed(aged), [process.processId])
  expect(await streamsOf(id)).toBe(0)
  // It returns with its next report, which has all of its streams.
  await process.report()
  expect(await streamsOf(id)).toBe(7)
})

test('a process whose reports the database has lost reports everything again', async () => {
  const id = await service.newDiscussion()
  const process = otherProcess(id, () => 2)
  await process.report()
  await service.app.db.query(unnamed('TRUNCATE stream_processes, stream_counts'))
  expect(await streamsOf(id)).toBe(0)
  await process.report()
  expect(await streamsOf(id)).toBe(2)
})

test('a process that ends removes its counts', async () => {
  const id = await service.newDiscussion()
  const process = otherProcess(id, () => 2)
  await process.report()
  await process.stop()
  expect(await streamsOf(id)).toBe(0)
})

test('the hub counts nothing twice and leaves nothing behind', async () => {
  const id = await service.newDiscussion()
  const opened = await Promise.all(Array.from({ length: 10 }, () => connect(id)))
  const key = { tenantId: service.tenant.id, discussionId: id }
  expect(hubOf(service.app).streamsOf(key)).toBe(10)
  for (const client of opened) client.close()
  await vi.waitFor(() => expect(hubOf(service.app).streamsOf(key)).toBe(0))
  expect(
    hubOf(service.app)
      .counts()
      .filter(({ discussionId }) => discussionId === id),
  ).toEqual([])
})
