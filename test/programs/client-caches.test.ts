import fc from 'fast-check'
import { expect, test } from 'vitest'

import { createGraphqlClient } from '../../src/clients/graphql/client.ts'
import { DiscussionPage } from '../../src/clients/graphql/documents.ts'
import { type Data, openPages, shownOf, SORTS } from '../harness/cached-pages.ts'
import { effort } from '../harness/effort.ts'
import { type Change, delivered, SlowDiscussion } from '../harness/slow-discussion.ts'

/** With `more` all pages load a further page of one order. */
type Kind = Change | 'more' | 'execute' | 'answer' | 'events' | 'events, answer' | 'wait'

/** A step, and which comment or order it is about. */
type Step = readonly [kind: Kind, at: number]

const steps = (weight: number, ...kinds: Kind[]) => ({
  weight,
  arbitrary: fc.tuple(fc.constantFrom(...kinds), fc.nat(9)),
})
const step: fc.Arbitrary<Step> = fc.oneof(
  steps(3, 'create', 'reject', 'approve', 'pin', 'unpin'),
  steps(1, 'more'),
  steps(2, 'execute', 'answer', 'events', 'events, answer', 'wait'),
)

/** The last comment of a page leaves it, and comes back before the next page is loaded. */
const atTheEnd = (leave: Change, come: Change): [number, Step[]] => [
  6,
  ([leave, 'events', 'wait', come, 'events', 'wait', 'more'] as const).map((kind) => [kind, 2]),
]

/**
 * A page is loaded again while an event has moved its comments, so that its answer is held back.
 */
const LOADED_TWICE: [number, Step[]] = [
  5,
  [
    ...(['create', 'events', 'more', 'pin', 'wait', 'execute'] as const).map((kind) => [kind, 4] as const),
    ...(['create', 'create', 'create', 'more'] as const).map((kind) => [kind, 1] as const),
  ],
]

const history = [fc.integer({ min: 3, max: 9 }), fc.array(step, { minLength: 5, maxLength: 40, size: 'max' })] as const

test("a client's lists are the service's, whenever its answers and events arrive", async () => {
  const examples = [atTheEnd('reject', 'approve'), atTheEnd('pin', 'unpin'), LOADED_TWICE]
  await fc.assert(fc.asyncProperty(...history, showAlike), { numRuns: effort(200, 20), examples })
})

async function showAlike(size: number, acts: readonly Step[]): Promise<void> {
  const service = new SlowDiscussion(size)
  const client = createGraphqlClient({ url: 'http://localhost/graphql', fetch: service.fetch })
  const pages = await openPages(client, service.place)
  const loading = new Set<string>()
  const loadMore = (at: number): void => {
    const sort = at % 2 === 0 ? 'newest' : 'oldest'
    for (const page of pages) {
      const name = `${page.name} ${sort}`
      if (loading.has(name) || !page.shown(sort).hasNextPage) continue
      loading.add(name)
      void page.more(sort).finally(() => loading.delete(name))
    }
  }
  try {
    for (const page of pages) for (const sort of SORTS) void page.load(sort)
    await service.settle()
    for (const page of pages) page.follow()
    await service.settle()
    for (const [kind, at] of acts) {
      if (kind === 'more') loadMore(at)
      else if (kind === 'execute') service.execute()
      else if (kind === 'answer') service.answer()
      else if (kind === 'wait') await delivered()
      else if (kind === 'events') service.sendEvents()
      else if (kind === 'events, answer') {
        service.sendEvents()
        service.answer()
      } else service.change(kind, at)
    }
    service.sendEvents()
    await service.settle()
    for (const sort of SORTS) {
      const { data } = service.query(DiscussionPage, { externalId: 'x', first: 100, sort })
      const { comments, commentCount } = shownOf(data as Data)
      for (const page of pages) {
        const { comments: seen, hasNextPage, commentCount: count } = page.shown(sort)
        const expected = hasNextPage ? comments.slice(0, seen.length) : comments
        expect([page.name, sort, count, seen]).toEqual([page.name, sort, commentCount, expected])
      }
    }
  } finally {
    for (const page of pages) page.stop()
  }
}
