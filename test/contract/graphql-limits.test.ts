import { newId } from '../../src/core/ids.ts'
import { describe, expect, test, vi } from 'vitest'
import { getIntrospectionQuery, Kind, Lexer, parse, print } from 'graphql'

import { costErrors } from '../../src/api/execution/cost.ts'
import { folding } from '../../src/graphql/documents/fold.ts'
import { documentErrors } from '../../src/graphql/documents/rules.ts'
import { schema } from '../../src/api/execution/schema.ts'
import { refusalIn } from '../harness/refusal.ts'
import { DESCRIBED_ROUTES } from '../harness/routes.ts'
import { startOwn, useService } from '../harness/service.ts'

const PATHS = ['/graphql', '/graphql/stream'] as const

const service = useService()
const closed = useService({ env: { NODE_ENV: 'production', EMBEDDED: 'true' } })

interface Sent {
  status: number
  /** Errors in either form: of GraphQL, or of a problem document. */
  code: string
  pointers: unknown
  text: string
}

const acceptOf = (path: string): string => (path === '/graphql' ? 'application/json' : 'text/event-stream')

async function send(path: string, query: string, variables: object = {}, to = service): Promise<Sent> {
  const response = await fetch(to.url + path, {
    method: 'POST',
    headers: {
      'x-api-key': to.apiKey,
      'content-type': 'application/json',
      accept: acceptOf(path),
    },
    body: JSON.stringify({ query, variables }),
  })
  const text = await response.text()
  const json = text.startsWith('{') ? text : (/^event: next\ndata: (.*)$/m.exec(text)?.[1] ?? '{}')
  const answer = JSON.parse(json) as Record<string, unknown> & { errors?: { extensions?: Record<string, unknown> }[] }
  const problem = answer.code === undefined ? (answer.errors?.[0]?.extensions ?? {}) : answer
  return { status: Number(problem.status), code: String(problem.code), pointers: problem.errors, text }
}

const many = (count: number, make: (n: number) => string): string =>
  Array.from({ length: count }, (_, n) => make(n)).join(' ')
/** A connection of `depth` levels: the comments of the discussion of each comment, say. */
const nested = (depth: number): string => `{ ${'discussion { id '.repeat(depth)}${'}'.repeat(depth)} }`

const PAGES = (size: string): string =>
  `discussions(first: ${size}) { edges { node { comments(first: ${size}) { edges { node { id body } } } } } }`

/** What is refused, and by which rule. */
const HOSTILE: readonly [name: string, code: string, query: string, variables?: object][] = [
  ['deep', 'too_deep', `{ ${'a { '.repeat(30)} b ${'}'.repeat(30)} }`],
  ['deep by inline fragments', 'too_deep', `{ ${'a { ... { '.repeat(22)} b ${'} }'.repeat(22)} }`],
  [
    'deep by fragments',
    'too_deep',
    `{ ...F0 } ${many(30, (n) => `fragment F${n} on Query { a { ...F${n + 1} } }`)} fragment F30 on Query { b }`,
  ],
  ['deeper than the parser goes', 'too_deep', `{${'a{'.repeat(20_000)}b${'}'.repeat(20_000)}}`],
  ['of 65 537 characters', 'too_long', `{ __typename } #${'a'.repeat(65_537 - 16)}`],
  ['with 5 001 lines in a text', 'too_long', `{ node(id: """${'\r\n'.repeat(5000)}""") { id } }`],
  ['with 5 001 lines of comments', 'too_long', `{ __typename ${'#\r'.repeat(5000)} }`],
  ['wide', 'too_long', `{ ${many(5000, (n) => `a${n}`)} }`],
  ['with 31 aliases', 'too_many_aliases', `{ ${many(31, (n) => `a${n}: discussions { edges { cursor } }`)} }`],
  [
    'with aliases in a fragment',
    'too_many_aliases',
    `{ ...F } fragment F on Query { ${many(31, (n) => `a${n}: me { id }`)} }`,
  ],
  ['with 31 directives', 'too_many_directives', `{ __typename ${many(31, () => '@include(if: true)')} }`],
  ['with 1 000 unknown directives', 'too_many_directives', `{ __typename ${many(900, () => '@a')} }`],
  ['with the schema twice', 'too_many_introspections', `{ ${many(2, (n) => `a${n}: __schema { types { name } }`)} }`],
  ['with three types', 'too_many_introspections', `{ ${many(3, (n) => `a${n}: __type(name: "Query") { name }`)} }`],
  [
    'with an alias in the schema',
    'too_many_aliases',
    '{ __schema { types { ...F } } } fragment F on __Type { a: fields { name } }',
  ],
  [
    'with two exports of a reader',
    'too_many_aliases',
    '{ ...A b: readerExport(id: "b") { asOf } } fragment A on Query { a: readerExport(id: "a") { asOf } }',
  ],
  [
    'with a list of an export twice',
    'too_many_aliases',
    '{ readerExport(id: "a") { comments { id } c: comments { id } } }',
  ],
  [
    'with a text of an export twice',
    'too_many_aliases',
    '{ readerExport(id: "a") { comments { ...C } } } fragment C on ExportedComment { body b: body }',
  ],
  ['with fields of fields in the schema', 'too_deep', '{ __schema { types { fields { type { fields { name } } } } } }'],
  [
    'with values of arguments in the schema',
    'too_deep',
    '{ __schema { types { ...F } } } fragment F on __Type { fields { args { type { ofType { enumValues { name } } } } } }',
  ],
  [
    'with fields of fields of fields of a type',
    'too_deep',
    '{ __type(name: "Query") { fields { type { fields { type { enumValues { name } } } } } } }',
  ],
  ['with a field 101 times', 'too_many_repeats', `{ ${many(101, () => 'discussions { __typename }')} }`],
  [
    'with a field 101 times in fragments',
    'too_many_repeats',
    `{ ...A ...B } ${many(2, (n) => `fragment ${n === 0 ? 'A' : 'B'} on Query { ${many(51, () => 'me { id }')} }`)}`,
  ],
  [
    'with 101 spreads',
    'too_many_repeats',
    `{ ${many(101, (n) => `...F${n % 50}`)} } ${many(50, (n) => `fragment F${n} on Query { __typename }`)}`,
  ],
  ['with 51 operations', 'too_many_operations', many(51, (n) => `query Q${n} { __typename }`)],
  [
    'with 101 fragments',
    'too_many_fragments',
    `{ __typename } ${many(101, (n) => `fragment F${n} on Query { __typename }`)}`,
  ],
  ['with huge lists', 'too_costly', `{ ${PAGES('100')} }`],
  ['with huge lists by variables', 'too_costly', `query ($n: Int) { ${PAGES('$n')} }`, { n: 100 }],
  ['with huge lists by defaults of variables', 'too_costly', `query ($n: Int = 100) { ${PAGES('$n')} }`],
  ['with huge lists in fragments', 'too_costly', `{ ...F } fragment F on Query { ${PAGES('100')} }`],
  [
    'with lists in lists',
    'too_costly',
    `{ discussion(by: { id: "a" }) { comments(first: 30) { nodes { ${'replies(first: 30) { nodes { '.repeat(2)} id ${'} } '.repeat(2)} } } } }`,
  ],
  [
    'with lists under aliases in a fragment that lists spread',
    'too_costly',
    `{ discussions(first: 100) { nodes { ...F } } } fragment F on Discussion { ${many(5, (n) => `c${n}: comments(first: 50) { nodes { id } }`)} }`,
  ],
  [
    'with lists of each of many ids',
    'too_costly',
    `query ($ids: [ID!]!) { nodes(ids: $ids) { ... on Discussion { comments(first: 100) { nodes { id body } } } } }`,
    { ids: Array.from({ length: 100 }, () => 'a') },
  ],
  [
    'with lists whose argument is a limit',
    'too_costly',
    '{ discussions(first: 100) { nodes { authors(limit: 100) { id name } } } }',
  ],
  ['with many lists of the default size', 'too_costly', `{ ${many(30, (n) => `a${n}: ${PAGES('20')}`)} }`],
]

describe.each(PATHS)('%s refuses with 422 validation_failed a document', (path) => {
  test.each(HOSTILE)('%s: %s', async (_name, code, query, variables) => {
    const refused = await send(path, query, variables)
    expect(refused, refused.text.slice(0, 500)).toMatchObject({ status: 422, code: 'validation_failed' })
    expect(refused.pointers).toMatchObject([{ pointer: '/query', code }])
    expect(refused.text).not.toMatch(/Syntax Error|Query Cost|limit of/)
  })

  test.each([
    ['an array', '[{"query":"{ __typename }"},{"query":"{ __typename }"}]', ''],
    ['no object', '"{ __typename }"', ''],
    ['null', 'null', ''],
    ['no body', '', ''],
    ['no document', '{"operationName":"a"}', '/query'],
    ['a document that is no text', '{"query":1}', '/query'],
    ['variables that are a list', '{"query":"{ __typename }","variables":[]}', '/variables'],
    ['an operation name that is no text', '{"query":"{ __typename }","operationName":1}', '/operationName'],
  ])('in a request with %s', async (_name, body, pointer) => {
    const response = await fetch(service.url + path, {
      method: 'POST',
      headers: { 'x-api-key': service.apiKey, 'content-type': 'application/json', accept: acceptOf(path) },
      ...(body === '' ? {} : { body }),
    })
    expect(response.status).toBe(422)
    expect(refusalIn(await response.json())).toMatchObject({ code: 'validation_failed', errors: [{ pointer }] })
  })
})

test.each(['text/html', 'image/*', 'application/json;q=0', 'application/json;charset=latin1'])(
  'a mutation with Accept: %s does not run, nor keeps its Idempotency-Key',
  async (accept) => {
    const externalId = `for-${accept}`
    const query = `mutation { createDiscussion(input: { externalId: "${externalId}" }) { discussion { id } } }`
    const ask = (as: string, headers: Record<string, string> = {}) =>
      fetch(`${service.url}/graphql`, {
        method: 'POST',
        headers: { 'x-api-key': service.apiKey, 'content-type': 'application/json', accept: as, ...headers },
        body: JSON.stringify({ query }),
      })
    const key = { 'idempotency-key': accept }
    for (const headers of [{}, key]) {
      const refused = await ask(accept, headers)
      expect([refused.status, refusalIn(await refused.json()).code]).toEqual([406, 'not_acceptable'])
    }
    const path = `/discussions/by-external/${encodeURIComponent(externalId)}`
    expect((await service.call('GET', path)).status).toBe(404)
    const done = await ask('application/*', key)
    expect((await ask('')).status).toBe(200)
    expect([done.status, done.headers.get('idempotency-replayed')]).toEqual([200, null])
    expect((await service.call('GET', path)).status).toBe(200)
  },
)

describe('within the limits', () => {
  const errorsOf = (query: string, variables = {}) => {
    const document = parse(query)
    const asked = { operationName: null, variables }
    return [...documentErrors(schema, document, { introspection: true }), ...costErrors(schema, document, asked)]
  }

  test.each(DESCRIBED_ROUTES.map((described) => [described.title, described] as const))(
    'is the operation of %s, with the largest pages that it has',
    (_title, { route }) => {
      expect(errorsOf(print(route.document), { first: 100, replies: 3 })).toEqual([])
    },
  )

  test('is the introspection query of tools, such as GraphiQL, with all of its options', () => {
    const options = { descriptions: true, specifiedByUrl: true, directiveIsRepeatable: true, schemaDescription: true }
    const query = getIntrospectionQuery({ ...options, inputValueDeprecation: true, oneOf: true, typeDepth: 20 })
    expect(errorsOf(query)).toEqual([])
    expect(errorsOf('{ __type(name: "Comment") { fields { name type { enumValues { name } } } } }')).toEqual([])
  })

  test.each([
    [
      'a page of 100 with all that a comment has',
      `{ discussion(by: { externalId: "a" }) { comments(first: 100) { edges { cursor node { ${COMMENT()} } } } } }`,
    ],
    [
      'twenty discussions with twenty comments each',
      `{ discussions(first: 20) { edges { node { id comments(first: 20) { edges { node { id body author { name } } } } } } } }`,
    ],
    ['30 aliases', `{ ${many(30, (n) => `a${n}: discussion(by: { externalId: "a${n}" }) { commentCount }`)} }`],
    [nested(1), '{ me { tenant { id } } }'],
  ])('is %s', (_name, query) => {
    expect(errorsOf(query)).toEqual([])
  })

  test('is a cheap operation beside a dear one, and a query beside a subscription', () => {
    const errorsOfOne = (query: string, operationName: string) =>
      costErrors(schema, parse(query), { operationName, variables: {} }).map(({ message }) => message)
    const both = `query Dear { ${PAGES('100')} } query Cheap { discussions(first: 1) { nodes { id } } }`
    expect(errorsOfOne(both, 'Cheap')).toEqual([])
    expect(errorsOfOne(both, 'Dear')).toEqual([expect.stringContaining('must ask for at most 20000 values')])
    // An event may ask for a tenth of what a query may.
    const middling = `discussions(first: 30) { nodes { comments(first: 20) { nodes { id body } } } }`
    const live = `subscription Live { discussionEvents(by: { externalId: "a" }) { id } }`
    expect(errorsOfOne(`query Middling { ${middling} } ${live}`, 'Middling')).toEqual([])
  })

  test('values each node of a document once, however many operations spread its fragments', () => {
    const fragments = many(50, (n) => `fragment F${n} on Query { ...F${n + 1} ...F${n + 1} }`)
    const document = parse(
      `${many(50, (n) => `query Q${n} { ...F0 ...F1 }`)} ${fragments} fragment F50 on Query { me { id } }`,
    )
    let valued = 0
    const value = folding(schema, document, () => ++valued)
    for (const each of document.definitions) if (each.kind === Kind.OPERATION_DEFINITION) value(each)
    expect(valued).toBe(50 * 3 + 50 * 3 + 3)
  })

  test("counts a document by its variables' actual page sizes, not the largest possible", async () => {
    const query = `query ($n: Int) { ${PAGES('$n')} }`
    expect((await send('/graphql', query, { n: 5 })).text).toContain('"data"')
    expect((await send('/graphql', query, { n: 100 })).code).toBe('validation_failed')
    expect((await send('/graphql', query, { n: 5 })).text).toContain('"data"')
  })
})

test.each([
  ['/graphql', {}],
  ['/graphql/stream', {}],
  ['/graphql', { 'x-api-key': '' }],
])('a long document is read twice at %s: for its size, and to run it', async (path, headers) => {
  const query = `query A { __typename } # mutation subscription ${'a'.repeat(30_000)}
    ${many(40, (n) => `query Q${n} { __typename }`)}`
  const advance = vi.spyOn(Lexer.prototype, 'advance')
  const count = (): number => advance.mock.calls.splice(0).length
  parse(query)
  const once = count()
  const response = await fetch(service.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: acceptOf(path), 'x-api-key': service.apiKey, ...headers },
    body: JSON.stringify({ query, operationName: 'A' }),
  })
  expect(await response.text()).toContain('"__typename":"Query"')
  expect(once).toBeGreaterThan(200)
  expect(count()).toBeLessThan(2 * once + 10)
  advance.mockRestore()
})

describe('introspection', () => {
  test.each(['__schema { queryType { name } }', '__type(name: "Query") { name }'])(
    'takes eleven tokens of an address: %s',
    async (field) => {
      const env = { UNAUTHENTICATED_RATE_PER_SECOND: '0.001', UNAUTHENTICATED_RATE_BURST: '13' }
      const limited = await startOwn({ env })
      const ask = async (query: string) =>
        (
          await fetch(`${limited.url}/graphql`, {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify({ query }),
          })
        ).status
      const statuses: number[] = []
      for (const query of [`{ ${field} }`, '{ __typename } # __schema', '{ __typename }', '{ __typename }'])
        statuses.push(await ask(query))
      expect(statuses).toEqual([200, 200, 200, 429])
    },
  )

  const QUERY = '{ __schema { queryType { name } } }'

  test('is answered in development', async () => {
    for (const path of PATHS) expect((await send(path, QUERY)).text).toContain('"name":"Query"')
  })

  test.each(PATHS)('is refused in production at %s', async (path) => {
    for (const query of [QUERY, '{ __type(name: "Query") { name } }']) {
      expect(await send(path, query, {}, closed)).toMatchObject({ status: 422, code: 'validation_failed' })
    }
    expect((await send(path, '{ __typename }', {}, closed)).text).toContain('"__typename":"Query"')
  })

  test.each(PATHS)('is not leaked by refusals at %s: no name is suggested', async (path) => {
    const wrong: [string, object][] = [
      ['{ discusion(externalId: "a") { id } }', {}],
      ['{ discussion(externalID: "a") { id } }', {}],
      [
        'mutation ($i: CreateCommentInput!) { createComment(input: $i) { comment { id } } }',
        { i: { bodi: 'a', body: 'a' } },
      ],
      ['{ discussions(sort: activ) { edges { cursor } } }', {}],
    ]
    for (const [query, variables] of wrong) {
      const refused = await send(path, query, variables, closed)
      expect(refused.code).toBe('validation_failed')
      expect(refused.text).not.toContain('Did you mean')
    }
  })

  test('and GraphiQL have separate settings', async () => {
    const env = { GRAPHQL_INTROSPECTION: 'false', GRAPHIQL: 'true' }
    const half = await startOwn({ env })
    const page = await (await fetch(`${half.url}/graphql`, { headers: { accept: 'text/html' } })).text()
    const refused = await send('/graphql', QUERY, {}, half)
    expect(page).toContain('<html')
    const [, first = '""'] = /"defaultQuery":("(?:[^"\\]|\\.)*")/.exec(page) ?? []
    const comments = (JSON.parse(first) as string).split('\n').filter((line) => line.startsWith('#'))
    expect(comments).not.toEqual([])
    // The editor shows no more of a line on a screen of 1280 pixels.
    for (const line of comments) expect(line.length, line).toBeLessThan(30)
    expect(refused.code).toBe('validation_failed')
  })
})

describe('GET /graphql', () => {
  test.each(['application/json', 'text/html', '*/*'])('never runs a document, with Accept %s', async (accept) => {
    const query = encodeURIComponent(
      'mutation { createDiscussion(input: { externalId: "by-get" }) { discussion { id } } }',
    )
    const headers = { 'x-api-key': service.apiKey, accept }
    const response = await fetch(`${service.url}/graphql?query=${query}`, { headers })
    expect([200, 405]).toContain(response.status)
    expect((await service.call('GET', '/discussions/by-external/by-get')).status).toBe(404)
  })

  test('answers no page in production', async () => {
    const response = await fetch(`${closed.url}/graphql`, { headers: { accept: 'text/html' } })
    expect(response.status).toBe(422)
  })
})

describe('/graphql/stream refuses with the codes of the reference', () => {
  const call = async (
    method: string,
    headers: Record<string, string> = {},
    { query = '', body }: { query?: string; body?: string } = {},
  ) => {
    const response = await fetch(`${service.url}/graphql/stream${query}`, {
      method,
      headers: {
        'x-api-key': service.apiKey,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body }),
    })
    const text = await response.text()
    return { status: response.status, headers: response.headers, text, code: (/"code":"(\w+)"/.exec(text) ?? [])[1] }
  }
  const token = (value: string) => ({ 'x-graphql-event-stream-token': value })
  const events = { accept: 'text/event-stream' }
  const body = '{"query":"{ __typename }"}'
  const mutation = encodeURIComponent(
    'mutation { createDiscussion(input: { externalId: "by-get" }) { discussion { id } } }',
  )

  test('404 for an unknown stream', async () => {
    expect(await call('DELETE', token(`${service.tenant.id}.x`), { query: '?operationId=1' })).toMatchObject({
      status: 404,
      code: 'not_found',
    })
    expect(await call('POST', {}, { body })).toMatchObject({ status: 404, code: 'not_found' })
  })

  test('405 for a mutation by GET, which does not run, and for other methods', async () => {
    expect(await call('GET', events, { query: `?query=${mutation}` })).toMatchObject({
      status: 405,
      code: 'method_not_allowed',
    })
    expect((await service.call('GET', '/discussions/by-external/by-get')).status).toBe(404)
    expect(await call('PATCH', {}, { body })).toMatchObject({ status: 405, code: 'method_not_allowed' })
  })

  test('409 for a stream that is open already; a client that brings its token gets another one', async () => {
    const { text: reserved } = await call('PUT')
    const abort = new AbortController()
    const headers = { 'x-api-key': service.apiKey, ...events, ...token(reserved) }
    await fetch(`${service.url}/graphql/stream`, { headers, signal: abort.signal })
    expect(await call('GET', { ...events, ...token(reserved) })).toMatchObject({
      status: 409,
      code: 'invalid_transition',
    })
    const next = await call('PUT', token(reserved))
    expect(next.status).toBe(201)
    expect(next.text).not.toBe(reserved)
    abort.abort()
  })

  test('422 for an operation id over 255 characters on a reserved stream', async () => {
    const { text: reserved } = await call('PUT')
    const run = async (length: number) => {
      const extensions = { operationId: 'a'.repeat(length) }
      return call('POST', token(reserved), { body: JSON.stringify({ query: '{ __typename }', extensions }) })
    }
    expect(await run(256)).toMatchObject({ status: 422, code: 'validation_failed' })
    // No process has the stream open.
    expect((await run(255)).status).toBe(404)
  })

  test('422 for a document in the address that is too long, or missing', async () => {
    const query = `?query=${encodeURIComponent(`{ ${many(3000, () => 'a')} }`)}`
    expect(await call('GET', events, { query })).toMatchObject({ status: 422, code: 'validation_failed' })
    expect(await call('GET', events)).toMatchObject({ status: 422, code: 'validation_failed' })
    expect(await call('PUT', { accept: 'image/png' })).toMatchObject({ status: 406, code: 'not_acceptable' })
  })

  test('429 too_many_streams for shared connections over the cap; one that ends makes room', async () => {
    const other = await service.addTenant('reservations')
    const key = { 'x-api-key': other.apiKey }
    await service.ok('PATCH', '/settings', { stream: { maxStreams: 2 } }, key)
    const control = new AbortController()
    const open = async (signal?: AbortSignal): Promise<Response> => {
      const headers = { ...key, ...events, ...token((await call('PUT', key)).text) }
      return fetch(`${service.url}/graphql/stream`, { headers, ...(signal === undefined ? {} : { signal }) })
    }
    const opened = [await open(control.signal), await open()]
    expect(opened.map(({ status }) => status)).toEqual([200, 200])
    const refused = await open()
    expect(refused.status).toBe(429)
    expect(await refused.json()).toMatchObject({ code: 'too_many_streams' })
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    control.abort()
    const again = async (): Promise<number> => {
      const answer = await open()
      await answer.body?.cancel()
      return answer.status
    }
    await expect.poll(again, { timeout: 60_000 }).toBe(200)
    await opened[1]?.body?.cancel()
  })
})

function COMMENT(): string {
  return 'id discussionId parentId depth author { id externalId name avatarUrl profileUrl } body bodyHtml status pinnedAt editedAt deletedAt revision replyCount reactionCounts viewerReaction createdAt'
}

describe('what an operation costs', () => {
  const ask = async (query: string, { variables = {}, headers = {} } = {}) => {
    const answer = await service.graphql(query, variables, { 'x-service-cost': '1', ...headers })
    return answer.json.extensions?.cost
  }
  const PAGE = 'query ($n: Int) { discussions(first: $n) { nodes { id } } }'

  test('is told to who asks for it', async () => {
    expect(await ask('{ discussions(first: 10) { nodes { id } } }')).toEqual({ requested: 30, limit: 20_000 })
    expect(await ask(PAGE, { variables: { n: 10 } })).toEqual({ requested: 30, limit: 20_000 })
    expect(await ask(PAGE, { headers: { 'x-service-cost': '0' } })).toBeUndefined()
    expect((await service.graphql(PAGE)).json.extensions).toBeUndefined()
  })

  test('counts fragments, aliases and nested lists wherever they are spread', async () => {
    const fragment = 'fragment F on Discussion { comments(first: 10) { nodes { id body } } }'
    const [once, twice] = [
      await ask(`{ a: discussions(first: 10) { nodes { ...F } } } ${fragment}`),
      await ask(
        `{ a: discussions(first: 10) { nodes { ...F } } b: discussions(first: 10) { nodes { ...F } } } ${fragment}`,
      ),
    ]
    expect(once.requested).toBeGreaterThan(10 * 10 * 2)
    expect(twice.requested).toBeGreaterThanOrEqual(2 * once.requested - 2)
  })

  test('counts the operation that is meant', async () => {
    const query = `query A { __typename } ${PAGE.replace('query', 'query B')}`
    const response = await fetch(`${service.url}/graphql`, {
      method: 'POST',
      headers: { 'x-api-key': service.apiKey, 'content-type': 'application/json', 'x-service-cost': '1' },
      body: JSON.stringify({ query, operationName: 'A' }),
    })
    expect((await response.json()).extensions.cost.requested).toBe(1)
  })

  test('that is too much is told beside the limit', async () => {
    const page = 'comments(first: 100) { nodes { id } }'
    const { json } = await service.graphql(
      `{ discussions(first: 100) { nodes { ${page} } } }`,
      {},
      { 'x-service-cost': '1' },
    )
    expect(json.errors[0].message).toMatch(/at most 20000 values, not \d{5}/)
    expect(json.extensions.cost).toMatchObject({ limit: 20_000 })
    expect(json.errors[0].message).toContain(` ${json.extensions.cost.requested}:`)
  })

  test('of a subscription is that of each event, and has a lower limit', async () => {
    const FIELDS = 'id body bodyHtml status createdAt editedAt replyCount pinnedAt depth revision parentId discussionId'
    const refusedWith = async (fields: string): Promise<string | undefined> => {
      const query = `subscription { discussionEvents(discussionId: "${newId()}", lastEventId: "0") { seq data {
        ... on DiscussionEventData { discussion { comments(first: 100) { nodes { ${fields} } } } } } } }`
      const response = await fetch(`${service.url}/graphql/stream`, {
        method: 'POST',
        headers: { 'x-api-key': service.apiKey, 'content-type': 'application/json', accept: 'text/event-stream' },
        body: JSON.stringify({ query }),
      })
      return /at most \d+ values/.exec(await response.text())?.[0]
    }
    expect(await refusedWith(FIELDS)).toBeUndefined()
    expect(await refusedWith(`${FIELDS} author { id name avatarUrl profileUrl externalId } viewerReaction`)).toBe(
      'at most 2000 values',
    )
  })

  test('of a page of 50 comments with replies, reactions, authors and groups is well inside', async () => {
    await service.call('POST', '/discussions', { body: { externalId: 'a' } })
    const fields = `id body bodyHtml status createdAt editedAt replyCount author { id name avatarUrl }
      reactionGroups { type count viewerHasReacted } reactions(first: 3) { nodes { type reader { id name } } }`
    const query = `{ discussion(by: { externalId: "a" }) { id commentCount comments(first: 50) {
      pageInfo { endCursor hasNextPage } nodes { ${fields} replies(first: 3) { nodes { ${fields} } } } } } }`
    const { json } = await service.graphql(query, {}, { 'x-service-cost': '1' })
    expect(json.data).toEqual({ discussion: { id: expect.any(String), commentCount: 0, comments: expect.any(Object) } })
    expect(json.extensions.cost.requested).toBeGreaterThan(50 * 3)
    expect(json.extensions.cost.requested).toBeLessThan(json.extensions.cost.limit / 2)
  })
})
