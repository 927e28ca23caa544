import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { found, keyOf, post } from '../harness/comment-search.ts'
import { effort } from '../harness/effort.ts'
import { useService } from '../harness/service.ts'

const service = useService()

describe('a search', () => {
  const WORDS = ['ape', 'apes', 'bee', 'Émeu', 'fox', 'the'] as const
  const READERS = ['ann', 'bob'] as const
  const PAGES = ['one', 'two'] as const
  const STATUSES = ['approved', 'pending', 'rejected', 'deleted'] as const

  interface Posted {
    id: string
    words: string[]
    reader: number
    page: number
    status: (typeof STATUSES)[number]
    createdAt: string
  }

  const fold = (word: string): string => word.normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase()
  const hasWords = (text: readonly string[], search: readonly string[]): boolean =>
    search.every((word, n) =>
      text.some((each) => (n === search.length - 1 ? fold(each).startsWith(fold(word)) : fold(each) === fold(word))),
    )

  test('finds what a model finds, whatever the filters and the size of a page', async () => {
    const tenant = await service.addTenant(`model-${newId()}`)
    await service.ok('PATCH', '/settings', { moderationMode: 'pre' }, keyOf(tenant))
    const posted: Posted[] = []
    const random = fc.sample(
      fc.record({
        words: fc.array(fc.constantFrom(...WORDS), { minLength: 1, maxLength: 3 }),
        reader: fc.nat(1),
        page: fc.nat(1),
        status: fc.constantFrom(...STATUSES),
      }),
      effort(60, 40),
    )
    const ids: { readers: string[]; pages: string[] } = { readers: [], pages: [] }
    for (const { words, reader, page: on, status } of random) {
      const { id, author, discussionId, createdAt } = await post(service, tenant, words.join(' '), {
        reader: READERS[reader]!,
        page: PAGES[on]!,
      })
      if (status === 'deleted') await service.ok('DELETE', `/comments/${id}`, undefined, keyOf(tenant))
      if (status === 'approved') await service.ok('POST', `/comments/${id}/approve`, undefined, keyOf(tenant))
      if (status === 'rejected') await service.ok('POST', `/comments/${id}/reject`, undefined, keyOf(tenant))
      ids.readers[reader] = author.id
      ids.pages[on] = discussionId
      posted.push({ id, words, reader, page: on, status, createdAt })
    }
    const filters = fc.record({
      search: fc.option(fc.array(fc.constantFrom(...WORDS, 'ap', 'E', 'cow'), { minLength: 1, maxLength: 2 })),
      status: fc.option(fc.constantFrom(...STATUSES)),
      reader: fc.option(fc.nat(1)),
      page: fc.option(fc.nat(1)),
      from: fc.option(fc.nat(posted.length - 1)),
      to: fc.option(fc.nat(posted.length - 1)),
      isOldest: fc.boolean(),
      limit: fc.integer({ min: 1, max: 30 }),
    })
    const holds = async (filter: typeof filters extends fc.Arbitrary<infer F> ? F : never): Promise<void> => {
      const { search, status, reader, page: on, isOldest, limit } = filter
      const from = filter.from === null ? undefined : posted[filter.from]!.createdAt
      const to = filter.to === null ? undefined : posted[filter.to]!.createdAt
      const wanted = posted.filter(
        (each) =>
          (search === null || hasWords(each.words, search)) &&
          (status === null || each.status === status) &&
          (reader === null || each.reader === reader) &&
          (on === null || each.page === on) &&
          (from === undefined || each.createdAt >= from) &&
          (to === undefined || each.createdAt < to),
      )
      const got = await found(service, tenant, {
        search: search?.join(' '),
        status: status ?? undefined,
        authorId: reader === null ? undefined : ids.readers[reader],
        discussionId: on === null ? undefined : ids.pages[on],
        from,
        to,
        sort: isOldest ? 'oldest' : 'newest',
        limit,
      })
      const inOrder = wanted.map(({ id }) => id)
      expect(got.map(({ id }) => id)).toEqual(isOldest ? inOrder : inOrder.toReversed())
    }
    await fc.assert(fc.asyncProperty(filters, holds), { numRuns: effort(300, 20) })
  })
})
