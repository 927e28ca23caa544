import { beforeAll, describe, expect, test } from 'vitest'

import { FIRST_ID, LAST_ID, newId } from '../../src/core/ids.ts'
import { readMigrations } from '../../src/data/migrations/files.ts'
import { searchByIndex } from '../../src/domains/moderation/search/search-sql.ts'
import { found, page, post } from '../harness/comment-search.ts'
import { onServer } from '../harness/database.ts'
import { type Json, type TestTenant, useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

const service = useService()

describe('a search among many comments', () => {
  const MANY = 25_000
  let tenant: TestTenant
  let authorId: string
  let discussionId: string

  const FILL =
    unnamed(`INSERT INTO comments (tenant_id, id, discussion_id, author_id, body, body_html, status, created_at)
    SELECT $1, (lpad(to_hex(1700000000000 + n), 12, '0') || '7000' || '8000' || lpad(to_hex(n), 12, '0'))::uuid, $2, $3,
      'the' || CASE WHEN n % 2 = 0 THEN ' even' ELSE ' odd' END || CASE WHEN n < 12000 THEN ' old' ELSE '' END
        || CASE WHEN n <= 9000 THEN ' edge' ELSE '' END
        || CASE WHEN n = 5 THEN ' single' ELSE '' END || CASE WHEN n % 5000 = 7 THEN ' rare' ELSE '' END,
      '', CASE WHEN n = 9 THEN 'rejected' ELSE 'approved' END::comment_status, to_timestamp((1700000000000 + n) / 1000.0)
    FROM generate_series(1, $4) n`)

  beforeAll(async () => {
    tenant = await service.addTenant(`many-${newId()}`)
    const first = await post(service, tenant, 'first')
    authorId = first.author.id
    discussionId = first.discussionId
    await service.app.db.query(FILL, [tenant.tenant.id, discussionId, authorId, MANY])
  })

  test.each(['newest', 'oldest'])('finds single and rare words in one request, %s first', async (sort) => {
    for (const [search, count] of [
      ['single', 1],
      ['rare', 5],
      ['the single', 1],
      ['rare the', 5],
    ] as const) {
      const { data, partial, hasMore } = await page(service, tenant, { search, sort })
      expect({ count: data.length, partial, hasMore }).toEqual({ count, partial: false, hasMore: false })
      const ids = data.map(({ id }: Json) => id)
      expect(ids).toEqual(sort === 'newest' ? ids.toSorted().toReversed() : ids.toSorted())
    }
  })

  test('fills its page with a frequent word, and none is missed or comes twice', async () => {
    const { data, partial } = await page(service, tenant, { search: 'th', limit: 100 })
    expect({ count: data.length, partial }).toEqual({ count: 100, partial: false })
    const all = await found(service, tenant, { search: 'old th', limit: 100, sort: 'oldest' })
    expect(new Set(all.map(({ id }) => id)).size).toBe(11_999)
    expect(all).toHaveLength(11_999)
  })

  test('is partial after 10 000 comments, and its cursor goes on to all matches', async () => {
    // Frequent, but not among the newest comments, and more often than the index is read for.
    const first = await page(service, tenant, { search: 'old' })
    expect(first).toMatchObject({ data: [], partial: true, hasMore: true })
    const next = await page(service, tenant, { search: 'old', cursor: first.nextCursor })
    expect(next).toMatchObject({ data: [], partial: true })
    const { data } = await page(service, tenant, { search: 'old', cursor: next.nextCursor, limit: 100 })
    expect(data).toHaveLength(100)
    // Words that all have, and a filter that one has.
    let cursor: string | undefined
    const seen: Json[] = []
    let pages = 0
    for (; cursor !== null; pages++) {
      const answer: Json = await page(service, tenant, { search: 'the', reason: 'classifier', cursor })
      cursor = answer.nextCursor
      seen.push(...answer.data)
      expect(answer.partial).toBe(answer.hasMore)
    }
    expect({ seen, pages }).toEqual({ seen: [], pages: 3 })
  })

  test('counts what it looked at in order and what the index found together', async () => {
    // 1 000 of the newest without the word, and 9 000 with it: the index stops at the last of them.
    const first = await page(service, tenant, { search: 'edge' })
    expect(first).toMatchObject({ data: [], partial: true, hasMore: true })
    const all = await found(service, tenant, { search: 'edge', limit: 100 })
    expect(new Set(all.map(({ id }) => id)).size).toBe(9000)
  })

  test.skipIf(!onServer)('gives up an index that takes too long (skipped: needs DATABASE_URL)', async () => {
    const span = { order: 'newest', low: FIRST_ID, high: LAST_ID } as const
    const none = {
      status: null,
      authorId: null,
      discussionId: null,
      reason: null,
      from: null,
      to: null,
      isUnreviewed: false,
    }
    const search = () =>
      searchByIndex(service.app.db, { tenantId: tenant.tenant.id, search: 'single', ...none }, span, {
        candidates: 10,
        limit: 2,
      })
    await service.app.db.transaction(async (sql) => {
      await sql(unnamed('LOCK TABLE comment_search IN ACCESS EXCLUSIVE MODE'))
      expect(await search()).toBeNull()
    })
    expect(await search()).toHaveLength(1)
  })

  test('of an author, a discussion or a state has the words as well', async () => {
    for (const filter of [{ authorId }, { discussionId }, { authorId, discussionId }]) {
      expect((await page(service, tenant, { search: 'single', ...filter })).data).toHaveLength(1)
    }
    expect((await page(service, tenant, { status: 'rejected' })).data).toHaveLength(1)
    expect((await page(service, tenant, { status: 'rejected', search: 'odd' })).data).toHaveLength(1)
    expect((await page(service, tenant, { status: 'rejected', search: 'even' })).data).toHaveLength(0)
  })

  test('finds comments of before the migration once its backfill has run', async () => {
    const EMPTY = unnamed('DELETE FROM comment_search WHERE tenant_id = $1')
    await service.app.db.query(EMPTY, [tenant.tenant.id])
    expect((await found(service, tenant, { search: 'single' })).length).toBe(0)
    const backfill = readMigrations().find(({ name }) => name.endsWith('_comment_search'))?.backfill ?? ''
    let changed = 0
    for (let position: unknown = null, isLast = false; !isLast;) {
      const [row] = await service.app.db.query<{ last: unknown; changed: number }>(unnamed(backfill), [
        position === null ? null : JSON.stringify(position),
        4000,
      ])
      position = row?.last ?? null
      changed += row?.changed ?? 0
      isLast = position === null
    }
    expect(changed).toBe(MANY + 1)
    expect((await found(service, tenant, { search: 'single' })).length).toBe(1)
  })
})
