import fc from 'fast-check'
import { beforeAll, describe, expect, test, vi } from 'vitest'

import { searched } from '../../src/core/database/search.ts'
import { effort } from '../harness/effort.ts'
import { useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

const service = useService()
let other: Record<string, string>

const PAGES: readonly (readonly [externalId: string, title: string | null])[] = [
  ['article-1', 'Climate change: what now?'],
  ['article-2', 'The climate of opinion'],
  ['Article-10', 'Changing places'],
  ['quiz/100%_sure', null],
  ['elections', 'Élections à Genève – 1er tour'],
  ['привет', 'Новости Москвы'],
  ['tokyo', '東京の天気'],
  ['oslo', 'Smørbrød på Straße, Łódź'],
  ['tehran', 'کِتاب‌های فارسی'],
  ["o'neill\\x", "O'Neill's “last” word"],
  ['long', `${'x'.repeat(300)} ${'ﷺ'.repeat(150)}`],
]

beforeAll(async () => {
  const tenant = await service.addTenant('other')
  other = { 'x-api-key': tenant.apiKey }
  for (const headers of [{}, other]) {
    for (const [externalId, title] of PAGES) {
      const body = { externalId, ...(title === null ? {} : { title }) }
      expect((await service.call('POST', '/discussions', { body, headers })).status).toBe(201)
    }
  }
})

const get = async (path: string, headers: Record<string, string> = {}) => {
  const { status, json } = await service.call('GET', path, { headers })
  expect(status, JSON.stringify(json)).toBe(200)
  return json
}
const find = async (search: string, more = ''): Promise<string[]> => {
  const { data } = await get(`/discussions?search=${encodeURIComponent(search)}${more}`)
  return data.map(({ externalId }: { externalId: string }) => externalId)
}

describe('GET /discussions?search=', () => {
  test.each([
    ['the beginning of an external id', 'article-1', ['Article-10', 'article-1']],
    ['in any case', 'ARTICLE', ['Article-10', 'article-2', 'article-1']],
    ['a word of the title', 'climate', ['article-2', 'article-1']],
    ['the beginning of its last word', 'clim', ['article-2', 'article-1']],
    ['all of its words, in any order', 'change climate', ['article-1']],
    ['the last one alone as a beginning', 'chang climate', []],
    ['the last one as a beginning', 'climate chang', ['article-1']],
    ['no middle of a word', 'limate', []],
    ['no middle of an external id', 'rticle', []],
    ['accents aside', 'geneve elections', ['elections']],
    ['accents aside, also those that are asked for', 'élèctions', ['elections']],
    ['other alphabets in any case', 'МОСКВ', ['привет']],
    ['other alphabets in external ids', 'ПРИ', ['привет']],
    ['letters of their own by their base', 'smorbrod lodz', ['oslo']],
    ['ß by ss', 'strasse', ['oslo']],
    ['Persian letters by Arabic ones, without points', 'كتاب فارسي', ['tehran']],
    ['characters of a script without spaces', '天気', ['tokyo']],
    ['what is syntax elsewhere, as it is', 'quiz/100%_', ['quiz/100%_sure']],
    ['no wildcard', 'quiz%sure', []],
    ['quotes and backslashes', "o'neill\\", ["o'neill\\x"]],
    ['quotation marks as nothing', '“last” word', ["o'neill\\x"]],
    ['a word by its first 60 characters', 'x'.repeat(200), ['long']],
    ['nothing but punctuation', '&|!', []],
    ['nothing but a kashida', '\u0640', []],
    ['nothing but a vowel mark', '\u064E', []],
    ['nothing but an accent', '\u0301', []],
    ['white space around it aside', '  climate  ', ['article-2', 'article-1']],
  ])('%s: %s', async (_what, search, expected) => {
    expect(await find(search)).toEqual(expected)
  })

  test('combines with state and sort', async () => {
    const { id } = await get('/discussions/by-external/article-1')
    await service.call('POST', `/discussions/${id}/lock`)
    expect(await find('climate', '&state=locked')).toEqual(['article-1'])
    expect(await find('climate', '&state=open')).toEqual(['article-2'])
    // The minute after all were made: `active` goes by it.
    const moved = unnamed(`UPDATE discussions SET active_at = now() + interval '1 hour' WHERE id = $1`)
    await service.app.db.query(moved, [id])
    expect(await find('climate', '&sort=active')).toEqual(['article-1', 'article-2'])
  })

  test.each(['recent', 'active'])('pages without gaps, sort=%s', async (sort) => {
    const all = await find('article', `&sort=${sort}`)
    const paged: string[] = []
    for (let cursor: string | null = ''; cursor !== null;) {
      const page = await get(`/discussions?search=article&sort=${sort}&limit=1${cursor && `&cursor=${cursor}`}`)
      paged.push(...page.data.map(({ externalId }: { externalId: string }) => externalId))
      cursor = page.nextCursor
    }
    expect(all).toHaveLength(3)
    expect(paged).toEqual(all)
  })

  test('follows a new title', async () => {
    const body = (title: string) => ({ body: { externalId: 'renamed', title } })
    await service.call('POST', '/discussions', body('Before'))
    await service.call('POST', '/discussions', body('Afterwards'))
    expect([await find('before'), await find('afterw')]).toEqual([[], ['renamed']])
  })

  test('finds nothing of another tenant', async () => {
    await service.call('POST', '/discussions', { body: { externalId: 'theirs', title: 'Secretive' }, headers: other })
    expect(await find('secretive')).toEqual([])
    expect((await get('/discussions?search=secretive', other)).data).toHaveLength(1)
  })

  test('is the same in GraphQL', async () => {
    const query = 'query ($search: String) { discussions(search: $search) { edges { node { externalId } } } }'
    const { json } = await service.graphql(query, { search: 'chang' })
    const found = json.data.discussions.edges.map((edge: { node: { externalId: string } }) => edge.node.externalId)
    expect(found).toEqual(['Article-10', 'article-1'])
  })
})

describe('GET /readers?search=', () => {
  const readers = async (query: string): Promise<string[]> =>
    (await get(`/readers?${query}`)).data.map(({ externalId }: { externalId: string }) => externalId)

  beforeAll(async () => {
    for (const [sub, name] of [
      ['user-1', 'Ann Lee'],
      ['user-2', 'José Álvarez'],
      ['USER-10', 'Anna Karenina'],
      ['gone', 'Ann Gone'],
    ] as const) {
      const headers = await service.as(sub, { name })
      const body = { body: 'text' }
      const path = '/discussions/by-external/readers/comments'
      expect((await service.call('POST', path, { body, headers })).status).toBe(201)
    }
    const { data } = await get('/readers?externalId=gone')
    expect((await service.call('DELETE', `/readers/${data[0].id}`)).status).toBe(204)
  })

  test.each([
    ['search=user-1', ['user-1', 'USER-10']],
    ['search=ann', ['USER-10', 'user-1']],
    ['search=lee%20ann', ['user-1']],
    ['search=jose', ['user-2']],
    ['search=gone', []],
    ['search=ann&externalId=user-1', ['user-1']],
    ['search=jose&externalId=user-1', []],
  ])('%s', async (query, expected) => {
    expect(await readers(query)).toEqual(expected)
  })

  test('pages without gaps', async () => {
    const first = await get('/readers?search=user&limit=2')
    const second = await get(`/readers?search=user&limit=2&cursor=${first.nextCursor}`)
    const ids = [...first.data, ...second.data].map(({ externalId }) => externalId)
    expect([ids, second.hasMore]).toEqual([['USER-10', 'user-2', 'user-1'], false])
  })

  test('pages without gaps after the reader with that external id', async () => {
    const first = await get('/readers?search=user-1&limit=1')
    const second = await get(`/readers?search=user-1&limit=1&cursor=${first.nextCursor}`)
    const ids = [...first.data, ...second.data].map(({ externalId }) => externalId)
    expect([ids, first.hasMore, second.hasMore]).toEqual([['user-1', 'USER-10'], true, false])
  })
})

describe.each(['/discussions', '/readers'])('a hostile search of %s', (path) => {
  const ask = async (search: string) => service.call('GET', `${path}?search=${encodeURIComponent(search)}`)

  test.each([
    ['nothing', '', 'too_short'],
    ['only white space', ' \t', 'too_short'],
    ['NUL', 'a\0b', 'invalid_character'],
    ['10 000 characters', 'a'.repeat(10_000), 'too_long'],
  ])('%s answers 422', async (_what, search, code) => {
    const { status, json } = await ask(search)
    expect([status, json.errors]).toEqual([422, [expect.objectContaining({ pointer: '/search', code })]])
  })

  const SYNTAX = [
    "'",
    '\\',
    ':*',
    '&',
    '|',
    '!',
    '<->',
    '(',
    ')',
    '%',
    '_',
    "''",
    "\\'",
    '"',
    ' ',
    'a',
    '\u0301',
    'ﷺ',
    '🙂',
    '日',
  ]

  test('any other search answers 200 or 422', async () => {
    const piece = fc.oneof(fc.constantFrom(...SYNTAX), fc.string({ unit: 'binary', maxLength: 8 }))
    const text = fc.oneof(
      fc.array(piece, { minLength: 1, maxLength: 40 }).map((pieces) => pieces.join('')),
      fc.constantFrom(...SYNTAX).map((part) => part.repeat(Math.floor(255 / part.length))),
    )
    await fc.assert(
      fc.asyncProperty(text, async (search) => {
        expect([200, 422]).toContain((await ask(search)).status)
      }),
      { numRuns: Number(process.env.FUZZ_RUNS ?? effort(100, 40)) },
    )
  })
})

test('any title can be stored and is found by itself', async () => {
  let n = 0
  const title = fc
    .string({ unit: 'binary', minLength: 1, maxLength: 120 })
    .map((text) => text.replaceAll('\0', ''))
    .filter((text) => text.isWellFormed())
  await fc.assert(
    fc.asyncProperty(title, async (text) => {
      const externalId = `any-${n++}`
      const body = { externalId, title: text }
      expect((await service.call('POST', '/discussions', { body })).status).toBe(201)
      // A text of separators alone has no words.
      if (!/[a-z0-9]/i.test(text)) return
      expect(await find(text.slice(0, 255), '&limit=100')).toContain(externalId)
    }),
    { numRuns: Number(process.env.FUZZ_RUNS ?? effort(100, 40)) },
  )
})

test.each([
  ['discussions', 'title', 'title'],
  ['readers', 'name, profile_issued_at', 'title, now()'],
] as const)('a search of %s goes by its index', async (table, columns, values) => {
  const { tenant } = await service.addTenant(`many-${table}`)
  const { query } = service.app.db
  const fill = `INSERT INTO ${table} (tenant_id, id, external_id, ${columns})
    SELECT $1, gen_random_uuid(), 'no-' || n, ${values} FROM generate_series(1, 3000) AS n, concat('number ', n) AS title`
  await query(unnamed(fill), [tenant.id])
  await query(unnamed(`ANALYZE ${table}`))
  const explain = `EXPLAIN SELECT id FROM ${searched(table, 'true', '$1', '$2::text')} ORDER BY id DESC LIMIT 21`
  const plan = await service.app.db.transaction(async (sql) => {
    // A table as small as this one may be read whole.
    await sql(unnamed('SET LOCAL enable_seqscan = off'))
    return sql(unnamed(explain), [tenant.id, 'number 77'])
  })
  expect(JSON.stringify(plan)).toContain(`${table}_search`)
})

test.each([
  ['discussions', '', 'title', 'title'],
  ['discussions', '&sort=active', 'title', 'title'],
  ['readers', '', 'name, profile_issued_at', 'title, now()'],
] as const)('/%s%s: what most match is found by looking at few', async (table, more, columns, values) => {
  const tenant = await service.addTenant(`most-${table}${more.slice(1, 5)}`)
  const headers = { 'x-api-key': tenant.apiKey }
  const fill = `INSERT INTO ${table} (tenant_id, id, external_id, ${columns})
    SELECT $1, ('01900000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 'no-' || n, ${values}
    FROM generate_series(1, 5000) AS n, concat('number ', n) AS title`
  await service.app.db.query(unnamed(fill), [tenant.tenant.id])
  const spy = vi.spyOn(service.app.db, 'query')
  const names = () => spy.mock.calls.map(([{ name }]) => name).filter((name) => /_found|_near|search_/.test(name))
  try {
    const many = await get(`/${table}?search=numb&limit=3${more}`, headers)
    expect(many.data.map(({ externalId }: { externalId: string }) => externalId)).toEqual([
      'no-5000',
      'no-4999',
      'no-4998',
    ])
    expect(names()).toEqual([expect.stringContaining('_near')])
    // Some of the few matches are near, and some further away.
    const few = await get(`/${table}?search=number%2044&limit=100${more}`, headers)
    const further = await get(`/${table}?search=number%2017&limit=100${more}`, headers)
    const found = [few, further].map(({ data, hasMore }) => [data.length, data.at(-1).externalId, hasMore])
    expect(found).toEqual([
      [100, 'no-4400', true],
      [100, 'no-1700', true],
    ])
  } finally {
    spy.mockRestore()
  }
})
