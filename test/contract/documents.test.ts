import { createHash } from 'node:crypto'

import { ApolloClient, InMemoryCache } from '@apollo/client'
import { createPersistedQueryLink } from '@apollo/client/link/persisted-queries'
import { parse } from 'graphql'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'

import { engagementLink } from '../../src/clients/graphql/apollo.ts'
import { createGraphqlClient } from '../../src/clients/graphql/client.ts'
import { newId } from '../../src/core/ids.ts'
import { addDocumentsOf } from '../../src/domains/documents/documents.ts'
import { refusalIn } from '../harness/refusal.ts'
import { useService } from '../harness/service.ts'

const service = useService()

beforeAll(async () => {
  await service.ok('POST', '/discussions/by-external/page/comments', { body: 'Hello' }, await service.as('ann'))
})

const hexOf = (text: string, algorithm = 'sha256'): string => createHash(algorithm).update(text).digest('hex')
const idOf = (text: string): string => `sha256:${hexOf(text)}`

/** Documents that differ from each other, all valid. */
let count = 0
const newDocument = (): string => `query Number${++count} { discussions(first: 1) { edges { node { externalId } } } }`

const add = (manifest: unknown, headers: Record<string, string> = {}) =>
  service.call('POST', '/documents', { body: { manifest }, headers })

interface Asked {
  path?: string
  headers?: Record<string, string>
}

const post = async (body: object, { path = '/graphql', headers = {} }: Asked = {}) => {
  const response = await fetch(service.url + path, {
    method: 'POST',
    headers: {
      'x-api-key': service.apiKey,
      'content-type': 'application/json',
      accept: path === '/graphql' ? 'application/graphql-response+json' : 'text/event-stream',
      ...headers,
    },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  return { status: response.status, text, json: text.startsWith('{') ? JSON.parse(text) : null }
}

const get = (query: Record<string, string>, headers: Record<string, string> = {}, path = '/graphql') =>
  fetch(`${service.url}${path}?${String(new URLSearchParams(query))}`, {
    headers: { 'x-api-key': service.apiKey, accept: 'application/json', ...headers },
  })

const isSound = (): null => null

const FOUND = { data: { discussions: { edges: [{ node: { externalId: 'page' } }] } } }

describe('a manifest', () => {
  const forms: [string, (texts: readonly string[]) => { manifest: object; ids: string[] }][] = [
    [
      "of Apollo's tool",
      (texts) => ({
        manifest: {
          format: 'apollo-persisted-query-manifest',
          version: 1,
          operations: texts.map((body) => ({ id: hexOf(body), body, name: 'Name', type: 'query' })),
        },
        ids: texts.map((body) => hexOf(body)),
      }),
    ],
    [
      "of Relay's compiler",
      (texts) => ({
        manifest: Object.fromEntries(texts.map((body) => [hexOf(body, 'md5'), body])),
        ids: texts.map((body) => hexOf(body, 'md5')),
      }),
    ],
    [
      "of graphql-codegen's client preset",
      (texts) => ({
        manifest: Object.fromEntries(texts.map((body) => [hexOf(body, 'sha1'), body])),
        ids: texts.map((body) => hexOf(body, 'sha1')),
      }),
    ],
  ]

  test.each(forms)('%s: its documents run by its ids and by their SHA-256', async (_name, make) => {
    const texts = [newDocument(), newDocument()]
    const { manifest, ids } = make(texts)
    const added = await add(manifest)
    expect(added.status, added.text).toBe(200)
    expect(added.json.data.map((each: { documentId: string }) => each.documentId)).toEqual(texts.map(idOf))
    for (const documentId of [...ids, ...texts.map(idOf)]) {
      expect(await post({ documentId })).toMatchObject({ status: 200, json: FOUND })
    }
    // Again: nothing changes.
    expect((await add(manifest)).json).toEqual(added.json)
  })

  test('is taken whole or not at all', async () => {
    const [fine, wrong] = [newDocument(), '{ nothing }']
    const refused = await add({ a1: fine, a2: wrong })
    expect(refused).toMatchObject({ status: 422, json: { errors: [{ pointer: '/manifest/a2' }] } })
    expect(await post({ documentId: idOf(fine) })).toMatchObject({ status: 404 })
  })

  test.each<[string, (text: string) => unknown, string]>([
    ['no object', () => [], '/manifest'],
    ['a number instead of a text', () => ({ a: 1 }), '/manifest/a'],
    ['a document that does not parse', () => ({ a: '{' }), '/manifest/a'],
    ['a text of 20 001 characters', (text) => ({ a: text + ' '.repeat(20_000) }), '/manifest/a'],
    ['a text of 5 001 lines', (text) => ({ a: text + '\n'.repeat(5000) }), '/manifest/a'],
    ['a deep document', () => ({ a: `${'{a'.repeat(60)}${'}'.repeat(60)}` }), '/manifest/a'],
    [
      'an id that JavaScript objects have',
      (text) => JSON.parse(`{"__proto__":${JSON.stringify(text)}}`),
      '/manifest/__proto__',
    ],
    [
      '101 ids of one text',
      (text) => Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`id-${n}`, text])),
      '/manifest/id-0',
    ],
    ['an id with a space', (text) => ({ 'a b': text }), '/manifest/a b'],
    ['an id of a reserved prefix', (text) => ({ 'md5:abc': text }), '/manifest/md5:abc'],
    ['a SHA-256 of another text', (text) => ({ [idOf('{ a }')]: text }), `/manifest/${idOf('{ a }')}`],
    [
      'another version',
      () => ({ format: 'apollo-persisted-query-manifest', version: 2, operations: [] }),
      '/manifest/version',
    ],
  ])('with %s is refused', async (_name, make, pointer) => {
    const refused = await add(make(newDocument()))
    expect(refused, refused.text).toMatchObject({ status: 422, json: { code: 'validation_failed' } })
    expect(refused.json.errors[0].pointer).toBe(pointer)
  })

  test('of an earlier release may have brought a text of 5 001 lines, which runs by its id alone', async () => {
    const body = newDocument() + '\n'.repeat(5000)
    await service.app.prisma.document.create({ data: { tenantId: service.tenant.id, id: idOf(body), body } })
    expect(await post({ documentId: idOf(body) })).toMatchObject({ status: 200, json: FOUND })
    expect(await post({ query: body })).toMatchObject({ status: 422 })
  })

  test('leaves others their turns while it is checked', async () => {
    const entries = Array.from({ length: 20 }, (_, n) => ({ id: `slow${n}`, body: newDocument() }))
    let turns = 0
    let seen = 0
    let isOver = false
    const turn = (): void => {
      turns++
      if (!isOver) setImmediate(turn)
    }
    // Each check takes 10 ms by the clock of this process.
    let tookMs = 0
    const now = performance.now.bind(performance)
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + tookMs)
    const slow = (): string => {
      tookMs += 10
      seen = turns
      return 'is wrong'
    }
    turn()
    const adding = addDocumentsOf(service.app, service.tenant.id, entries, slow, () => Promise.resolve())
    await expect(adding).rejects.toMatchObject({ code: 'validation_failed' })
    isOver = true
    clock.mockRestore()
    expect(seen).toBeGreaterThan(5)
  })

  test('is checked where the tenant does not have its text, up to the twentieth fault', async () => {
    const texts = Array.from({ length: 30 }, () => newDocument())
    const known = texts.slice(0, 5)
    const addBy = (bodies: readonly string[], check: (body: string) => string | null) =>
      addDocumentsOf(
        service.app,
        service.tenant.id,
        bodies.map((body, n) => ({ id: `${hexOf(body)}-${n}`, body })),
        check,
        () => Promise.resolve(),
      )
    await addBy(known, () => null)
    const checked: string[] = []
    const refuse = (body: string): string => {
      checked.push(body)
      return 'is wrong'
    }
    await expect(addBy(texts, refuse)).rejects.toMatchObject({ code: 'validation_failed' })
    expect(checked).toEqual(texts.slice(5, 25))
    // A text under two ids is checked once.
    checked.length = 0
    const twice = newDocument()
    await addBy([twice, twice], (body) => (checked.push(body), null))
    expect(checked).toEqual([twice])
  })

  test('of more than 5 000 documents is refused before its texts are looked at', async () => {
    const many = Object.fromEntries(Array.from({ length: 5001 }, (_, n) => [`id ${n}`, 1]))
    const apollo = { format: 'apollo-persisted-query-manifest', version: 1, operations: Object.values(many) }
    for (const manifest of [many, apollo]) {
      const { status, json } = await add(manifest)
      expect(status).toBe(422)
      expect(json.errors).toEqual([
        { pointer: '/manifest', code: 'too_long', message: 'must have at most 5000 documents' },
      ])
    }
  })

  test('comes once in a request, whatever its alias', async () => {
    const [one, other] = [newDocument(), newDocument()]
    const { json } = await post({
      query: `mutation ($a: AddDocumentsInput!, $b: AddDocumentsInput!) {
        a: addDocuments(input: $a) { documents { body } } b: addDocuments(input: $b) { documents { body } }
      }`,
      variables: { a: { manifest: { a: one } }, b: { manifest: { b: other } } },
    })
    expect(json.data).toEqual({ a: { documents: [{ body: one }] }, b: null })
    expect(json.errors[0].extensions.errors).toMatchObject([{ pointer: '/manifest', code: 'repeated' }])
    expect(await post({ documentId: idOf(other) })).toMatchObject({ status: 404 })
  })

  test('another text under one id is a conflict, and changes nothing', async () => {
    const [first, second] = [newDocument(), newDocument()]
    await add({ mine: first })
    expect(await add({ mine: second })).toMatchObject({ status: 409, json: { code: 'document_conflict' } })
    expect(await post({ documentId: idOf(second) })).toMatchObject({ status: 404 })
    // Case and white space make another id or another text.
    expect((await add({ Mine: second })).status).toBe(200)
    expect(await add({ mine: `${first} ` })).toMatchObject({ status: 409 })
  })

  test('two at a time give an id to one text', async () => {
    const texts = Array.from({ length: 8 }, newDocument)
    const answers = await Promise.all(texts.map((text) => add({ 'x-race:1': text })))
    expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([
      200,
      ...Array.from({ length: 7 }, () => 409),
    ])
  })

  test('needs manage_settings', async () => {
    const { headers } = await service.newKey()
    expect(await add({ a: newDocument() }, headers)).toMatchObject({ status: 403 })
    expect((await service.call('GET', '/documents', { headers })).status).toBe(403)
    expect((await service.call('DELETE', '/documents/a', { headers })).status).toBe(403)
  })
})

describe('a document', () => {
  test('with a UUID as its id is found and deleted by it in any case, and lists it in lower case', async () => {
    const [upper, mixed] = [newId().toUpperCase(), `A${newId().slice(1)}`]
    const text = newDocument()
    const added = await add({ [upper]: text, [mixed]: text })
    expect(added.json.data[0].aliases.sort()).toEqual([upper, mixed].map((id) => id.toLowerCase()).sort())
    for (const documentId of [upper, upper.toLowerCase(), mixed]) {
      expect(await post({ documentId })).toMatchObject({ status: 200, json: FOUND })
    }
    expect(await add({ [upper.toLowerCase()]: newDocument() })).toMatchObject({ status: 409 })
    expect((await service.call('DELETE', `/documents/${upper}`)).status).toBe(204)
    expect((await service.call('DELETE', `/documents/${upper}`)).status).toBe(404)
  })

  test('with a UUID in upper case, as an earlier release stored it, is found and deleted by it', async () => {
    const [text, alias] = [newDocument(), newId().toUpperCase()]
    await addDocumentsOf(service.app, service.tenant.id, [{ id: alias, body: text }], isSound, () => Promise.resolve())
    expect(await post({ documentId: alias })).toMatchObject({ status: 200, json: FOUND })
    expect((await service.call('DELETE', `/documents/${alias}`)).status).toBe(204)
  })

  test('keeps at most 100 further ids, whatever manifests bring them', async () => {
    const text = newDocument()
    const named = (from: number, to: number) =>
      Object.fromEntries(Array.from({ length: to - from }, (_, n) => [`many-${from + n}`, text]))
    expect((await add(named(0, 60))).status).toBe(200)
    expect((await add(named(0, 100))).json.data[0].aliases).toHaveLength(100)
    const refused = await add(named(99, 101))
    expect(refused).toMatchObject({
      status: 422,
      json: { errors: [{ pointer: '/manifest/many-99', code: 'too_long' }] },
    })
    expect(await post({ documentId: 'many-100' })).toMatchObject({ status: 404 })
    expect((await add(named(5, 80))).status).toBe(200)
  })

  test('is listed, page by page, and deleted with all its ids within 5 s', async () => {
    const text = newDocument()
    await add({ 'to-delete': text, 'to-delete-2': text })
    expect(await post({ documentId: 'to-delete' })).toMatchObject({ status: 200 })
    const listed: { documentId: string; aliases: string[]; body: string }[] = []
    for (let cursor: string | null = ''; cursor !== null;) {
      const page = await service.ok('GET', `/documents?limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`)
      listed.push(...page.data)
      cursor = page.nextCursor
    }
    expect(new Set(listed.map(({ documentId }) => documentId)).size).toBe(listed.length)
    const found = listed.find(({ documentId }) => documentId === idOf(text))
    expect(found).toMatchObject({ aliases: ['to-delete', 'to-delete-2'], body: text })
    expect((await service.call('DELETE', '/documents/to-delete-2')).status).toBe(204)
    for (const documentId of ['to-delete', 'to-delete-2', idOf(text)]) {
      expect(await post({ documentId })).toMatchObject({ status: 404 })
    }
    for (const name of ['to-delete', '%00', 'a'.repeat(300)])
      expect((await service.call('DELETE', `/documents/${name}`)).status).toBe(404)
    const audit = await service.call('GET', '/audit-log?limit=1')
    expect(audit.json.data[0]).toMatchObject({ action: 'document.delete', before: { documentId: idOf(text) } })
  })

  test("of another tenant is unknown, by each of its ids; a conflict is a tenant's own", async () => {
    const other = await service.addTenant('others-documents')
    const text = newDocument()
    await add({ 'of-one': text })
    const headers = { 'x-api-key': other.apiKey }
    for (const documentId of ['of-one', idOf(text)]) {
      expect(await post({ documentId }, { headers })).toMatchObject({ status: 404 })
      expect((await service.call('DELETE', `/documents/${documentId}`, { headers })).status).toBe(404)
    }
    expect((await add({ 'of-one': newDocument() }, headers)).status).toBe(200)
    expect(await post({ documentId: 'of-one' })).toMatchObject({ status: 200 })
  })

  test('that is not known is refused with the code unknown_document', async () => {
    const text = newDocument()
    for (const documentId of [idOf(text), '', ' ', 'a'.repeat(300), idOf(text).toUpperCase(), '\0', "' OR 1=1"]) {
      const refused = await post({ documentId })
      expect([documentId, refused.status, refusalIn(refused.json).code]).toEqual([documentId, 404, 'unknown_document'])
    }
  })

  test('takes variables and an operation name', async () => {
    const text = 'query A($n: Int) { discussions(first: $n) { edges { cursor } } } query B { __typename }'
    await add({ two: text })
    const both = [
      await post({ documentId: 'two', operationName: 'B' }),
      await post({ documentId: 'two', operationName: 'A', variables: { n: 1 } }),
    ]
    expect(both).toMatchObject([{ json: { data: { __typename: 'Query' } } }, { status: 200 }])
    expect(await post({ documentId: 'two', operationName: 'A', variables: { n: 'x' } })).toMatchObject({ status: 422 })
  })

  test('without credentials is a question of credentials', async () => {
    const refused = await post({ documentId: 'two' }, { headers: { 'x-api-key': '' } })
    expect(refusalIn(refused.json)).toMatchObject({ status: 401, code: 'missing_credentials' })
  })

  test('runs at /graphql/stream too, by POST and GET', async () => {
    const text = newDocument()
    await add({ streamed: text })
    const byPost = await post({ documentId: 'streamed' }, { path: '/graphql/stream' })
    const byGet = async (query: string) => {
      const headers = { 'x-api-key': service.apiKey, accept: 'text/event-stream' }
      return (await fetch(`${service.url}/graphql/stream?${query}`, { headers })).text()
    }
    const hash = JSON.stringify({ persistedQuery: { version: 1, sha256Hash: hexOf(text) } })
    const byHash = await byGet(`extensions=${encodeURIComponent(hash)}`)
    for (const text_ of [byPost.text, await byGet('documentId=streamed'), byHash])
      expect(text_).toContain('"externalId":"page"')
  })

  test('with its text must be that text', async () => {
    const [text, other] = [newDocument(), newDocument()]
    expect(await post({ documentId: idOf(text), query: text })).toMatchObject({ status: 200 })
    expect(await post({ documentId: idOf(other), query: text })).toMatchObject({ status: 422 })
  })
})

describe('GET with documentId', () => {
  test('is a page that its client keeps, as those of REST', async () => {
    await add({ page: '{ discussion(by: { externalId: "page" }) { comments { edges { node { body } } } } }' })
    const first = await get({ documentId: 'page' })
    const rest = await service.call('GET', '/discussions/by-external/page/comments')
    const names = ['cache-control', 'etag', 'vary']
    expect(names.map((name) => first.headers.has(name))).toEqual(names.map((name) => rest.headers.has(name)))
    expect(first.headers.get('cache-control')).toBe(rest.headers.get('cache-control'))
    expect(await first.json()).toMatchObject({
      data: { discussion: { comments: { edges: [{ node: { body: 'Hello' } }] } } },
    })
    const known = { 'if-none-match': first.headers.get('etag') ?? '' }
    const again = await get({ documentId: 'page' }, known)
    expect([again.status, await again.text()]).toEqual([304, ''])
    await service.ok('POST', '/discussions/by-external/page/comments', { body: 'New' }, await service.as('ann'))
    expect((await get({ documentId: 'page' }, known)).status).toBe(200)
  })

  test('runs no mutation', async () => {
    await add({ change: 'mutation { createDiscussion(input: { externalId: "got" }) { discussion { id } } }' })
    expect((await get({ documentId: 'change' })).status).toBe(405)
    const events = { accept: 'text/event-stream' }
    expect((await get({ documentId: 'change' }, events, '/graphql/stream')).status).toBe(405)
    expect((await service.call('GET', '/discussions/by-external/got')).status).toBe(404)
  })

  test('an error is not kept', async () => {
    await add({ missing: '{ comment(id: "x") { id } }' })
    expect((await get({ documentId: 'missing' })).headers.get('etag')).toBeNull()
  })
})

describe("Apollo's persisted queries", () => {
  const persisted = (text: string) => ({ extensions: { persistedQuery: { version: 1, sha256Hash: hexOf(text) } } })

  // Apollo's client for iOS sends the text only after a 200.
  test.each([
    ['application/json', 200, 'application/json'],
    ['*/*', 200, 'application/json'],
    ['application/json, application/graphql-response+json;q=0.9', 200, 'application/json'],
    ['application/graphql-response+json', 404, 'application/graphql-response+json'],
    ['application/graphql-response+json, application/json;q=0.9', 404, 'application/graphql-response+json'],
  ])('that are unknown to a client that accepts %s: %i', async (accept, status, type) => {
    const sent = persisted(newDocument())
    const extensions = JSON.stringify(sent.extensions)
    expect((await post(sent, { headers: { accept } })).status).toBe(status)
    const answer = await get({ extensions }, { accept })
    expect([answer.status, answer.headers.get('content-type')]).toEqual([status, `${type}; charset=utf-8`])
    expect(await answer.json()).toMatchObject({
      errors: [{ message: 'PersistedQueryNotFound', extensions: { code: 'unknown_document', status: 404 } }],
    })
  })

  test('are not found, then sent, then found', async () => {
    const query = newDocument()
    expect((await post(persisted(query))).json.errors).toHaveLength(1)
    expect(await post({ query, ...persisted(query) })).toMatchObject({ status: 200, json: FOUND })
    expect(await post(persisted(query))).toMatchObject({ status: 200, json: FOUND })
    // As urql's default sends it.
    const byGet = await get({ extensions: JSON.stringify(persisted(query).extensions) })
    expect(await byGet.json()).toMatchObject(FOUND)
  })

  test("of a subscription are found in the same way by Apollo's link", async () => {
    const variables = { id: (await service.call('GET', '/discussions/by-external/page')).json.id }
    const sent: string[] = []
    const client = createGraphqlClient({
      url: `${service.url}/graphql`,
      headers: { 'x-api-key': service.apiKey },
      fetch: (url, options) => {
        sent.push(Object.keys(JSON.parse(options?.body as string) as object).includes('query') ? 'text' : 'hash')
        return fetch(url, options)
      },
    })
    const link = createPersistedQueryLink({ sha256: hexOf }).concat(engagementLink(client))
    const apollo = new ApolloClient({ link, cache: new InMemoryCache() })
    const query = parse(
      'subscription Live($id: ID!) { discussionEvents(discussionId: $id, lastEventId: "0") { seq type } }',
    )
    for (let n = 0; n < 2; n++) {
      const results: unknown[] = []
      const live = apollo.subscribe({ query, variables }).subscribe(({ data }) => results.push(data))
      await vi.waitFor(() =>
        expect(results[0]).toMatchObject({ discussionEvents: { seq: 1, type: 'comment_created' } }),
      )
      live.unsubscribe()
    }
    expect(sent).toEqual(['hash', 'text', 'hash'])
  })

  test('of a stream that others share are refused by a status', async () => {
    const headers = { 'x-api-key': service.apiKey, 'content-type': 'application/json', accept: 'text/event-stream' }
    const body = JSON.stringify(persisted(newDocument()))
    const ask = (more: object) =>
      fetch(`${service.url}/graphql/stream`, { method: 'POST', headers: { ...headers, ...more }, body })
    const alone = await ask({})
    expect([alone.status, await alone.text()]).toEqual([
      200,
      expect.stringMatching(/^event: next\n.*PersistedQueryNotFound.*\n\nevent: complete\n/),
    ])
    for (const more of [{ 'x-graphql-event-stream-token': 'any' }, { accept: 'application/json' }])
      expect((await ask(more)).status).toBe(404)
  })

  test('are not those of another tenant', async () => {
    const other = await service.addTenant('others-queries')
    const query = newDocument()
    await post({ query, ...persisted(query) })
    expect(await post(persisted(query), { headers: { 'x-api-key': other.apiKey } })).toMatchObject({ status: 404 })
  })

  test('keep no text that is longer than a kept document', async () => {
    const [short, long] = [19_000, 21_000].map((length) => `${newDocument()} #${'x'.repeat(length)}`)
    for (const query of [short, long] as string[]) expect((await post({ query, ...persisted(query) })).status).toBe(200)
    expect(await post(persisted(short as string))).toMatchObject({ status: 200, json: FOUND })
    expect(await post(persisted(long as string))).toMatchObject({ status: 404 })
  })

  test('keep no text by a hash that is not its own, whatever id stands beside it', async () => {
    const sha256Hash = hexOf(newDocument())
    const extensions = { persistedQuery: { version: 1, sha256Hash } }
    const query = newDocument()
    for (const documentId of ['x', '', idOf(query), `sha256:${sha256Hash}`]) {
      const sent = await post({ query, documentId, extensions })
      const asked = await post({ extensions })
      expect(refusalIn(asked.json), documentId).toMatchObject({ code: 'unknown_document' })
      expect(refusalIn(sent.json), documentId).toMatchObject({ status: 422 })
    }
  })

  test("run by a manifest's id in the same place", async () => {
    await add({ 'relay-like': newDocument() })
    const extensions = { persistedQuery: { version: 1, sha256Hash: 'relay-like' } }
    expect(await post({ extensions })).toMatchObject({ status: 200, json: FOUND })
  })

  test.each([
    ['a hash of another text', { version: 1, sha256Hash: hexOf('{ a }') }],
    ['another version', { version: 2, sha256Hash: hexOf('{ a }') }],
    ['no hash', { version: 1 }],
    ['a text', 'abc'],
  ])('with %s are refused', async (_name, persistedQuery) => {
    const refused = await post({ query: newDocument(), extensions: { persistedQuery } })
    expect(refusalIn(refused.json)).toMatchObject({ status: 422, errors: [{ pointer: '/extensions/persistedQuery' }] })
  })
})

describe('with graphql.documents = known', () => {
  let browser: Record<string, string>

  beforeAll(async () => {
    await service.ok('PATCH', '/settings', { graphql: { documents: 'known' } })
    const minted = await service.call('POST', '/client-tokens', { body: {}, headers: await service.as('ann') })
    browser = { 'x-api-key': '', authorization: `Bearer ${minted.json.token}` }
  })
  afterAll(() => service.call('PATCH', '/settings', { body: { graphql: { documents: 'any' } } }))

  const QUERY = 'query Known { viewer { externalId } }'
  const KNOWN = { data: { viewer: { externalId: 'ann' } } }

  test('a client token runs known documents, by their ids or as their texts', async () => {
    await add({ viewer: QUERY })
    for (const body of [{ documentId: 'viewer' }, { documentId: idOf(QUERY) }, { query: QUERY }]) {
      expect(await post(body, { headers: browser })).toMatchObject({ status: 200, json: KNOWN })
    }
  })

  test.each([
    ['another query', '{ viewer { id } }'],
    ['a known one with a space more', `${QUERY} `],
    ['a known one in another case', QUERY.replace('Known', 'known')],
    ['the schema', '{ __schema { types { name } } }'],
    ['a mutation', 'mutation { createComment(input: { externalId: "page", body: "x" }) { comment { id } } }'],
  ])('but not %s', async (_name, query) => {
    const persistedQuery = { version: 1, sha256Hash: hexOf(query) }
    // A key has run it before: that makes it known to nobody.
    await post({ query, extensions: { persistedQuery } })
    for (const path of ['/graphql', '/graphql/stream']) {
      for (const body of [{ query }, { query, extensions: { persistedQuery } }, { extensions: { persistedQuery } }]) {
        const refused = await post(body, { path, headers: browser })
        const result: unknown = JSON.parse(/^data: (.+)$/m.exec(refused.text)?.[1] ?? refused.text)
        expect(refusalIn(result), refused.text).toMatchObject({ status: 404, code: 'unknown_document' })
      }
    }
    expect((await get({ query }, browser)).status).toBe(404)
    expect((await get({ query }, { ...browser, accept: 'text/event-stream' }, '/graphql/stream')).status).toBe(404)
  })

  test('a key runs every document', async () => {
    expect(await post({ query: newDocument() })).toMatchObject({ status: 200, json: FOUND })
  })
})
