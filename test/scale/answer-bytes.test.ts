import * as fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'

import { type Id, newId } from '../../src/core/ids.ts'
import { effort } from '../harness/effort.ts'
import { useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

const MAX_BYTES = 2_000_000

const service = useService()
let author: Id

beforeAll(async () => {
  author = await writerOf('author')
})

async function writerOf(name: string): Promise<Id> {
  const body = { body: 'Hello' }
  const json = await service.ok('POST', '/discussions/by-external/first/comments', body, await service.as(name))
  return json.author.id as Id
}

interface Row {
  id: Id
  parentId: Id | null
  body: string
  bodyHtml: string
}

const TEXTS = ['a', '"', '<', '\n', 'é', '漢', '😀', '\u0001']
/** Lengths up to what a comment may have: 10 000 characters, and 100 000 bytes of HTML. */
const text = (max: number) =>
  fc
    .tuple(fc.constantFrom(...TEXTS), fc.oneof(fc.nat(50), fc.nat(max), fc.constant(max)))
    .map(([unit, bytes]) => unit.repeat(Math.floor(bytes / Buffer.byteLength(unit))))

const ROWS = fc.array(fc.tuple(text(10_000), text(100_000), fc.nat(4)), { minLength: 20, maxLength: 60 })

const INSERT =
  unnamed(`INSERT INTO comments (tenant_id, id, discussion_id, parent_id, depth, author_id, body, body_html, status, reply_count)
   SELECT $1, id, $2, parent, CASE WHEN parent IS NULL THEN 0 ELSE 1 END, $3, body, html, $4, replies
   FROM unnest($5::uuid[], $6::uuid[], $7::text[], $8::text[], $9::int[]) AS t (id, parent, body, html, replies)`)

let pages = 0

/** A discussion with these comments; each may be a reply to one of the first ones. */
async function fill(made: readonly [body: string, html: string, parent: number][], status = 'approved', by = author) {
  const { json } = await service.call('POST', '/discussions', { body: { externalId: `long-${pages++}` } })
  const rows: Row[] = []
  for (const [body, bodyHtml, parent] of made) {
    const parentId = parent === 0 ? null : (rows.filter((row) => row.parentId === null)[parent]?.id ?? null)
    rows.push({ id: newId(), parentId, body, bodyHtml })
  }
  const replies = rows.map(({ id }) => rows.filter(({ parentId }) => parentId === id).length)
  await service.app.db.query(INSERT, [
    service.tenant.id,
    json.id,
    by,
    status,
    rows.map(({ id }) => id),
    rows.map(({ parentId }) => parentId),
    rows.map(({ body }) => body),
    rows.map(({ bodyHtml }) => bodyHtml),
    replies,
  ])
  return { discussionId: json.id as Id, rows }
}

interface List<T> {
  data: T[]
  nextCursor: string | null
  hasMore: boolean
}

/** All pages of a list of REST, each within its bytes, and the text of their entries in one. */
async function walk<T>(path: string): Promise<T[]> {
  const entries: T[] = []
  for (let cursor: string | null = null, first = true; first || cursor !== null; first = false) {
    const next = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`
    const { status, text: body, json } = await service.call('GET', `${path}${next}`)
    expect(status, body.slice(0, 300)).toBe(200)
    const { data, nextCursor, hasMore } = json as List<T>
    expect(hasMore).toBe(nextCursor !== null)
    if (data.length > 1) expect(Buffer.byteLength(body)).toBeLessThanOrEqual(MAX_BYTES)
    expect(data.length).toBeGreaterThan(0)
    entries.push(...data)
    cursor = nextCursor
  }
  return entries
}

interface Listed {
  id: Id
  body: string
  bodyHtml: string
  replies?: List<Listed>
}

const sorted = (ids: readonly Id[]): Id[] => [...ids].sort()
const idsOf = (list: readonly { id: Id }[]): Id[] => list.map(({ id }) => id)

describe('pages of comments of any length: walked to the end, nothing is lost or doubled, and no answer has more than 2 MB', () => {
  test.each(['newest', 'oldest', 'top'])('one level: %s', async (sort) => {
    await fc.assert(
      fc.asyncProperty(ROWS, fc.constantFrom(1, 7, 100), async (made, limit) => {
        const { discussionId, rows } = await fill(made.map(([body, html]) => [body, html, 0]))
        const found = await walk<Listed>(`/discussions/${discussionId}/comments?sort=${sort}&limit=${limit}`)
        expect(sorted(idsOf(found))).toEqual(sorted(idsOf(rows)))
        const texts = new Map(rows.map((row) => [row.id, row]))
        for (const each of found) {
          expect(each.body === texts.get(each.id)?.body && each.bodyHtml === texts.get(each.id)?.bodyHtml).toBe(true)
        }
      }),
      { numRuns: effort(3, 1) },
    )
  })

  test('with first replies', async () => {
    await fc.assert(
      fc.asyncProperty(ROWS, fc.constantFrom(5, 100), async (made, limit) => {
        const { discussionId, rows } = await fill(made)
        const base = `/discussions/${discussionId}/comments?sort=oldest`
        const roots = await walk<Listed>(`${base}&limit=${limit}&replies=3`)
        expect(sorted(idsOf(roots))).toEqual(sorted(idsOf(rows.filter(({ parentId }) => parentId === null))))
        for (const { id, replies } of roots) {
          const first = replies?.data ?? []
          const rest: Listed[] = []
          if (replies?.hasMore === true) {
            expect(replies.nextCursor).not.toBeNull()
            const cursor = encodeURIComponent(replies.nextCursor ?? '')
            const { json } = await service.call('GET', `${base}&parentId=${id}&limit=1&cursor=${cursor}`)
            rest.push(...(json as List<Listed>).data)
            if (json.hasMore === true) {
              const more = `${base}&parentId=${id}&limit=100&cursor=${encodeURIComponent(String(json.nextCursor))}`
              rest.push(...(await walkFrom(more)))
            }
          }
          const all = rows.filter(({ parentId }) => parentId === id)
          expect(idsOf([...first, ...rest])).toEqual(sorted(idsOf(all)))
        }
      }),
      { numRuns: effort(4, 2) },
    )
  })

  async function walkFrom(path: string): Promise<Listed[]> {
    const { json } = await service.call('GET', path)
    const { data, nextCursor } = json as List<Listed>
    if (nextCursor === null) return data
    const next = path.replace(/cursor=.*$/, `cursor=${encodeURIComponent(nextCursor)}`)
    return [...data, ...(await walkFrom(next))]
  }

  test("the moderation queue, and a reader's comments", async () => {
    const long = Array.from({ length: 45 }, (_, n): [string, string, number] => [
      '漢'.repeat(3000 + n),
      '<'.repeat(90_000),
      0,
    ])
    const reader = await writerOf('of a queue')
    const { discussionId, rows } = await fill(long, 'pending', reader)
    const queue = await walk<{ comment: Listed }>(`/moderation/queue?discussionId=${discussionId}&limit=100`)
    expect(queue.map(({ comment }) => comment.id)).toEqual(sorted(idsOf(rows)))
    const byReader = await walk<Listed>(`/readers/${reader}/comments?limit=100`)
    expect(new Set(idsOf(byReader)).size).toBe(byReader.length)
    expect(idsOf(byReader)).toEqual(expect.arrayContaining(idsOf(rows)))
  })
})

describe('lists of other things', () => {
  test('revisions of one comment', async () => {
    const { rows } = await fill([['now', '<p>now</p>', 0]])
    const [{ id } = { id: '' }] = rows
    await service.app.db.query(
      unnamed(`INSERT INTO comment_revisions (tenant_id, comment_id, revision, body)
         SELECT $1, $2, n, repeat('漢', 10000) FROM generate_series(1, 99) n`),
      [service.tenant.id, id],
    )
    await service.app.db.query(unnamed('UPDATE comments SET revision = 100 WHERE id = $1'), [id])
    const found = await walk<{ revision: number }>(`/comments/${id}/revisions?limit=100`)
    expect(found.map(({ revision }) => revision)).toEqual(Array.from({ length: 100 }, (_, n) => 100 - n))
  })

  test('the audit log, with settings of any length before and after', async () => {
    const words = (letter: string, count: number) => Array.from({ length: count }, (_, n) => `${letter.repeat(90)}${n}`)
    for (let n = 0; n < 14; n++) {
      const patch = { bannedWords: words('ab'[n % 2] ?? '', 900), suspectWords: words('cd'[n % 2] ?? '', 900) }
      expect((await service.call('PATCH', '/settings', { body: patch })).status).toBe(200)
    }
    const found = await walk<{ id: Id; action: string }>('/audit-log?limit=100')
    expect(found.filter(({ action }) => action === 'settings.update')).toHaveLength(14)
    expect(new Set(idsOf(found)).size).toBe(found.length)
    await service.call('PATCH', '/settings', { body: { bannedWords: [], suspectWords: [] } })
  })
})

interface Connection {
  edges: { node: { id: Id; body?: string; replies?: Connection } }[]
  pageInfo: { hasNextPage: boolean; endCursor: string | null }
}

describe('a GraphQL document shares one budget among its lists', () => {
  const PAGE = 'pageInfo { hasNextPage endCursor }'

  const ask = async (query: string, variables: object): Promise<{ data: Record<string, unknown>; bytes: number }> => {
    const { status, text: body, json } = await service.graphql(query, variables)
    expect(status, body.slice(0, 500)).toBe(200)
    expect(json.errors).toBeUndefined()
    return { data: json.data as Record<string, unknown>, bytes: Buffer.byteLength(body) }
  }
  const commentsOf = (data: Record<string, unknown>, name = 'discussion') =>
    (data[name] as { comments: Connection }).comments

  test('whatever fields it requests, how often, and under which names', async () => {
    const long = (length: number): [string, string, number][] =>
      Array.from({ length }, (_, n) => ['x'.repeat(9000), '"'.repeat(40_000), n % 5])
    const { discussionId, rows } = await fill(long(60))
    const COPIES = Array.from({ length: 8 }, (_, n) => `b${n}: bodyHtml`).join(' ')
    const query = `query ($id: ID!, $after: String) {
      discussion(by: { id: $id }) { comments(first: 30, sort: oldest, after: $after) {
        ${PAGE} edges { node { id body ${COPIES} parent { bodyHtml } replies(first: 2) { ${PAGE} edges { node { id parent { bodyHtml ...F } } } } } }
      } }
    } fragment F on Comment { p: bodyHtml discussion { title url } }`
    const found: Id[] = []
    for (let after: string | null = null, more = true; more;) {
      const { data, bytes } = await ask(query, { id: discussionId, after })
      const { edges, pageInfo } = commentsOf(data)
      expect(bytes).toBeLessThanOrEqual(MAX_BYTES)
      found.push(...edges.map(({ node }) => node.id))
      for (const { node } of edges) {
        const { replies } = node
        if (replies !== undefined && replies.edges.length === 0 && replies.pageInfo.hasNextPage) {
          expect(replies.pageInfo.endCursor).not.toBeNull()
        }
      }
      after = pageInfo.endCursor
      more = pageInfo.hasNextPage
    }
    expect(found).toEqual(sorted(idsOf(rows.filter(({ parentId }) => parentId === null))))
  })

  test('a list that gets no budget is empty, and its cursor starts from its beginning', async () => {
    const comment = (parent: number): [string, string, number] => ['x'.repeat(9000), 'y'.repeat(90_000), parent]
    // The roots take what there is: no reply fits into the rest.
    const { discussionId, rows } = await fill([
      ...Array.from({ length: 30 }, () => comment(0)),
      ...[1, 2, 3].map(comment),
    ])
    const query = `query ($id: ID!) { discussion(by: { id: $id }) { comments(first: 30, sort: oldest) { ${PAGE} edges { node {
      id body bodyHtml replies(first: 2, sort: oldest) { ${PAGE} edges { node { id body bodyHtml } } }
    } } } } }`
    const { data, bytes } = await ask(query, { id: discussionId })
    expect(bytes).toBeLessThanOrEqual(MAX_BYTES)
    const replied = commentsOf(data).edges.filter(({ node }) => rows.some(({ parentId }) => parentId === node.id))
    expect(replied).toHaveLength(3)
    for (const { node } of replied) {
      expect(node.replies?.edges).toEqual([])
      expect(node.replies?.pageInfo.hasNextPage).toBe(true)
      const cursor = encodeURIComponent(node.replies?.pageInfo.endCursor ?? '')
      const path = `/discussions/${discussionId}/comments?sort=oldest&parentId=${node.id}&cursor=${cursor}`
      const { json } = await service.call('GET', path)
      expect(idsOf((json as List<Listed>).data)).toEqual(idsOf(rows.filter(({ parentId }) => parentId === node.id)))
    }
  })

  test('nodes count like edges, and both count where both are requested', async () => {
    const { discussionId, rows } = await fill(Array.from({ length: 30 }, () => ['x', 'y'.repeat(99_000), 0]))
    const read = async (lists: string) => {
      const query = `query ($id: ID!) { discussion(by: { id: $id }) { comments(first: 100, sort: oldest) { ${PAGE} ${lists} } } }`
      const { data, bytes } = await ask(query, { id: discussionId })
      expect(bytes).toBeLessThanOrEqual(MAX_BYTES)
      return (data.discussion as { comments: { nodes: { id: Id }[]; pageInfo: object } }).comments
    }
    const once = await read('nodes { id bodyHtml }')
    const twice = await read('nodes { id bodyHtml } edges { cursor node { bodyHtml } }')
    expect(once.nodes.length).toBeGreaterThan(15)
    expect(once.nodes.length).toBeLessThan(rows.length)
    expect(twice.nodes).toHaveLength(Math.floor(once.nodes.length / 2))
    expect(twice.pageInfo).toMatchObject({ hasNextPage: true })
  })

  test('fields that are not requested do not count', async () => {
    const { discussionId, rows } = await fill(Array.from({ length: 15 }, () => ['x', 'y'.repeat(99_000), 0]))
    const { data } = await ask(
      'query ($id: ID!) { discussion(by: { id: $id }) { comments(first: 100) { edges { node { id body } } } } }',
      {
        id: discussionId,
      },
    )
    expect(commentsOf(data).edges).toHaveLength(rows.length)
  })
})
