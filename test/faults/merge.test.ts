import { expect, test, vi } from 'vitest'

import { first } from '../harness/processes.ts'
import { useProcesses } from '../harness/service-processes.ts'

const PAGES = 3
const COMMENTS = 900
const TURNS = 5

const service = useProcesses({ worker: 0 })

type Headers = Record<string, string>

const post = async (page: number, headers: Headers, body: string) => {
  const path = `/discussions/by-external/page-${page}/comments`
  return service.ok('POST', path, { body }, headers)
}

const readerOf = async (name: string) => {
  const headers = await service.as(name)
  return { headers, id: (await service.call('GET', '/readers/me', { headers })).json.id as string }
}

/** How many comments each author has on all pages, and how many the pages count. */
async function countAuthors(): Promise<{ authors: Map<string, number>; counted: number; likes: number[] }> {
  const authors = new Map<string, number>()
  let counted = 0
  const likes: number[] = []
  for (let page = 0; page < PAGES; page++) {
    counted += (await service.call('GET', `/discussions/by-external/page-${page}`)).json.commentCount
    for (let query = '?limit=100&sort=oldest'; ;) {
      const { json } = await service.call('GET', `/discussions/by-external/page-${page}/comments${query}`)
      for (const { author, reactionCounts } of json.data) {
        authors.set(author.id, (authors.get(author.id) ?? 0) + 1)
        if (reactionCounts.like !== undefined) likes.push(reactionCounts.like)
      }
      if (!json.hasMore) break
      query = `?limit=100&sort=oldest&cursor=${json.nextCursor}`
    }
  }
  return { authors, counted, likes }
}

/**
 * Has a person write, and kills the process in the middle of the merge. Returns the merged reader;
 * null if the machine stalled at that moment, and the merge was over before.
 */
async function cutMerge(name: string, into: string, targets: readonly string[]) {
  const goes = await readerOf(name)
  for (let n = 0; n < COMMENTS; n += 20) {
    await Promise.all(Array.from({ length: 20 }, (_, k) => post((n + k) % PAGES, goes.headers, `${name} ${n + k}`)))
  }
  for (const id of targets) {
    await service.call('PUT', `/comments/${id}/reaction`, { body: { type: 'like' }, headers: goes.headers })
  }
  const api = first(service.apis)
  const merging = service.call('POST', `/readers/${goes.id}/merge`, { body: { into } }).catch(() => null)
  const pageOf = async () =>
    (await service.call('GET', `/discussions/by-external/page-${PAGES - 1}/comments?limit=100`)).json.data
  await vi.waitFor(
    async () =>
      expect((await pageOf()).some(({ author }: { author: { id: string } }) => author.id === into)).toBe(true),
    { timeout: 30_000, interval: 1 },
  )
  await api.kill()
  const answer = await merging
  await api.start()
  return answer === null ? goes : null
}

test('kill -9 in the middle of a merge leaves every count exact, and another call finishes it', async () => {
  const stays = await readerOf('stays')
  const other = await readerOf('other')
  const targets: string[] = []
  for (let page = 0; page < PAGES; page++) targets.push((await post(page, other.headers, 'of another')).id)
  const [liked = ''] = targets
  await service.call('PUT', `/comments/${liked}/reaction`, { body: { type: 'like' }, headers: stays.headers })
  let goes: Awaited<ReturnType<typeof cutMerge>> = null
  let turns = 0
  while (goes === null && turns < TURNS) goes = await cutMerge(`person-${++turns}`, stays.id, targets)
  if (goes === null) throw new Error('no merge was cut')

  expect((await service.call('GET', `/readers/${goes.id}`)).status).toBe(404)
  const midway = await countAuthors()
  expect(midway.counted).toBe(turns * COMMENTS + PAGES)
  expect(midway.authors.get(goes.id)).toBeGreaterThan(0)
  expect((midway.authors.get(goes.id) ?? 0) + (midway.authors.get(stays.id) ?? 0)).toBe(turns * COMMENTS)
  // Meanwhile they act as the reader who stays.
  expect((await post(0, goes.headers, 'later')).author.id).toBe(stays.id)

  await service.ok('POST', `/readers/${goes.id}/merge`, { into: stays.id })
  const { authors, counted, likes } = await countAuthors()
  expect(counted).toBe(turns * COMMENTS + PAGES + 1)
  expect(Object.fromEntries(authors)).toEqual({ [stays.id]: turns * COMMENTS + 1, [other.id]: PAGES })
  // One person, one like each.
  expect(likes).toEqual(targets.map(() => 1))
})
