import * as fc from 'fast-check'
import {
  buildSchema,
  coerceInputValue,
  type GraphQLInputType,
  OperationTypeNode,
  parse,
  parseType,
  typeFromAST,
} from 'graphql'
import { beforeAll, describe, expect, test } from 'vitest'

import { checkInput } from '../../src/api/execution/input.ts'
import { asksFor } from '../../src/api/execution/params.ts'
import { refusalIn } from '../harness/refusal.ts'
import { useService } from '../harness/service.ts'

const service = useService()

beforeAll(async () => {
  await service.call('POST', '/discussions', { body: { externalId: 'a' } })
})

interface Sent {
  status: number
  text: string
  /** Of a problem document, or of the errors of an answer. */
  refusals: { status: number; code: string; errors?: { pointer: string; message: string }[] }[]
}

const FORMS = [
  ['/graphql', 'application/json'],
  ['/graphql', 'application/graphql-response+json'],
  ['/graphql/stream', 'text/event-stream'],
] as const

async function send(path: string, accept: string, body: string, headers: Record<string, string> = {}): Promise<Sent> {
  const response = await fetch(service.url + path, {
    method: 'POST',
    headers: { 'x-api-key': service.apiKey, 'content-type': 'application/json', accept, ...headers },
    body,
  })
  const text = await response.text()
  return { status: response.status, text, refusals: refusalsOf(text) }
}

function refusalsOf(text: string): Sent['refusals'] {
  const json = text.startsWith('{') ? text : (/^event: next\ndata: (.*)$/m.exec(text)?.[1] ?? '{}')
  const answer = JSON.parse(json) as { code?: string; errors?: { extensions: Sent['refusals'][0] }[] }
  return answer.code === undefined
    ? (answer.errors ?? []).map(({ extensions }) => extensions)
    : [answer as unknown as Sent['refusals'][0]]
}

/** What the libraries say of requests, each in its own way. Of documents graphql-js speaks. */
const THEIRS =
  /got invalid value|of required type|Unknown operation|Must provide|Could not determine|Unable to detect|Unparsable|Missing query|Invalid (query|variables|input)|Stream (already|not)|Operation (ID|with)/

const VARIABLE = 'query ($e: String!) { discussion(by: { externalId: $e }) { id } }'
const LIST = 'mutation ($i: ModerateCommentsInput!) { moderateComments(input: $i) { outcomes { ok } } }'

/** Requests that GraphQL itself refuses: name, document, where, and the rest of the request. */
const REFUSED: readonly (readonly [string, string, string, { variables?: object; operationName?: string }?])[] = [
  ['no document', '{ a(', '/query'],
  ['an empty one', '', '/query'],
  ['a text without an end', '{ a(b: "', '/query'],
  ['a definition of a type', '{ __typename } type A { b: Int }', '/query'],
  ['two operations of one name', 'query A { __typename } query A { __typename }', '/query', { operationName: 'A' }],
  [
    'an operation without a name beside another',
    '{ __typename } query A { __typename }',
    '/query',
    { operationName: 'A' },
  ],
  ['no operation', 'type A { b: Int }', '/'],
  ['an unknown field', '{ discusion { id } }', '/query'],
  ['an unknown field of a type', '{ discussion(by: { externalId: "a" }) { title2 } }', '/query'],
  ['an unknown type', 'query ($a: Nothing) { __typename }', '/query'],
  ['a fragment on a scalar', '{ ...F } fragment F on String { length }', '/query'],
  ['a variable of an output type', 'query ($a: Comment) { __typename }', '/query'],
  ['an object without fields', '{ discussion(by: { externalId: "a" }) }', '/query'],
  ['fields of a scalar', '{ __typename { a } }', '/query'],
  ['an unknown fragment', '{ ...F }', '/query'],
  ['a fragment that is not used', '{ __typename } fragment F on Query { __typename }', '/query'],
  ['a fragment out of place', '{ ...F } fragment F on Comment { id }', '/query'],
  [
    'two fragments of one name',
    '{ ...F } fragment F on Query { __typename } fragment F on Query { __typename }',
    '/query',
  ],
  ['a fragment in itself', '{ ...F } fragment F on Query { ...F }', '/query'],
  ['a variable twice', 'query ($a: Int, $a: Int) { discussions(first: $a) { edges { cursor } } }', '/query'],
  ['a variable that is not declared in the document', '{ discussions(first: $a) { edges { cursor } } }', '/query'],
  ['a variable that is not used', 'query ($a: Int) { __typename }', '/query'],
  ['an unknown directive', '{ __typename @nothing }', '/query'],
  ['a directive twice', '{ __typename @skip(if: true) @skip(if: true) }', '/query'],
  ['an unknown argument', '{ discussions(frist: 1) { edges { cursor } } }', '/query'],
  ['an argument twice', '{ discussions(first: 1, first: 1) { edges { cursor } } }', '/query'],
  ['a wrong literal', '{ discussions(first: "1") { edges { cursor } } }', '/query'],
  ['a deep literal', `{ discussions(first: ${'['.repeat(48)}1${']'.repeat(48)}) { edges { cursor } } }`, '/query'],
  ['a literal out of range', '{ discussions(first: 99999999999) { edges { cursor } } }', '/query'],
  ['a wrong enum', '{ discussions(sort: newst) { edges { cursor } } }', '/query'],
  ['a missing argument', 'mutation { createComment { comment { id } } }', '/query'],
  [
    'an unknown field of an input',
    'mutation { createDiscussion(input: { externalId: "a", x: 1 }) { discussion { id } } }',
    '/query',
  ],
  [
    'a field of an input twice',
    'mutation { createDiscussion(input: { externalId: "a", externalId: "b" }) { discussion { id } } }',
    '/query',
  ],
  ['a variable out of place', 'query ($a: String) { discussions(first: $a) { edges { cursor } } }', '/query'],
  [
    'fields in conflict',
    '{ a: discussions(first: 1) { edges { cursor } } a: discussions(first: 2) { edges { cursor } } }',
    '/query',
  ],
  ['a thousand unknown fields', `{ ${Array.from({ length: 900 }, (_, n) => `a${n}`).join(' ')} }`, '/query'],
  ['no operation of several chosen', 'query A { __typename } query B { __typename }', '/operationName'],
  ['an unknown operation', 'query A { __typename }', '/operationName', { operationName: 'B' }],
  ['a missing variable', VARIABLE, '/variables/e'],
  ['a variable that is null', VARIABLE, '/variables/e', { variables: { e: null } }],
  ['a variable of the wrong type', VARIABLE, '/variables/e', { variables: { e: [1] } }],
  ['an input without a field', LIST, '/variables/i/action', { variables: { i: { ids: [] } } }],
  [
    'an input with an unknown field',
    LIST,
    '/variables/i/x',
    { variables: { i: { ids: [], action: 'approve', x: 1 } } },
  ],
  [
    'an entry of the wrong type',
    LIST,
    '/variables/i/ids/1',
    { variables: { i: { ids: ['a', {}], action: 'approve' } } },
  ],
  ['an enum of the wrong name', LIST, '/variables/i/action', { variables: { i: { ids: [], action: 'aprove' } } }],
]

/** A stream has begun, with its error as its only event. Clients that accept JSON alone get 200. */
function statusFor(accept: string, query: string): number {
  if (accept !== 'application/graphql-response+json') return 200
  try {
    parse(query)
    return 422
  } catch {
    return 400
  }
}

describe.each(FORMS)('%s as %s refuses with a pointer, and shows no words of the transport', (path, accept) => {
  test.each(REFUSED.map((each) => [each[0], each] as const))('%s', async (_name, [, query, pointer, others]) => {
    const { status, text, refusals } = await send(path, accept, JSON.stringify({ query, ...others }))
    expect(refusals.length, text).toBeGreaterThan(0)
    for (const refusal of refusals) {
      expect(refusal, text).toMatchObject({ status: 422, code: 'validation_failed' })
      expect(refusal.errors?.map((error) => error.pointer).join(' '), text).toContain(pointer)
    }
    expect(text).not.toMatch(THEIRS)
    expect(status).toBe(statusFor(accept, query))
  })
})

test('a subscription with two fields is refused on paths that could answer it', async () => {
  const query = 'subscription { moderationQueueChanged { pending } b: moderationQueueChanged { pending } }'
  for (const path of ['/graphql', '/graphql/stream']) {
    const { text, refusals } = await send(path, 'text/event-stream', JSON.stringify({ query }))
    expect(refusals, text).toMatchObject([{ status: 422, errors: [{ pointer: '/query' }] }])
    expect(text).not.toMatch(THEIRS)
  }
})

test.each([
  ['{ discusion { id } }', 'Cannot query field "discusion" on type "Query". Did you mean "discussion"'],
  ['{ a(', 'Syntax Error: Expected Name, found <EOF>.'],
  [
    '{ auditLog(from: "today") { nodes { id } } }',
    'Expected value of type "DateTime", found "today"; It must be an RFC 3339 date and time.',
  ],
  [
    'query ($a: ID) { discussion(by: { id: $a }) { id } }',
    'Variable "$a" must be non-nullable to be used for OneOf Input Object "DiscussionBy".',
  ],
])("%s is refused in graphql-js's own words", async (query, message) => {
  const { text } = await send('/graphql', 'application/json', JSON.stringify({ query }))
  const [error] = (JSON.parse(text) as { errors: { message: string; extensions: { errors: object[] } }[] }).errors
  expect(error?.message).toContain(message)
  expect(error?.extensions.errors).toEqual([{ pointer: '/query', code: 'invalid', message: error?.message }])
})

test('a message quotes 500 characters at most', async () => {
  const query = `query ${'a'.repeat(100_000)}($a: Int, $b: Int) { __typename }`
  const { text } = await send('/graphql', 'application/json', JSON.stringify({ query }))
  expect(text.length).toBeLessThan(4000)
})

test('a wrong variable gets the same error from the fifth request of a document as from the first', async () => {
  const query = 'query ($e: ID = "a") { comment(id: $e) { id } }'
  for (let n = 0; n < 5; n++) {
    const { status, text, refusals } = await send(
      '/graphql',
      'application/json',
      JSON.stringify({ query, variables: { e: null } }),
    )
    expect(refusals, text).toMatchObject([{ status: 422, code: 'validation_failed' }])
    expect(status).toBe(200)
    expect(text).not.toMatch(THEIRS)
  }
})

describe('JSON nested 100 000 deep is refused before anything recurses over it', () => {
  const DEEP = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
  const OBJECTS = `${'{"a":'.repeat(40_000)}1${'}'.repeat(40_000)}`
  const SUBSCRIPTION = 'subscription { moderationQueueChanged { pending } }'

  test.each(FORMS)('in a request to %s as %s', async (path, accept) => {
    for (const query of ['{ __typename }', SUBSCRIPTION]) {
      for (const deep of [DEEP, OBJECTS]) {
        for (const name of ['variables', 'extensions']) {
          const body = `{"query":${JSON.stringify(query)},"${name}":{"a":${deep}}}`
          const { status, refusals } = await send(path, accept, body)
          expect([status, refusals]).toMatchObject([
            422,
            [{ code: 'validation_failed', errors: [{ code: 'too_deep' }] }],
          ])
        }
      }
    }
  })

  test('on a reserved stream', async () => {
    const key = { 'x-api-key': service.apiKey }
    const token = await (await fetch(`${service.url}/graphql/stream`, { method: 'PUT', headers: key })).text()
    const body = `{"query":"{ __typename }","extensions":{"operationId":"1"},"variables":{"a":${DEEP}}}`
    const sent = await send('/graphql/stream', 'application/json', body, { 'x-graphql-event-stream-token': token })
    expect(sent).toMatchObject({ status: 422, refusals: [{ errors: [{ code: 'too_deep' }] }] })
  })

  test('in the address of a stream', async () => {
    const deep = `{"a":${'['.repeat(1000)}${']'.repeat(1000)}}`
    for (const name of ['variables', 'extensions']) {
      const query = new URLSearchParams({ query: SUBSCRIPTION, [name]: deep })
      const headers = { 'x-api-key': service.apiKey, accept: 'text/event-stream' }
      const response = await fetch(`${service.url}/graphql/stream?${query}`, { headers })
      expect(response.status).toBe(422)
      expect(await response.json()).toMatchObject({ code: 'validation_failed', errors: [{ pointer: `/${name}` }] })
    }
  })

  test.each([
    ['POST', '/discussions', 'externalId'],
    ['POST', '/discussions', 'surprise'],
    ['PATCH', '/settings', 'bannedWords'],
    ['POST', '/webhooks', 'policy'],
    ['POST', '/comments/bulk', 'ids'],
  ])('in %s %s: %s', async (method, path, name) => {
    for (const deep of [DEEP, OBJECTS]) {
      const { status, json } = await service.call(method, path, { body: `{"${name}":${deep}}` })
      expect([status, json]).toMatchObject([422, { code: 'validation_failed', errors: [{ code: 'too_deep' }] }])
    }
  })

  const named = (body: string) => service.call('POST', '/discussions', { body })
  test.each([
    '{"externalId":"a","externalId":"b"}',
    '{"externalId":"a","external\\u0049d":"b"}',
    '{"externalId":"a","x":[{"__proto__":1,"__proto__":2}]}',
  ])('a name twice in one object is 400 malformed_json: %s', async (body) => {
    expect(await named(body)).toMatchObject({ status: 400, json: { code: 'malformed_json' } })
  })

  test('in the query string of a GET, too', async () => {
    const address = `${service.url}/graphql?query={__typename}&variables={"a":1,"a":2}`
    const refused = await fetch(address, { headers: { 'x-api-key': service.apiKey } })
    expect(refused.status).toBe(422)
    expect(refusalIn(await refused.json()).errors).toMatchObject([{ pointer: '/variables', code: 'wrong_type' }])
  })

  test('a name in several objects, and one with a colon, are taken', async () => {
    const { status } = await named('{"externalId":"a:b\\"c:d","title":"\\\\","url":null}')
    expect(status).toBe(201)
    const query =
      'query ($a: DiscussionBy!, $b: DiscussionBy!) { a: discussion(by: $a) { id } b: discussion(by: $b) { id } }'
    const { json } = await service.graphql(query, { a: { externalId: 'a' }, b: { externalId: 'a' } })
    expect(json.errors).toBeUndefined()
  })

  test('brackets in a text do not count as nesting', async () => {
    const body = '[{"'.repeat(60)
    expect(await service.ok('POST', '/discussions', { externalId: 'brackets', title: body })).toMatchObject({
      title: body,
    })
  })
})

test('a body with a hundred thousand wrong values gets a short answer', async () => {
  const { status, text } = await service.call('POST', '/comments/bulk', {
    body: { ids: Array.from({ length: 100_000 }, () => 1), action: 'approve' },
  })
  expect(status).toBe(422)
  expect(text.length).toBeLessThan(10_000)
})

test('a text that cannot be parsed counts as no operation', () => {
  const ctx = { app: service.app, requestId: '', address: null, caller: null }
  expect(asksFor(ctx, { query: 'mutation {' }, OperationTypeNode.MUTATION)).toBe(false)
})

describe('variables are taken and refused as GraphQL coerces them', () => {
  const types = buildSchema(`enum E { A B } input I { a: Int! b: [I!] c: E d: ID = "x" } type Query { a(i: I): Int }`)
  const VALUES = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom(null, true, 0, 1, 1.5, 2 ** 31, 'A', 'x', '1', 1e300),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd', 'x', '__proto__'), tie('value'), { maxKeys: 3 }),
    ),
  })).value

  test.each(['Int', 'Int!', '[Int]', '[[Int!]]!', 'String', 'Boolean', 'ID', '[ID!]', 'E', '[E!]', 'I', '[I!]!'])(
    '%s',
    (text) => {
      const type = typeFromAST(types, parseType(text) as never) as GraphQLInputType
      fc.assert(
        fc.property(VALUES, (value) => {
          let errors = 0
          coerceInputValue(value, type, () => errors++)
          expect(checkInput(type, value, { coerces: true }).length > 0).toBe(errors > 0)
        }),
        { numRuns: 300 },
      )
    },
  )
})

test('the documents above can be parsed, except those without a syntax tree', () => {
  const unparsable = REFUSED.filter(([, query]) => {
    try {
      parse(query)
      return false
    } catch {
      return true
    }
  })
  expect(unparsable).toHaveLength(3)
})
