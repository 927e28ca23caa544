import { beforeEach, describe, expect, test } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { beginningsOf, isPageOf, isPageSql, SEARCHED_FOR_SITE } from '../../src/domains/sites/pages.ts'
import { keyOf } from '../harness/sites.ts'
import { type TestTenant, useService, type TestResponse } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

const A = 'https://a.example'
const B = 'https://b.example'

const service = useService()
let tenant: TestTenant
let ann: Record<string, string>

// The lists of a tenant are kept for seconds: each test has its own.
beforeEach(async () => {
  tenant = await service.addTenant(`t-${newId()}`)
  ann = { ...keyOf(tenant), ...(await tenant.as('ann')) }
})

async function post(externalId: string): Promise<TestResponse['json']> {
  const path = `/discussions/by-external/${encodeURIComponent(externalId)}/comments`
  return service.ok('POST', path, { body: newId() }, ann)
}

/** Twelve on four pages. */
async function postTwelve(origin: string): Promise<void> {
  for (let n = 0; n < 12; n++) await post(`${origin}/${n % 4}`)
}

/** Adds a site. Returns what a page of its first origin gets as a list. */
async function addSite(...origins: string[]) {
  const body = { name: 'A site', origins }
  const json = await service.ok('POST', '/sites', body, keyOf(tenant))
  const url = `${service.url}/engagement/${json.publicKey}`
  return async (path: string): Promise<TestResponse['json'][]> => {
    const response = await fetch(url + path, { headers: { origin: origins[0] ?? '' } })
    expect(response.status).toBe(200)
    const { data }: TestResponse['json'] = await response.json()
    return data
  }
}

const pagesOf = (list: TestResponse['json'][]): string[] => list.map(({ discussion }) => discussion.externalId)

describe('lists of a site have its own pages alone', () => {
  test('however many newer and more discussed ones another site has', async () => {
    const { id } = await post(`${A}/0`)
    await postTwelve(B)
    const [ofA, ofB, ofBoth] = [await addSite(A), await addSite(B), await addSite(A, B)]
    for (const limit of [1, 3, 10]) {
      const latest = await ofA(`/latest-comments?limit=${limit}`)
      expect(latest.map(({ comment }) => comment.id)).toEqual([id])
      const most = await ofA(`/most-discussed?limit=${limit}`)
      expect(most.map(({ discussion, comments }) => [discussion.externalId, comments])).toEqual([[`${A}/0`, 1]])
    }
    const newest = [3, 2, 1, 0].map((n) => `${B}/${n}`)
    expect(pagesOf(await ofB('/latest-comments?limit=50'))).toEqual([...newest, ...newest, ...newest])
    expect(pagesOf(await ofB('/most-discussed?limit=50'))).toEqual(newest.toReversed())
    expect(pagesOf(await ofBoth('/latest-comments?limit=50'))).toEqual([...newest, ...newest, ...newest, `${A}/0`])
    expect(pagesOf(await ofBoth('/most-discussed?limit=50'))).toEqual([...newest.toReversed(), `${A}/0`])
    // The lists that are kept for sites are not those of the tenant.
    const { json } = await service.call('GET', '/most-discussed', { headers: keyOf(tenant) })
    expect(pagesOf(json.data)).toEqual([...newest.toReversed(), `${A}/0`])
  })

  test('and of pages whose addresses only look alike nothing', async () => {
    for (const address of ['article', A, `${A}.b.example/0`, `${A}:8443/0`, `${A}/a b`, `${A}/\u00a0`])
      await post(address)
    const { id } = await post(`${A}/0`)
    await post('http://a.example/0')
    const ofA = await addSite(A)
    expect((await ofA('/latest-comments?limit=1')).map(({ comment }) => comment.id)).toEqual([id])
    expect(pagesOf(await ofA('/most-discussed?limit=1'))).toEqual([`${A}/0`])
  })

  test('and are short behind more than is searched, rather than slow', async () => {
    const shown = await post(`${A}/0`)
    const { discussionId, author } = await post(`${B}/0`)
    const [before, after] = [await addSite(A), await addSite(A, 'https://other.example')]
    const FLOOD = unnamed(
      `INSERT INTO comments (tenant_id, id, discussion_id, depth, author_id, body, body_html, status)
       SELECT $1, new_id(), $2, 0, $3, 'text', '<p>text</p>', 'approved' FROM generate_series(1, $4::int)`,
    )
    // With the one that was posted there, as many as are searched but one.
    await service.app.db.query(FLOOD, [tenant.tenant.id, discussionId, author.id, SEARCHED_FOR_SITE - 2])
    expect((await before('/latest-comments?limit=1')).map(({ comment }) => comment.id)).toEqual([shown.id])
    await service.app.db.query(FLOOD, [tenant.tenant.id, discussionId, author.id, 1])
    expect(await after('/latest-comments')).toEqual([])
    const PAGES = unnamed(
      `WITH made AS (
         INSERT INTO discussions (tenant_id, id, external_id)
         SELECT $1, new_id(), $2 || '/more/' || n FROM generate_series(1, $3::int) n RETURNING id)
       INSERT INTO analytics_deltas (tenant_id, hour, discussion_id, metric, n)
       SELECT $1, date_trunc('hour', now()), id, 'comments_approved', 2 FROM made`,
    )
    await service.app.db.query(PAGES, [tenant.tenant.id, B, SEARCHED_FOR_SITE - 1])
    const most = '/most-discussed?window=week&limit=1'
    await service.app.db.query(unnamed('DELETE FROM analytics_deltas WHERE discussion_id = $1'), [discussionId])
    expect(pagesOf(await before(most))).toEqual([`${A}/0`])
    await service.app.db.query(PAGES, [tenant.tenant.id, `${B}/again`, 1])
    expect(await after(most)).toEqual([])
  })
})

test('a page that gets an address elsewhere leaves the lists at once', async () => {
  const { discussionId } = await post(`${A}/0`)
  const { id } = await post(`${A}/1`)
  await post(`${A}/0`)
  const ofA = await addSite(A)
  expect(pagesOf(await ofA('/latest-comments'))).toEqual([`${A}/0`, `${A}/1`, `${A}/0`])
  expect(pagesOf(await ofA('/most-discussed'))).toEqual([`${A}/0`, `${A}/1`])
  const change = { body: { externalId: `${B}/0` }, headers: keyOf(tenant) }
  expect((await service.call('PATCH', `/discussions/${discussionId}`, change)).status).toBe(200)
  expect((await ofA('/latest-comments?limit=1')).map(({ comment }) => comment.id)).toEqual([id])
  expect(pagesOf(await ofA('/most-discussed?limit=1'))).toEqual([`${A}/1`])
})

test('SQL takes the same external ids for pages as the routes do', async () => {
  const origins = [A, 'https://xn--bcher-kva.example:8443', 'chrome-extension://abc']
  // All white space and controls of Unicode are in the basic plane.
  const odd = Array.from({ length: 0x10000 }, (_each, n) => n).filter((n) => n !== 0 && (n < 0xd800 || n > 0xdfff))
  const ids = [
    ...odd.map((n) => `${A}/a${String.fromCharCode(n)}b`),
    ...origins.flatMap((each) =>
      ['', '/', '/%', '/\u{1f600}', '//', '/?#', '.evil/', '@evil/', ':1/', '\\'].map((rest) => each + rest),
    ),
    '',
    '/',
    'article',
    'HTTPS://a.example/',
    'https:/a.example/',
    ' https://a.example/',
    '%',
  ]
  const IS_PAGE = unnamed(`SELECT id FROM unnest($1::text[]) id WHERE ${isPageSql('id', '$2')}`)
  const found = await service.app.db.query<{ id: string }>(IS_PAGE, [ids, beginningsOf(origins)])
  expect(found.map(({ id }) => id)).toEqual(ids.filter((id) => isPageOf({ origins }, id)))
})
