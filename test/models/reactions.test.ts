import fc from 'fast-check'
import { expect, test } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import type { Param } from '../../src/core/database/statements.ts'
import { type ReactionMode, type ReactionResult, writeReactions } from '../../src/domains/reactions/sql.ts'
import { effort } from '../harness/effort.ts'
import { useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

const TYPES = ['like', 'love', 'sad'] as const
const TENANTS = 2
/** Of each tenant, by their place in the lists below. */
const STATES = ['open', 'open', 'locked', 'archived'] as const
const STATUSES = ['approved', 'approved', 'pending', 'rejected'] as const
const BANS = ['none', 'none', 'shadow', 'open', 'over', 'gone'] as const

const service = useService()

const run = (text: string, params: Param[]) => service.app.db.query(unnamed(text), params)

interface TestComment {
  id: string
  discussionId: string
  state: (typeof STATES)[number]
  status: (typeof STATUSES)[number]
}

interface World {
  tenantId: string
  comments: TestComment[]
  readers: { id: string; ban: (typeof BANS)[number] }[]
}

/** A tenant with each kind of discussion, comment and reader, and one endpoint that is ready. */
async function makeWorld(): Promise<World> {
  const tenantId = newId()
  await run('INSERT INTO tenants (id, slug) VALUES ($1, $2)', [tenantId, `tenant-${tenantId}`])
  await run(
    `INSERT INTO webhook_endpoints (tenant_id, id, url, event_types, state, policy)
     SELECT $1, id, 'https://receiver.example/', '{reaction_toggled}', state::endpoint_state, '{}'
     FROM unnest($2::uuid[], '{verified,unverified}'::text[]) AS t (id, state)`,
    [tenantId, [newId(), newId()]],
  )
  const readers = BANS.map((ban) => ({ id: newId(), ban }))
  await run(
    `INSERT INTO readers (tenant_id, id, external_id, profile_issued_at, banned_at, banned_until, shadow_banned, erasing_at)
     SELECT $1, id, id, now(), CASE WHEN ban IN ('shadow', 'open', 'over') THEN now() END,
       CASE ban WHEN 'over' THEN now() - interval '1 hour' END, ban = 'shadow', CASE ban WHEN 'gone' THEN now() END
     FROM unnest($2::uuid[], $3::text[]) AS t (id, ban)`,
    [tenantId, readers.map(({ id }) => id), readers.map(({ ban }) => ban)],
  )
  const discussions = STATES.map((state) => ({ id: newId(), state }))
  await run(
    `INSERT INTO discussions (tenant_id, id, external_id, state, seq)
     SELECT $1, id, id, state::discussion_state, 100 FROM unnest($2::uuid[], $3::text[]) AS t (id, state)`,
    [tenantId, discussions.map(({ id }) => id), discussions.map(({ state }) => state)],
  )
  const comments = discussions.flatMap(({ id: discussionId, state }) =>
    STATUSES.map((status) => ({ id: newId(), discussionId, state, status })),
  )
  await run(
    `INSERT INTO comments (tenant_id, id, discussion_id, author_id, body, body_html, status)
     SELECT $1, id, discussion_id, $4, 'x', 'x', status::comment_status
     FROM unnest($2::uuid[], $3::uuid[], $5::text[]) AS t (id, discussion_id, status)`,
    [
      tenantId,
      comments.map(({ id }) => id),
      comments.map(({ discussionId }) => discussionId),
      readers[0]?.id ?? null,
      comments.map(({ status }) => status),
    ],
  )
  return { tenantId, comments, readers }
}

/** One write; `tenant`, `comment` and `reader` choose among what there is. */
interface Step {
  tenant: number
  /** Of another tenant. */
  isForeign: boolean
  comment: number
  reader: number
  mode: ReactionMode
  type: (typeof TYPES)[number]
}

const step = fc.record<Step>({
  tenant: fc.nat(TENANTS - 1),
  isForeign: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
  // The first comments are those that take reactions.
  comment: fc.oneof({ weight: 3, arbitrary: fc.constantFrom(0, 1, 4, 5) }, fc.nat(15)),
  reader: fc.oneof({ weight: 3, arbitrary: fc.nat(2) }, fc.nat(BANS.length - 1)),
  mode: fc.constantFrom('toggle', 'toggle', 'set', 'remove'),
  type: fc.constantFrom(...TYPES),
})

/** What the service must answer, one write after the other. */
class Model {
  readonly #seqs = new Map<string, number>()
  readonly #held = new Map<string, Map<string, string>>()

  write({ mode, type }: Step, { id, discussionId, state, status }: TestComment, reader: World['readers'][number]) {
    if (status !== 'approved') return { outcome: 'not_found' }
    if (reader.ban === 'gone') return { outcome: 'unavailable' }
    if (state !== 'open') return { outcome: `discussion_${state}` }
    if (reader.ban === 'open') return { outcome: 'reader_banned' }
    if (reader.ban === 'shadow') return { outcome: 'in_shadow' }
    const held = this.#held.get(id) ?? new Map<string, string>()
    this.#held.set(id, held)
    const before = held.get(reader.id) ?? null
    const after = mode === 'remove' || (mode === 'toggle' && before === type) ? null : type
    if (after === null) held.delete(reader.id)
    else held.set(reader.id, after)
    if (after !== before) this.#seqs.set(discussionId, (this.#seqs.get(discussionId) ?? 100) + 1)
    const seq = after === before ? null : (this.#seqs.get(discussionId) ?? null)
    return { outcome: 'written', type: after, seq, previousType: before, reactionCounts: this.countsOf(id) }
  }

  countsOf(commentId: string): Record<string, number> {
    const counts: Record<string, number> = {}
    for (const type of this.#held.get(commentId)?.values() ?? []) counts[type] = (counts[type] ?? 0) + 1
    return counts
  }
}

/** Batches as the writer makes them: no two writes of one reader and one comment in the same. */
function batchesOf(steps: readonly Step[], sizes: readonly number[]): Step[][] {
  const batches: Step[][] = [[]]
  for (const next of steps) {
    const batch = batches.at(-1) ?? []
    const isFull = batch.length >= (sizes[batches.length % sizes.length] ?? 1)
    const keyOf = ({ tenant, isForeign, comment, reader }: Step): string => [tenant, isForeign, comment, reader].join()
    if (isFull || batch.some((other) => keyOf(other) === keyOf(next))) batches.push([next])
    else batch.push(next)
  }
  return batches
}

test('any batches of reactions have the same result as the same writes one after the other', async () => {
  const property = fc.asyncProperty(
    fc.array(step, { minLength: 1, maxLength: 80 }),
    fc.array(fc.constantFrom(1, 3, 10, 40), { minLength: 1, maxLength: 5 }),
    async (steps, sizes) => {
      const worlds = [await makeWorld(), await makeWorld()]
      const model = new Model()
      for (const batch of batchesOf(steps, sizes)) {
        const chosen = batch.map((each) => {
          const world = worlds[each.tenant]
          const owner = worlds[each.isForeign ? 1 - each.tenant : each.tenant]
          const comment = owner?.comments[each.comment]
          const reader = world?.readers[each.reader]
          if (world === undefined || comment === undefined || reader === undefined) throw new Error('no such row')
          return { each, world, comment, reader }
        })
        const rows = chosen.map(({ each, world, comment, reader }) => ({
          tenantId: world.tenantId,
          commentId: comment.id,
          readerId: reader.id,
          mode: each.mode,
          type: each.mode === 'remove' ? null : each.type,
          eventId: newId(),
          actor: '{}',
          reader: JSON.stringify({ id: reader.id }),
          trace: null,
        }))
        const results = await writeReactions(service.app.db.query, rows, new Date(), 'skip')
        const expected = chosen.map(({ each, comment, reader }) =>
          each.isForeign ? { outcome: 'not_found' } : model.write(each, comment, reader),
        )
        expect(results.map(shown)).toEqual(expected)
        expect(results[0]?.deliveries).toBe(results.filter(({ seq }) => seq !== null).length)
      }
      for (const world of worlds) await checkTables(world, model)
    },
  )
  await fc.assert(property, { numRuns: effort(25) })
})

function shown({ outcome, type, seq, data, reactionCounts }: ReactionResult) {
  if (outcome !== 'written') return { outcome }
  if (data === null) return { outcome, type, seq, previousType: type, reactionCounts }
  const event = JSON.parse(data) as { type: string | null; previousType: string | null; reactionCounts: object }
  expect(event).toMatchObject({ type, reactionCounts })
  return { outcome, type, seq, previousType: event.previousType, reactionCounts }
}

/** Counts as the model has them, and in each discussion as many events as its number says. */
async function checkTables({ tenantId, comments }: World, model: Model): Promise<void> {
  const counts = await service.app.db.query<{ id: string; counts: object; held: object }>(
    unnamed(`SELECT id, reaction_counts AS counts, (
       SELECT coalesce(jsonb_object_agg(type, n), '{}') FROM (
         SELECT type, count(*) AS n FROM reactions r
         WHERE r.tenant_id = c.tenant_id AND comment_id = c.id AND type IS NOT NULL GROUP BY type
       ) t
     ) AS held FROM comments c WHERE tenant_id = $1`),
    [tenantId],
  )
  expect(counts).toHaveLength(comments.length)
  for (const { id, counts: stored, held } of counts) {
    expect(stored).toEqual(model.countsOf(id))
    expect(held).toEqual(stored)
  }
  const wrong = unnamed(`SELECT 1 FROM discussions d WHERE tenant_id = $1 AND ARRAY(
       SELECT seq FROM events e WHERE e.tenant_id = d.tenant_id AND discussion_id = d.id ORDER BY seq
     ) <> ARRAY(SELECT generate_series(101, d.seq))`)
  expect(await service.app.db.query(wrong, [tenantId])).toEqual([])
}
