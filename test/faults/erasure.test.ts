import { expect, test, vi } from 'vitest'

import { first } from '../harness/processes.ts'
import { useProcesses } from '../harness/service-processes.ts'
import { openStream } from '../harness/stream-client.ts'

const PAGES = 4
const COMMENTS = 400
const TURNS = 5
const WORD = 'unmistakable'

const service = useProcesses({ worker: 0 })

const post = async (n: number, reader: Record<string, string>, body: string) => {
  const path = `/discussions/by-external/page-${n % PAGES}/comments`
  return service.ok('POST', path, { body }, reader)
}

const countOf = async (page: number): Promise<number> =>
  (await service.call('GET', `/discussions/by-external/page-${page}`)).json.commentCount
const countAll = async (): Promise<number> =>
  (await Promise.all(Array.from({ length: PAGES }, (_, page) => countOf(page)))).reduce((sum, count) => sum + count, 0)

/** How many comments a page lists. */
async function listed(page: number): Promise<number> {
  let count = 0
  for (let query = '?limit=100'; ;) {
    const { json } = await service.call('GET', `/discussions/by-external/page-${page}/comments${query}`)
    count += json.data.length
    if (!json.hasMore) return count
    query = `?limit=100&cursor=${json.nextCursor}`
  }
}

/**
 * Has a person write, and kills the process in the middle of the erasure. Returns their id; null if
 * the machine stalled at that moment, and the erasure was over before.
 */
async function cutErasure(name: string): Promise<string | null> {
  const person = await service.as(name, { name: `Name ${WORD}`, avatarUrl: `https://img.example/${WORD}.png` })
  const { author, discussionId } = await post(0, person, WORD)
  for (let n = 1; n < COMMENTS; n += 20) {
    await Promise.all(Array.from({ length: 20 }, (_, k) => post(n + k, person, `${WORD} ${n + k}`)))
  }
  const api = first(service.apis)
  // The event of the first batch comes at once; a request would wait in line behind the other
  // batches.
  const { lastEventId } = (await service.call('GET', '/discussions/by-external/page-0')).json
  const path = `/api/v1/stream/${discussionId}?lastEventId=${lastEventId}`
  const stream = await openStream(api.url + path, { 'x-api-key': service.apiKey })
  const erasing = service.call('DELETE', `/readers/${author.id}`).catch(() => null)
  await vi.waitFor(() => expect(stream.events.length).toBeGreaterThan(0), { timeout: 30_000, interval: 1 })
  await api.kill()
  const answer = await erasing
  await api.start()
  return answer === null ? author.id : null
}

test('kill -9 in the middle of an erasure leaves every count exact, and another call finishes it', async () => {
  const other = await service.as('other')
  for (let page = 0; page < PAGES; page++) await post(page, other, 'stays')
  let id: string | null = null
  for (let turn = 1; id === null && turn <= TURNS; turn++) id = await cutErasure(`person-${turn}`)
  expect(id, 'an erasure that was cut').not.toBeNull()

  expect((await service.call('GET', `/readers/${id}`)).status).toBe(404)
  for (let page = 0; page < PAGES; page++) expect(await countOf(page)).toBe(await listed(page))
  expect(await countAll()).toBeGreaterThan(PAGES)

  // 204: it was not finished; 404 would be.
  expect((await service.call('DELETE', `/readers/${id}`)).status).toBe(204)
  expect((await service.call('DELETE', `/readers/${id}`)).status).toBe(404)
  expect(await countAll()).toBe(PAGES)
  for (let page = 0; page < PAGES; page++) await expectScrubbed(page)
})

/**
 * Every number once, one `comment_deleted` for each comment of theirs, and nothing of the person.
 */
async function expectScrubbed(page: number): Promise<void> {
  const { json } = await service.call('GET', `/discussions/by-external/page-${page}`)
  const stream = await openStream(`${first(service.apis).url}/api/v1/stream/${json.id}?lastEventId=0`, {
    'x-api-key': service.apiKey,
  })
  try {
    const length = Number(json.lastEventId)
    await vi.waitFor(() => expect(stream.events).toHaveLength(length), { timeout: 10_000 })
    expect(stream.seqs).toEqual(Array.from({ length }, (_, index) => index + 1))
    expect(JSON.stringify(stream.all)).not.toContain(WORD)
    const deleted = stream.events.flatMap(({ event, data }) =>
      event === 'comment_deleted' ? [data.data.comment.id] : [],
    )
    const created = stream.events.filter(({ event }) => event === 'comment_created')
    expect(new Set(deleted).size).toBe(deleted.length)
    expect(deleted).toHaveLength(created.length - 1)
  } finally {
    stream.close()
  }
}
