import { beforeEach, describe, expect, test, vi } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { applyVerdict } from '../../src/domains/classifier/verdicts.ts'
import type { DueRequest } from '../../src/domains/classifier/sql.ts'
import { queueWatchOf } from '../../src/domains/moderation/queue-watch.ts'
import { hubOf } from '../../src/live/hub.ts'
import { subscriptionsOf } from '../../src/api/graphql-sse/subscriptions.ts'
import { type Counts, useQueueWatchers, type Watcher } from '../harness/queue-watchers.ts'
import { unnamed } from '../harness/sql.ts'

const { begin, ok, post, service, subscribe } = useQueueWatchers()

/** The messages that `act` causes, after the earlier ones. */
async function heardOf<T>(seen: Watcher, act: () => Promise<T>): Promise<[Counts | undefined, T]> {
  const before = seen.counts.length
  const result = await act()
  await vi.waitFor(() => expect(seen.counts.length).toBeGreaterThan(before))
  return [seen.counts.at(-1), result]
}

/** As a process does every few seconds, and not while it does. */
const repair = (): Promise<void> => hubOf(service.app).repair()

/** Returns after all messages of the bus before now. */
async function busEmptied(): Promise<void> {
  const { bus } = service.app
  const channel = `test:${newId()}`
  let hasArrived = false
  const unsubscribe = await bus.subscribe(channel, () => (hasArrived = true))
  bus.publish(channel, '')
  await vi.waitFor(() => expect(hasArrived).toBe(true))
  unsubscribe()
}

describe.each([
  ['distinct connections', false],
  ['a single connection', true],
])('subscription moderationQueueChanged, %s', (_name, single) => {
  test('without moderate_content ends with missing_capability', async () => {
    const { key } = await ok('POST', '/keys', { label: 'plain', capabilities: ['view_analytics'] })
    const seen = subscribe(single, key)
    await vi.waitFor(() => expect(seen.done).toBe(true))
    expect(seen.errors).toMatchObject([{ extensions: { code: 'missing_capability', status: 403 } }])
    expect(seen.counts).toEqual([])
  })

  test('sends the present state at once', async () => {
    await post('hold this')
    await ok('POST', `/comments/${(await post('fine')).id}/report`, { reason: 'spam' }, await service.as('bob'))
    expect((await begin(single)).counts).toEqual([{ pending: 1, reported: 1 }])
  })

  test('ends when its key is revoked, and nothing more is read for it', async () => {
    const { id, key } = await ok('POST', '/keys', { label: 'moderator', capabilities: ['moderate_content'] })
    const seen = subscribe(single, key)
    await vi.waitFor(() => expect(seen.counts).toHaveLength(1))
    await ok('DELETE', `/keys/${id}`)
    await vi.waitFor(() => expect(seen.done || seen.failure !== undefined).toBe(true))
    expect(queueWatchOf(service.app).size).toBe(0)
    const queries = vi.spyOn(service.app.db, 'query')
    await post('hold this')
    await busEmptied()
    await repair()
    expect(queries.mock.calls.map(([{ name }]) => name)).not.toContain('read_queue_states')
    expect(seen.counts).toHaveLength(1)
  })

  test("gets nothing of another tenant's queue", async () => {
    const other = await service.addTenant(`queue-${single}`)
    const theirs = subscribe(single, other.apiKey)
    await vi.waitFor(() => expect(theirs.counts).toHaveLength(1))
    const mine = await begin(single)
    expect(await heardOf(mine, () => post('hold this'))).toMatchObject([{ pending: 1 }, {}])
    await busEmptied()
    await repair()
    // Of their own queue they get the next message.
    const headers = { 'x-api-key': other.apiKey, ...(await other.as('ada')) }
    await ok('PATCH', '/settings', { suspectWords: ['hold'] }, headers)
    await ok('POST', '/discussions/by-external/page/comments', { body: 'hold theirs' }, headers)
    await ok('POST', '/discussions/by-external/page/comments', { body: 'hold another' }, headers)
    await vi.waitFor(() => expect(theirs.counts.at(-1)).toEqual({ pending: 2, reported: 0 }))
    expect(theirs.counts[0]).toEqual({ pending: 0, reported: 0 })
    expect(theirs.counts[1]?.pending).toBeGreaterThan(0)
  })
})

describe('a change of a queue is sent', () => {
  // Without repairs, so that only messages can cause these: the database would be compared in the
  // end.
  beforeEach(() => void vi.spyOn(hubOf(service.app), 'repair').mockResolvedValue())

  test('held, edited, approved; rejected, approved after all, deleted', async () => {
    const seen = await begin()
    const [held, { id }] = await heardOf(seen, () => post('hold this'))
    expect(held).toEqual({ pending: 1, reported: 0 })
    const author = await service.as('ada')
    const [edited] = await heardOf(seen, () => ok('PATCH', `/comments/${id}`, { body: 'hold that' }, author))
    expect(edited).toEqual({ pending: 1, reported: 0 })
    const [approved] = await heardOf(seen, () => ok('POST', `/comments/${id}/approve`))
    expect(approved).toEqual({ pending: 0, reported: 0 })
    await heardOf(seen, () => ok('POST', `/comments/${id}/reject`))
    await heardOf(seen, () => ok('POST', `/comments/${id}/approve`))
    await heardOf(seen, () => post('hold once more', 'ben'))
    const { data } = await ok('GET', '/moderation/queue')
    const [deleted] = await heardOf(seen, () => ok('DELETE', `/comments/${data[0].comment.id}`))
    expect(deleted).toEqual({ pending: 0, reported: 0 })
  })

  test('a comment that its author edits into one that waits', async () => {
    const { id } = await post('fine')
    const seen = await begin()
    const author = await service.as('ada')
    const [counts] = await heardOf(seen, () => ok('PATCH', `/comments/${id}`, { body: 'hold that' }, author))
    expect(counts).toEqual({ pending: 1, reported: 0 })
  })

  test('each report, the one that takes the comment out of view, and their answer', async () => {
    await ok('PATCH', '/settings', { reportThreshold: 3 })
    const { id } = await post('fine')
    const seen = await begin()
    const report = async (reader: string) =>
      ok('POST', `/comments/${id}/report`, { reason: 'spam' }, await service.as(reader))
    expect((await heardOf(seen, () => report('bob')))[0]).toEqual({ pending: 0, reported: 1 })
    expect((await heardOf(seen, () => report('cyd')))[0]).toEqual({ pending: 0, reported: 1 })
    expect((await heardOf(seen, () => report('dan')))[0]).toEqual({ pending: 1, reported: 1 })
    const [answered] = await heardOf(seen, () => ok('POST', '/comments/bulk', { ids: [id], action: 'approve' }))
    expect(answered).toEqual({ pending: 0, reported: 0 })
  })

  test('a comment that a rule flags while it is in view', async () => {
    await ok('PATCH', '/settings', { moderationMode: 'post' })
    const seen = await begin()
    const [counts, { id }] = await heardOf(seen, () => post('hold this'))
    expect((await ok('GET', `/comments/${id}`)).status).toBe('approved')
    expect(counts).toEqual({ pending: 0, reported: 1 })
  })

  test('the erasure of an author, and of a reader who has reported', async () => {
    const held = await post('hold this', 'gone')
    const { id } = await post('fine', 'stays')
    const reporter = (await post('me too', 'reporter')).author.id
    await ok('POST', `/comments/${id}/report`, { reason: 'spam' }, await service.as('reporter'))
    const seen = await begin()
    expect(seen.counts).toEqual([{ pending: 1, reported: 1 }])
    expect((await heardOf(seen, () => ok('DELETE', `/readers/${held.author.id}`)))[0]).toEqual({
      pending: 0,
      reported: 1,
    })
    expect((await heardOf(seen, () => ok('DELETE', `/readers/${reporter}`)))[0]).toEqual({ pending: 0, reported: 0 })
  })

  test('the verdict of a classifier, which a worker asks', async () => {
    await ok('POST', '/classifier-secrets')
    await ok('PATCH', '/settings', { classifier: { url: 'https://127.0.0.1:9/', fallback: 'hold' } })
    const seen = await begin()
    const [asked, { id }] = await heardOf(seen, () => post('fine'))
    expect(asked).toEqual({ pending: 1, reported: 0 })
    const request = { tenantId: service.tenant.id, id, revision: 1 } as DueRequest
    const [judged] = await heardOf(seen, () => applyVerdict(service.app, request, 'approve'))
    expect(judged).toEqual({ pending: 0, reported: 0 })
  })
})

test('a comment in no queue is sent to no one, and costs no read', async () => {
  const seen = await begin()
  const published = vi.spyOn(service.app.bus, 'publish')
  const { id } = await post('fine')
  await ok('PUT', `/comments/${id}/reaction`, { type: 'like' }, await service.as('bob'))
  await ok('POST', `/comments/${id}/pin`)
  await ok('DELETE', `/comments/${id}`, undefined, await service.as('ada'))
  await busEmptied()
  await repair()
  expect(published.mock.calls.filter(([channel]) => channel.startsWith('queues:'))).toEqual([])
  expect(await heardOf(seen, () => post('hold this'))).toMatchObject([{ pending: 1, reported: 0 }, {}])
  expect(seen.counts).toHaveLength(2)
})

test('one comment arrives and one leaves: the counts are the same, and a message is sent', async () => {
  const { id } = await post('hold one')
  const seen = await begin()
  // Changed together, as by another process whose message is lost.
  vi.spyOn(service.app.bus, 'publish').mockImplementation(() => undefined)
  await service.app.db.query(
    unnamed(`UPDATE comments SET status = CASE WHEN id = $1 THEN 'deleted' ELSE 'pending' END::comment_status,
       deleted_at = CASE WHEN id = $1 THEN now() END WHERE id = ANY ($2::uuid[])`),
    [id, [id, (await post('fine')).id]],
  )
  await vi.waitFor(async () => {
    await repair()
    expect(seen.counts).toHaveLength(2)
  })
  expect(seen.counts[1]).toEqual({ pending: 1, reported: 0 })
})

test('without the bus a change is sent by the next repair', async () => {
  const seen = await begin()
  vi.spyOn(service.app.bus, 'publish').mockImplementation(() => undefined)
  await post('hold this')
  await vi.waitFor(async () => {
    await repair()
    expect(seen.counts.at(-1)).toEqual({ pending: 1, reported: 0 })
  })
})

test('a failing database ends no subscription: missed changes are sent once it is back', async () => {
  const seen = await begin()
  const query = service.app.db.query.bind(service.app.db)
  let failures = 0
  const failing = vi.spyOn(service.app.db, 'query').mockImplementation((asked, params) => {
    if (asked.name !== 'read_queue_states') return query(asked, params)
    failures++
    return Promise.reject(new Error('the database is away'))
  })
  await post('hold this')
  await vi.waitFor(() => expect(failures).toBeGreaterThan(0))
  await vi.waitFor(async () => {
    await repair()
    expect(failures).toBeGreaterThan(1)
  })
  const refused = subscribe(false)
  await vi.waitFor(() => expect(refused.errors).toMatchObject([{ extensions: { code: 'internal' } }]))
  expect(seen.counts).toHaveLength(1)
  failing.mockRestore()
  await vi.waitFor(async () => {
    await repair()
    expect(seen.counts.at(-1)).toEqual({ pending: 1, reported: 0 })
  })
})

test('followers with the same rights share one execution; each counts as a stream', async () => {
  const all = [await begin(), await begin(), await begin()]
  expect(subscriptionsOf(service.app).size).toBe(1)
  expect(hubOf(service.app).sessions.size).toBe(3)
  await post('hold this')
  for (const { counts } of all) {
    await vi.waitFor(() => expect(counts.at(-1)).toEqual({ pending: 1, reported: 0 }))
  }
})

test('over the cap of the tenant: 429', async () => {
  const small = await service.addTenant('queue-small')
  const headers = { 'x-api-key': small.apiKey }
  await ok('PATCH', '/settings', { stream: { maxStreams: 1 } }, headers)
  const first = subscribe(false, small.apiKey)
  await vi.waitFor(() => expect(first.counts).toHaveLength(1))
  const second = subscribe(false, small.apiKey)
  await vi.waitFor(() => expect(second.failure).toMatchObject({ response: { status: 429 } }))
})
