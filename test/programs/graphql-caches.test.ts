import { describe, expect, test, vi } from 'vitest'

import { createGraphqlClient } from '../../src/clients/graphql/client.ts'
import { DiscussionPage } from '../../src/clients/graphql/documents.ts'
import { newId } from '../../src/core/ids.ts'
import { type Data, openPages, shownOf, SORTS } from '../harness/cached-pages.ts'
import { effort } from '../harness/effort.ts'
import { randomOf } from '../harness/random.ts'
import { SEED } from '../harness/seed.ts'
import { useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

const STEPS = effort(40)
const service = useService()

// The number that the discussion shows counts those of the tenant alone, too, which no reader gets.
const LAST_SEEN = unnamed(
  `SELECT max(seq)::int AS seq FROM events e JOIN readers r ON r.tenant_id = e.tenant_id AND r.external_id = $2
   WHERE discussion_id = $1 AND audience <> 'tenant' AND (audience = 'public') = ((recipient_id = r.id) IS NOT TRUE)`,
)

/** The last event of a discussion that a reader may see. */
async function lastSeenBy(externalId: string, discussionId: string): Promise<number> {
  const [row] = await service.app.db.query<{ seq: number }>(LAST_SEEN, [discussionId, externalId])
  if (row === undefined) throw new Error('there is no event')
  return row.seq
}

describe("a client's cache that events change", () => {
  test.each([
    ['first', SEED],
    ['second', SEED + 1],
  ])('shows what the service shows, after any changes: the %s try', async (_try, seed) => {
    const random = randomOf(seed)
    const warn = vi.spyOn(console, 'warn')
    const error = vi.spyOn(console, 'error')
    const externalId = newId()
    const { id: discussionId } = (await service.call('POST', '/discussions', { body: { externalId } })).json
    const ann = await service.as('ann')
    const post = async (parentId: string | null): Promise<void> => {
      const body = { body: `A comment ${newId()}`, parentId }
      const answer = await service.call('POST', `/discussions/${discussionId}/comments`, { body, headers: ann })
      if (answer.status === 201) comments.push(answer.json.id)
    }
    const comments: string[] = []
    for (let n = 0; n < 6; n++) await post(null)
    const lastEventId = (await service.call('GET', `/discussions/${discussionId}`)).json.lastEventId as string
    const place = { externalId, discussionId, lastEventId }
    const client = createGraphqlClient({
      url: `${service.url}/graphql`,
      token: async () =>
        (await service.call('POST', '/client-tokens', { body: { externalIds: [externalId] }, headers: ann })).json,
    })
    const pages = await openPages(client, place)
    try {
      for (const page of pages) {
        for (const sort of SORTS) await page.load(sort)
        page.follow()
      }
      const draw = (below: number): number => Math.floor(random() * below)
      const written: string[] = []
      for (let n = 0; n < STEPS; n++) {
        const id = comments[draw(comments.length)] ?? ''
        const kind = draw(12)
        const change = async (path: string, method = 'POST', body?: object): Promise<void> => {
          written.push(path)
          await service.call(method, `/comments/${id}${path}`, { ...(body !== undefined && { body }), headers: ann })
        }
        if (kind < 3) await post(null)
        else if (kind < 5) await post(id)
        else if (kind === 5) await change('/reject')
        else if (kind === 6) await change('/approve')
        else if (kind === 7) await change('', 'DELETE')
        else if (kind === 8) await change('/pin')
        else if (kind === 9) await change('/unpin')
        else if (kind === 10) await change('/reactions', 'POST', { type: 'like' })
        else {
          const page = pages[draw(pages.length)]
          const made = await page?.create(`By a page ${newId()}`)
          expect(made).not.toBe('')
          comments.push(made ?? '')
        }
        if (n === STEPS / 2) for (const page of pages) for (const sort of SORTS) await page.more(sort)
      }
      const last = await lastSeenBy('ann', discussionId)
      for (const page of pages) await vi.waitFor(() => expect([page.name, page.seqs.at(-1)]).toEqual([page.name, last]))
      for (const sort of SORTS) {
        const variables = { externalId, first: 100, sort }
        const { data } = await client.query<Data>({ query: DiscussionPage.loc?.source.body, variables })
        const truth = shownOf(data)
        for (const page of pages) {
          const { comments: seen, commentCount, hasNextPage } = page.shown(sort)
          const expected = hasNextPage ? truth.comments.slice(0, seen.length) : truth.comments
          expect([page.name, sort, commentCount, seen]).toEqual([page.name, sort, truth.commentCount, expected])
        }
      }
      for (const { seqs } of pages) expect(seqs).toEqual([...new Set(seqs)].toSorted((a, b) => a - b))
      expect([warn.mock.calls, error.mock.calls]).toEqual([[], []])
    } finally {
      for (const page of pages) page.stop()
    }
  })
})
