import { beforeAll, describe, expect, test } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { effort } from '../harness/effort.ts'
import { PATIENT, type TestResponse, useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

const READERS = 12
const DISCUSSIONS = 3
const WRITES = effort(1000)
const AT_ONCE = 32

const service = useService({ env: PATIENT })
const identities: Record<string, string>[] = []

beforeAll(async () => {
  for (let n = 0; n < READERS; n++) identities.push(await service.as(`reader-${n}`))
  await service.call('PATCH', '/settings', { body: { reportThreshold: 3, maxDepth: 4 } })
})

/** A number from 0 to `below` - 1, the same ones in every run. */
function drawer(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
    return (state >>> 8) % below
  }
}

async function inParallel(count: number, work: (n: number) => Promise<void>): Promise<void> {
  let next = 0
  const loop = async (): Promise<void> => {
    for (let n = next++; n < count; n = next++) await work(n)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, loop))
}

/** What the tables themselves say, counted again. */
const RECOUNT = unnamed(`SELECT
     (SELECT count(*) FROM discussions d WHERE comment_count <> (
        SELECT count(*) FROM comments c WHERE c.tenant_id = d.tenant_id AND c.discussion_id = d.id AND c.status = 'approved')
     ) AS "wrongCommentCounts",
     (SELECT count(*) FROM comments p WHERE reply_count <> (
        SELECT count(*) FROM comments c WHERE c.tenant_id = p.tenant_id AND c.parent_id = p.id
          AND (c.status = 'approved' OR c.reply_count > 0))
     ) AS "wrongReplyCounts",
     (SELECT count(*) FROM comments c WHERE reaction_counts <> coalesce((
        SELECT jsonb_object_agg(type, n) FROM (
          SELECT type, count(*) AS n FROM reactions r
          WHERE r.tenant_id = c.tenant_id AND r.comment_id = c.id AND type IS NOT NULL GROUP BY type) held), '{}')
     ) AS "wrongReactionCounts",
     (SELECT count(*) FROM comments c WHERE report_count <> (
        SELECT count(*) FROM reports r WHERE r.tenant_id = c.tenant_id AND r.comment_id = c.id)
     ) AS "wrongReportCounts",
     (SELECT count(*) FROM discussions d WHERE (SELECT coalesce(max(seq), 0) FROM events e WHERE e.tenant_id = d.tenant_id
        AND e.discussion_id = d.id) <> d.seq OR (SELECT count(*) FROM events e WHERE e.tenant_id = d.tenant_id
        AND e.discussion_id = d.id) <> d.seq
     ) AS "wrongNumbers",
     (SELECT count(*) FROM comments) AS comments, (SELECT count(*) FROM events) AS events,
     (SELECT count(*) FROM reactions WHERE type IS NOT NULL) AS reactions`)

describe(`${WRITES} writes of many readers and moderators at once`, () => {
  test('leave every counter exact, and no gap in any numbering', async () => {
    const draw = drawer(20_261_121)
    const comments: string[] = []
    const pages = Array.from({ length: DISCUSSIONS }, () => `page-${newId()}`)
    const statuses = new Map<number, number>()
    const pick = <T>(list: readonly T[]): T => list[draw(list.length)] as T
    const types = ['like', 'love', 'sad']

    const write = async (n: number): Promise<TestResponse> => {
      const headers = pick(identities)
      const kind = draw(20)
      if (comments.length < 10 || kind < 6) {
        const path = `/discussions/by-external/${pick(pages)}/comments`
        return service.call('POST', path, { headers, body: { body: `Comment number ${n} of many` } })
      }
      const id = pick(comments)
      if (kind < 9) {
        const { discussionId } = (await service.call('GET', `/comments/${id}`)).json
        const body = { body: `Reply number ${n} of many`, parentId: id }
        return service.call('POST', `/discussions/${discussionId}/comments`, { headers, body })
      }
      if (kind < 14) return service.call('POST', `/comments/${id}/reactions`, { headers, body: { type: pick(types) } })
      if (kind < 15) return service.call('POST', `/comments/${id}/report`, { headers, body: { reason: 'spam' } })
      if (kind < 16) return service.call('DELETE', `/comments/${id}`)
      if (kind < 17) return service.call('POST', `/comments/${id}/reject`)
      if (kind < 18) return service.call('POST', `/comments/${id}/approve`)
      if (kind < 19) return service.call('POST', `/comments/${id}/pin`)
      return service.call('POST', '/comments/bulk', { body: { ids: [id, pick(comments)], action: 'unpin' } })
    }

    await inParallel(WRITES, async (n) => {
      const { status, json, text } = await write(n)
      expect(status, text).toBeLessThan(500)
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
      if (status === 201 && json.body !== undefined) comments.push(json.id)
    })

    const [counted] = await service.app.db.query<Record<string, number>>(RECOUNT)
    expect(counted).toMatchObject({
      wrongCommentCounts: 0,
      wrongReplyCounts: 0,
      wrongReactionCounts: 0,
      wrongReportCounts: 0,
      wrongNumbers: 0,
    })
    // It was a crowd: much was written, and some of it refused.
    expect(counted?.comments).toBeGreaterThan(WRITES / 5)
    expect(counted?.events).toBeGreaterThan(WRITES / 2)
    expect(counted?.reactions).toBeGreaterThan(WRITES / 50)
    expect(statuses.get(409)).toBeGreaterThan(0)
  })
})

describe('one reader in several windows', () => {
  test('who toggles 50 times at once ends in a valid state', async () => {
    const [headers = {}] = identities
    const path = `/discussions/by-external/${newId()}/comments`
    const { id } = (await service.call('POST', path, { headers, body: { body: 'Toggled' } })).json
    await inParallel(50, async (n) => {
      const body = { type: n % 2 === 0 ? 'like' : 'love' }
      await service.ok('POST', `/comments/${id}/reactions`, body, headers)
    })
    const { reactionCounts, viewerReaction } = (await service.call('GET', `/comments/${id}`, { headers })).json
    expect(reactionCounts).toEqual(viewerReaction === null ? {} : { [viewerReaction]: 1 })
  })

  test('who toggles an even number of times has no reaction', async () => {
    const [headers = {}] = identities
    const path = `/discussions/by-external/${newId()}/comments`
    const { id } = (await service.call('POST', path, { headers, body: { body: 'Toggled evenly' } })).json
    await inParallel(40, async () => {
      await service.call('POST', `/comments/${id}/reactions`, { headers, body: { type: 'like' } })
    })
    expect((await service.call('GET', `/comments/${id}`)).json.reactionCounts).toEqual({})
  })
})

test('the budget of active keys holds when keys are created at once', async () => {
  await service.call('PATCH', '/settings', { body: { activeKeyBudget: 5 } })
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, n) =>
      service.call('POST', '/keys', { body: { label: `Key ${n}`, capabilities: [] } }),
    ),
  )
  // The tenant's first key is one of the five.
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(4)
  expect(new Set(answers.filter(({ status }) => status !== 201).map(({ json }) => json.code))).toEqual(
    new Set(['key_budget_exhausted']),
  )
})
