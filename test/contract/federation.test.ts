import {
  buildSchema,
  getNamedType,
  GraphQLObjectType,
  isObjectType,
  isRequiredArgument,
  print,
  type ObjectTypeDefinitionNode,
} from 'graphql'
import { beforeAll, describe, expect, test } from 'vitest'

import { schema } from '../../src/api/execution/schema.ts'
import { newId } from '../../src/core/ids.ts'
import { type Headers, type TestTenant, useKey, useService } from '../harness/service.ts'
import { statementsOf } from '../harness/statements.ts'

const service = useService()
let other: TestTenant
/** Of a key without capabilities, and a key of another tenant with all. */
const plain = useKey(service)
let foreign: Headers

beforeAll(async () => {
  other = await service.addTenant('other')
  foreign = { 'x-api-key': other.apiKey }
})

async function post(page: string, as = 'ann', body = 'Text') {
  const path = `/discussions/by-external/${page}/comments`
  return service.ok('POST', path, { body }, await service.as(as))
}

async function clientToken(): Promise<Headers> {
  const { json } = await service.call('POST', '/client-tokens', { body: {} })
  return { authorization: `Bearer ${json.token}` }
}

describe('GET /graphql/sdl', () => {
  const read = (headers: Headers) => service.call('GET', '/../../graphql/sdl', { headers })

  // What a library for subgraphs would define.
  const FEDERATION = `
    directive @link(url: String!, import: [String]) repeatable on SCHEMA
    directive @key(fields: String!) repeatable on OBJECT
    directive @shareable on OBJECT`

  test('is a subgraph of Federation 2, whose entities have their keys', async () => {
    const { status, headers, text } = await read(plain)
    expect([status, headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8'])
    expect(text).toMatch(/^extend schema @link\(url: "https:\/\/specs\.apollo\.dev\/federation\/v2\.\d+", import: \[/)
    const subgraph = buildSchema(`${FEDERATION} ${text}`)
    const keys = Object.values(subgraph.getTypeMap()).flatMap((type) => {
      const { directives = [] } = (type.astNode ?? {}) as Partial<ObjectTypeDefinitionNode>
      return isObjectType(type) && directives.length > 0 ? [[type.name, directives.map(print).join(' ')]] : []
    })
    expect(Object.fromEntries(keys)).toEqual({
      Comment: '@key(fields: "id")',
      Discussion: '@key(fields: "externalId") @key(fields: "id")',
      Reader: '@key(fields: "externalId") @key(fields: "id")',
      PageInfo: '@shareable',
    })
  })

  test('has what its entities lead to, and no root fields that another subgraph may have too', async () => {
    const subgraph = buildSchema(`${FEDERATION} ${(await read(plain)).text}`)
    for (const root of [subgraph.getQueryType(), subgraph.getMutationType(), subgraph.getSubscriptionType()])
      expect(root ?? null).toBeNull()
    const fieldsIn = (of: typeof schema, name: string) =>
      Object.keys((of.getType(name) as GraphQLObjectType).getFields()).toSorted()
    for (const name of ['Comment', 'Discussion', 'Reader', 'CommentConnection', 'ReactionGroup'])
      expect(fieldsIn(subgraph, name), name).toEqual(fieldsIn(schema, name))
    expect(
      Object.keys(subgraph.getTypeMap()).filter((name) => /^_[^_]|^(Query|Mutation|Settings)$/.test(name)),
    ).toEqual([])
  })

  test('is the same as _service, and is not sent again to who has it', async () => {
    const { text, headers } = await read(plain)
    const { json } = await service.graphql('{ _service { sdl } }', {}, plain)
    expect(json.data._service.sdl).toBe(text)
    expect((await read({ ...plain, 'if-none-match': headers.get('etag') ?? '' })).status).toBe(304)
  })

  test('needs a key: a client token opens neither it nor _service', async () => {
    expect(await read({ 'x-api-key': '' })).toMatchObject({ status: 401, json: { code: 'missing_credentials' } })
    const token = await clientToken()
    expect(await read(token)).toMatchObject({ status: 401, json: { code: 'invalid_admin_token' } })
    const { json, status } = await service.graphql('{ _service { sdl } }', {}, token)
    expect([status, json.data, json.errors[0].extensions.code]).toEqual([403, null, 'missing_capability'])
  })
})

const ENTITIES = `query ($representations: [_Any!]!) { _entities(representations: $representations) {
  __typename ... on Comment { id body } ... on Discussion { id externalId } ... on Reader { id externalId name } } }`

type Representation = Record<string, unknown>

const ask = (representations: readonly unknown[], headers: Headers = plain) =>
  service.graphql(ENTITIES, { representations }, headers)

/** The types and ids of what is found. */
async function found(representations: readonly Representation[], headers: Headers = plain) {
  const { json, text } = await ask(representations, headers)
  expect(json.errors, text).toBeUndefined()
  const entities = json.data._entities as ({ __typename: string; id: string } | null)[]
  return entities.map((entity) => entity && [entity.__typename, entity.id])
}

describe('_entities', () => {
  test('come by each of their keys, in the order of the request, with null for what is not found', async () => {
    const { id, discussionId, author } = await post('order', 'ann')
    // What is asked three times is compiled.
    for (let n = 0; n < 4; n++) {
      expect(
        await found([
          { __typename: 'Reader', externalId: 'ann' },
          { __typename: 'Discussion', externalId: 'order' },
          { __typename: 'Discussion', externalId: '' },
          { __typename: 'Comment', id },
          { __typename: 'Discussion', id: discussionId },
          { __typename: 'Reader', id: author.id },
          { __typename: 'Reader', externalId: 'nobody' },
          { __typename: 'Discussion', externalId: 'order' },
          // Of another type.
          { __typename: 'Comment', id: discussionId },
          { __typename: 'Reader', id },
        ]),
      ).toEqual([
        ['Reader', author.id],
        ['Discussion', discussionId],
        null,
        ['Comment', id],
        ['Discussion', discussionId],
        ['Reader', author.id],
        null,
        ['Discussion', discussionId],
        null,
        null,
      ])
    }
    expect(await found([])).toEqual([])
  })

  test('come by literals, as a person writes them', async () => {
    const { discussionId } = await post('literal')
    const query = `{ _entities(representations: [{ __typename: "Discussion", externalId: "literal" }]) { ... on Discussion { id } } }`
    expect((await service.graphql(query, {}, plain)).json.data._entities).toEqual([{ id: discussionId }])
  })

  test('follow former external ids of a page, and of a reader who was merged', async () => {
    const { discussionId } = await post('before', 'former')
    const { author } = await post('before', 'stays')
    await service.call('PATCH', `/discussions/${discussionId}`, { body: { externalId: 'after' } })
    const former = await found([{ __typename: 'Reader', externalId: 'former' }])
    await service.ok('POST', `/readers/${former[0]?.[1]}/merge`, { into: author.id })
    expect(
      await found([
        { __typename: 'Discussion', externalId: 'before' },
        { __typename: 'Reader', externalId: 'former' },
      ]),
    ).toEqual([
      ['Discussion', discussionId],
      ['Reader', author.id],
    ])
  })

  test('an id counts where both keys are given', async () => {
    const { discussionId } = await post('first')
    await post('second')
    expect(await found([{ __typename: 'Discussion', id: discussionId, externalId: 'second' }])).toEqual([
      ['Discussion', discussionId],
    ])
  })

  test('are by the rules of the queries of their types: what may not be seen is null', async () => {
    const { id, author } = await post('held', 'hidden')
    await service.call('POST', `/comments/${id}/reject`)
    const asked = [
      { __typename: 'Comment', id },
      { __typename: 'Reader', externalId: 'hidden' },
      { __typename: 'Reader', id: author.id },
    ]
    expect(await found(asked)).toEqual([null, null, null])
    const seen = [
      ['Comment', id],
      ['Reader', author.id],
      ['Reader', author.id],
    ]
    expect(await found(asked, {})).toEqual(seen)
    expect(await found(asked, { ...plain, ...(await service.as('hidden')) })).toEqual(seen)
  })

  test('of another tenant are not found, by no key', async () => {
    const { id, discussionId, author } = await post('theirs', 'their-reader')
    expect(
      await found(
        [
          { __typename: 'Comment', id },
          { __typename: 'Discussion', id: discussionId },
          { __typename: 'Reader', id: author.id },
          { __typename: 'Reader', externalId: 'their-reader' },
        ],
        foreign,
      ),
    ).toEqual([null, null, null, null])
  })

  test('a client token resolves none', async () => {
    const { json, status } = await ask([{ __typename: 'Discussion', externalId: 'order' }], await clientToken())
    expect([status, json.data, json.errors[0].extensions.code]).toEqual([403, null, 'missing_capability'])
  })

  test('a refusal has its status, not that of a partial answer', async () => {
    const body = { query: ENTITIES, variables: { representations: [] } }
    const accept = 'application/graphql-response+json'
    const refused = await service.call('POST', '/../../graphql', {
      headers: { ...(await clientToken()), accept },
      body,
    })
    expect([refused.status, refused.json.data]).toEqual([403, null])
  })

  test('cost the same statements, however many they are', async () => {
    const made: Awaited<ReturnType<typeof post>>[] = []
    for (let n = 0; n < 6; n++) made.push(await post(`many-${n}`, `writer-${n}`))
    const statementsFor = async (asked: Representation[]): Promise<string[]> => {
      const { result, statements } = await statementsOf(service, () => found(asked))
      expect(result.filter(Boolean)).toHaveLength(asked.length)
      return statements.toSorted()
    }
    const KINDS: ((n: number) => Representation)[] = [
      (n) => ({ __typename: 'Comment', id: made[n]?.id }),
      (n) => ({ __typename: 'Discussion', id: made[n]?.discussionId }),
      (n) => ({ __typename: 'Discussion', externalId: `many-${n}` }),
      (n) => ({ __typename: 'Reader', externalId: `writer-${n}` }),
    ]
    for (const representation of KINDS) {
      const one = await statementsFor([representation(0)])
      expect(one.length).toBeLessThanOrEqual(3)
      expect(await statementsFor([1, 2, 3, 4, 5].map(representation))).toEqual(one)
    }
  })
})

describe('a page without comments', () => {
  const EMPTY = `query ($representations: [_Any!]!) { _entities(representations: $representations) { ... on Discussion {
    id externalId title url state commentCount lastEventId createdAt updatedAt lastCommentedAt
    comments(first: 5) { nodes { id } edges { node { id } } pageInfo { hasNextPage endCursor } } } } }`
  const empty = async (externalIds: readonly string[], headers = plain) => {
    const representations = externalIds.map((externalId) => ({ __typename: 'Discussion', externalId }))
    const { json, text } = await service.graphql(EMPTY, { representations }, headers)
    expect(json.errors, text).toBeUndefined()
    return json.data._entities as { id: string; externalId: string }[]
  }

  test('is a discussion with no comments, and with all that the schema says is there', async () => {
    const made = await service.call('GET', '/discussions?limit=100')
    const [one, two, again] = await empty(['none-1', 'none-2', 'none-1'])
    expect(one).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/),
      externalId: 'none-1',
      title: null,
      url: null,
      state: 'open',
      commentCount: 0,
      lastEventId: '0',
      createdAt: '1970-01-01T00:00:00.000Z',
      updatedAt: '1970-01-01T00:00:00.000Z',
      lastCommentedAt: null,
      comments: { nodes: [], edges: [], pageInfo: { hasNextPage: false, endCursor: null } },
    })
    expect(again).toEqual(one)
    expect(two?.id).not.toBe(one?.id)
    // Of another tenant, whose page has comments, it is as empty.
    await post('theirs-alone')
    expect((await empty(['theirs-alone'], foreign))[0]).toMatchObject({ externalId: 'theirs-alone', commentCount: 0 })
    // Reading makes no discussion, and its id leads to none.
    expect((await service.call('GET', '/discussions?limit=100')).json.data).toHaveLength(made.json.data.length + 1)
    expect(await found([{ __typename: 'Discussion', id: one?.id }])).toEqual([null])
  })

  test.each(['', '\0', 'x'.repeat(513)])('%j is no page', async (externalId) => {
    expect(await found([{ __typename: 'Discussion', externalId }])).toEqual([null])
  })

  test('answers each field of a discussion', async () => {
    const type = schema.getType('Discussion') as GraphQLObjectType
    const leaves = Object.values(type.getFields()).flatMap((field) => {
      const isPlain = field.args.every((arg) => !isRequiredArgument(arg))
      const selection = getNamedType(field.type) instanceof GraphQLObjectType ? ' { __typename }' : ''
      return isPlain ? [field.name + selection] : []
    })
    expect(leaves.length).toBeGreaterThan(12)
    const query = `query ($r: [_Any!]!) { _entities(representations: $r) { ... on Discussion { ${leaves.join(' ')} } } }`
    const { json } = await service.graphql(query, { r: [{ __typename: 'Discussion', externalId: 'none-3' }] }, {})
    expect(json.errors).toBeUndefined()
    expect(json.data._entities).toHaveLength(1)
  })
})

describe('a representation that names no entity fails alone, at its place', () => {
  const EACH: readonly (readonly [string, unknown, string])[] = [
    ['without a type', { externalId: 'order' }, '/representations/1/__typename'],
    ['of an unknown type', { __typename: 'Article', id: 'x' }, '/representations/1/__typename'],
    ['of a type that is no entity', { __typename: 'Tenant', id: newId() }, '/representations/1/__typename'],
    ['of a name of prototypes', { __typename: 'constructor', id: newId() }, '/representations/1/__typename'],
    ['of a type that is no text', { __typename: ['Comment'], id: newId() }, '/representations/1/__typename'],
    ['without a key', { __typename: 'Discussion' }, '/representations/1'],
    ['with keys that are null', { __typename: 'Reader', id: null, externalId: null }, '/representations/1'],
    ['with a key of other types', { __typename: 'Comment', externalId: 'order' }, '/representations/1'],
    [
      'with a key of a prototype',
      JSON.parse('{"__typename":"Discussion","__proto__":{"id":"x"}}'),
      '/representations/1',
    ],
    ['with a number', { __typename: 'Discussion', externalId: 1 }, '/representations/1/externalId'],
    ['with an object', { __typename: 'Discussion', id: {} }, '/representations/1/id'],
    ['that are a text', 'Discussion', '/representations/1'],
    ['that are a list', [], '/representations/1'],
  ]
  test.each(EACH)('%s', async (_name, representation, pointer) => {
    const good = { __typename: 'Discussion', externalId: 'order' }
    // What is asked three times is compiled.
    for (let n = 0; n < 4; n++) {
      const { json, status } = await ask([good, representation, good])
      expect(status).toBe(200)
      const shown = expect.objectContaining({ externalId: 'order' })
      expect(json.data._entities).toEqual([shown, null, shown])
      expect(json.errors).toHaveLength(1)
      expect(json.errors[0]).toMatchObject({
        path: ['_entities', 1],
        extensions: { code: 'validation_failed', errors: [{ pointer }] },
      })
    }
  })

  test('null is refused by GraphQL, and texts that nothing has are found nowhere', async () => {
    expect((await ask([null])).json.errors[0].extensions.errors).toMatchObject([
      { pointer: '/variables/representations/0', code: 'wrong_type' },
    ])
    const none = ['', '\0', 'x'.repeat(10_000), '\ud800', '%', newId()]
    const asked = none.flatMap((text) => [
      { __typename: 'Discussion', id: text },
      { __typename: 'Reader', externalId: text },
      { __typename: 'Comment', id: text },
    ])
    expect((await found(asked)).filter(Boolean)).toEqual([])
  })
})

describe('limits of _entities', () => {
  const page = (n: number): Representation => ({ __typename: 'Discussion', externalId: `page-${n}` })
  const pages = (count: number): Representation[] => Array.from({ length: count }, (_each, n) => page(n))

  test('1 000 are answered, and one more is refused', async () => {
    await post('page-7')
    expect((await found(pages(1000))).filter(Boolean)).toHaveLength(1000)
    for (const count of [1001, 3000]) {
      expect((await ask(pages(count))).json.errors[0].extensions.errors).toMatchObject([
        { pointer: expect.stringMatching(/\/representations$/), code: 'too_long' },
      ])
    }
    const { status } = await ask(pages(10_000))
    expect(status).toBe(413)
  })

  test('they count in the cost of the document by their number, under each alias', async () => {
    const fields = 'id title url state commentCount'
    const one = `_entities(representations: $r) { ... on Discussion { ${fields} } }`
    const query = (aliases: number) =>
      `query ($r: [_Any!]!) { ${Array.from({ length: aliases }, (_each, n) => `a${n}: ${one}`).join(' ')} }`
    const codeOf = async (aliases: number, count: number): Promise<unknown> => {
      const { json } = await service.graphql(query(aliases), { r: pages(count) }, plain)
      return json.errors?.[0].extensions.errors[0].code
    }
    expect(await codeOf(1, 1000)).toBeUndefined()
    expect(await codeOf(10, 10)).toBeUndefined()
    expect(await codeOf(10, 1000)).toBe('too_costly')
    const lists = `query ($r: [_Any!]!) { _entities(representations: $r) { ... on Discussion { comments(first: 50) { nodes { id body } } } } }`
    const { json } = await service.graphql(lists, { r: pages(200) }, plain)
    expect(json.errors[0].extensions.errors).toMatchObject([{ code: 'too_costly' }])
  })

  test('an answer that would be too long is refused', async () => {
    const ids: string[] = []
    for (let n = 0; n < 30; n++) ids.push((await post('long', 'ann', `${n}${'<'.repeat(9900)}`)).id)
    const copies = Array.from({ length: 6 }, (_each, n) => `b${n}: bodyHtml`).join(' ')
    const query = `query ($r: [_Any!]!) { _entities(representations: $r) { ... on Comment { ${copies} } } }`
    const { json } = await service.graphql(query, { r: ids.map((id) => ({ __typename: 'Comment', id })) }, plain)
    expect(json.errors[0].extensions.errors).toMatchObject([{ pointer: '/representations', code: 'too_long' }])
  })
})
