import { type Audit, serverAudits } from 'graphql-http'
import { beforeAll, describe, expect, test } from 'vitest'

import { useService } from '../harness/service.ts'

const service = useService()

beforeAll(async () => {
  await service.call('POST', '/discussions', { body: { externalId: 'a' } })
})

const RESPONSE = 'application/graphql-response+json'
const JSON_ALONE = 'application/json'

/**
 * The package's check that is older than the standard of September 2026, which has 422 where a
 * variable does not fit, and 400 only for what does not parse.
 */
const OLDER: ReadonlySet<string> = new Set(['86EE'])

const audits: Audit[] = serverAudits({
  url: () => `${service.url}/graphql`,
  fetchFn: (url: string, init: RequestInit = {}) =>
    fetch(url, { ...init, headers: { ...(init.headers as object), 'x-api-key': service.apiKey } }),
})

describe('the audits of graphql-http', () => {
  test.each(audits.map((audit) => [audit.id, audit.name, audit] as const))('%s: %s', async (id, _name, audit) => {
    const { status, ...result } = await audit.fn()
    // A check of a MAY says `warn` at most.
    if (OLDER.has(id)) expect(status).not.toBe('ok')
    else expect(status, 'reason' in result ? result.reason : '').not.toBe('error')
    if (!OLDER.has(id) && /^(MUST|SHOULD)/.test(audit.name)) expect(status).toBe('ok')
  })
})

interface Asked {
  method?: 'GET' | 'POST'
  accept?: string
  type?: string | null
  body?: unknown
  query?: Record<string, string>
  headers?: Record<string, string>
}

async function ask({ method = 'POST', accept = RESPONSE, type = JSON_ALONE, body, query, headers }: Asked) {
  const search = query === undefined ? '' : `?${String(new URLSearchParams(query))}`
  const response = await fetch(`${service.url}/graphql${search}`, {
    method,
    headers: {
      'x-api-key': service.apiKey,
      ...(accept === '' ? {} : { accept }),
      ...(method === 'POST' && type !== null ? { 'content-type': type } : {}),
      ...headers,
    },
    ...(method === 'POST' ? { body: typeof body === 'string' ? body : JSON.stringify(body) } : {}),
  })
  const text = await response.text()
  return {
    status: response.status,
    type: response.headers.get('content-type'),
    allow: response.headers.get('allow'),
    json: JSON.parse(text) as { data?: unknown; errors?: { message: string; extensions: { code: string } }[] },
  }
}

const FINE = '{ discussions { nodes: edges { cursor } } }'
const MIXED = '{ discussions { edges { cursor } } comment(id: "x") { id } }'
const PARAMS = 'query Named($first: Int) { discussions(first: $first) { edges { cursor } } }'

type Case = [what: string, asked: Asked, status: number, hasData: boolean]

/** The standard's MUSTs and SHOULDs for a server, by section. */
const STANDARD: Record<string, Case[]> = {
  'Status Codes': [
    ['data without errors: 200', { body: { query: FINE } }, 200, true],
    ['data and errors: 294', { body: { query: MIXED } }, 294, true],
    ['the same for JSON alone: 200', { body: { query: MIXED }, accept: JSON_ALONE }, 200, true],
    ['a body that is no JSON: 400', { body: '{"query":' }, 400, false],
    ['a body that is no JSON, for JSON alone: 400', { body: '{"query":', accept: JSON_ALONE }, 400, false],
    ['no query: 422', { body: { qeury: FINE } }, 422, false],
    ['a parameter of the wrong type: 422', { body: { query: FINE, variables: [7] } }, 422, false],
    ['a document that does not parse: 400', { body: { query: '{' } }, 400, false],
    ['a document that is not valid: 422', { body: { query: '{ nothing }' } }, 422, false],
    [
      'no operation that is meant: 422',
      { body: { query: 'query A { __typename } query B { __typename }' } },
      422,
      false,
    ],
    ['a variable that does not fit: 422', { body: { query: PARAMS, variables: { first: 'x' } } }, 422, false],
    ['no credentials: 401', { body: { query: FINE }, headers: { 'x-api-key': 'ek_wrong' } }, 401, false],
    ['a body that is too large: 413', { body: { query: ' '.repeat(300_000) } }, 413, false],
  ],
  Request: [
    ['other properties are ignored', { body: { query: FINE, id: null, surprise: 1 } }, 200, true],
    [
      'null stands for none',
      { body: { query: FINE, operationName: null, variables: null, extensions: null } },
      200,
      true,
    ],
    ['an empty name stands for none, as in a GET', { body: { query: FINE, operationName: '' } }, 200, true],
    ['variables that are not declared are ignored', { body: { query: FINE, variables: { other: 1 } } }, 200, true],
    ['a map of extensions', { body: { query: FINE, extensions: { other: 1 } } }, 200, true],
    ['no Content-Type: 415', { body: '{"query":"{ __typename }"}', type: '' }, 415, false],
    ['another Content-Type: 415', { body: '{"query":"{ __typename }"}', type: 'text/json' }, 415, false],
    ['JSON in UTF-8', { body: { query: '# ü\n{ __typename }' }, type: 'application/json; charset=utf-8' }, 200, true],
  ],
  GET: [
    ['a query', { method: 'GET', query: { query: FINE } }, 200, true],
    [
      'variables as JSON',
      { method: 'GET', query: { query: PARAMS, variables: '{"first":1}', operationName: 'Named' } },
      200,
      true,
    ],
    [
      'empty values stand for none',
      { method: 'GET', query: { query: PARAMS, variables: '', operationName: '', extensions: '' } },
      200,
      true,
    ],
    ['operationName=null is a name', { method: 'GET', query: { query: FINE, operationName: 'null' } }, 422, false],
    ['variables that are no JSON: 422', { method: 'GET', query: { query: FINE, variables: '{' } }, 422, false],
    ['other parameters are ignored', { method: 'GET', query: { query: FINE, surprise: '1' } }, 200, true],
    ['no query: 422', { method: 'GET' }, 422, false],
    ['a document that does not parse: 400', { method: 'GET', query: { query: '{' } }, 400, false],
    [
      'a mutation: 405',
      {
        method: 'GET',
        query: { query: 'mutation { createDiscussion(input: { externalId: "got" }) { discussion { id } } }' },
      },
      405,
      false,
    ],
    [
      'a subscription for who takes no events: 406',
      { method: 'GET', query: { query: 'subscription { moderationQueueChanged { pending } }' } },
      406,
      false,
    ],
  ],
  Accept: [
    ['no type that there is: 406', { body: { query: FINE }, accept: 'text/html' }, 406, false],
    ['no Accept', { body: { query: FINE }, accept: '*/*' }, 200, true],
  ],
}

describe.each(Object.entries(STANDARD))('"%s" of GraphQL over HTTP:', (_section, cases) => {
  test.each(cases)('%s', async (_what, asked, status, hasData) => {
    const answer = await ask(asked)
    expect([answer.status, 'data' in answer.json], JSON.stringify(answer.json)).toEqual([status, hasData])
    const plain = asked.accept === JSON_ALONE || asked.accept === '*/*'
    const type = plain && status < 300 ? 'application/json' : RESPONSE
    expect(answer.type).toBe(`${type}; charset=utf-8`)
    if (status === 405) expect(answer.allow).toBe('POST')
    if (!hasData) expect(answer.json.errors?.[0]?.extensions.code).toMatch(/^[a-z_]+$/)
  })
})

test.each([
  [`${RESPONSE}; charset=utf-8, application/json; charset=utf-8`, RESPONSE],
  [`application/json;q=0.5, ${RESPONSE}`, RESPONSE],
  [`${RESPONSE};q=0.5, application/json`, JSON_ALONE],
  // urql's and Apollo's.
  [`${RESPONSE}, application/graphql+json, application/json, text/event-stream, multipart/mixed`, RESPONSE],
  [`multipart/mixed;boundary=graphql;subscriptionSpec=1.0,${RESPONSE},application/json;q=0.9`, RESPONSE],
  ['application/*', JSON_ALONE],
  ['text/event-stream, */*;q=0.1', 'text/event-stream'],
])('the answer has the type that Accept likes best: %s', async (accept, type) => {
  const response = await fetch(`${service.url}/graphql`, {
    method: 'POST',
    headers: { 'x-api-key': service.apiKey, 'content-type': JSON_ALONE, accept },
    body: JSON.stringify({ query: FINE }),
  })
  expect([response.status, response.headers.get('content-type')]).toEqual([200, `${type}; charset=utf-8`])
  await response.body?.cancel()
})

test('a subscription by GET gets its events', async () => {
  const query = 'subscription { moderationQueueChanged { pending } }'
  const controller = new AbortController()
  const response = await fetch(`${service.url}/graphql?${String(new URLSearchParams({ query }))}`, {
    headers: { 'x-api-key': service.apiKey, accept: 'text/event-stream' },
    signal: controller.signal,
  })
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8'])
  controller.abort()
})

test.each([
  ['subscription { moderationQueueChanged { pending } }', false],
  ['{ __typename }', true],
  ['subscription { nothing }', true],
  ['reserved', false],
])('an event stream has one type and no coding; %s has a length: %s', async (query, isWhole) => {
  const key = { 'x-api-key': service.apiKey }
  const url = `${service.url}/graphql/stream`
  const isReserved = query === 'reserved'
  const token = isReserved ? await (await fetch(url, { method: 'PUT', headers: key })).text() : ''
  const controller = new AbortController()
  const search = new URLSearchParams(isReserved ? { token } : { query })
  const { status, headers } = await fetch(`${url}?${String(search)}`, {
    headers: { ...key, accept: 'text/event-stream', 'accept-encoding': 'gzip, br' },
    signal: controller.signal,
  })
  expect([status, headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8'])
  expect([headers.get('content-encoding'), headers.has('content-length')]).toEqual([null, isWhole])
  controller.abort()
})

test.each([JSON_ALONE, null])('an empty body (%s) is called empty, and not a batch', async (type) => {
  const headers = { 'x-api-key': service.apiKey, ...(type === null ? {} : { 'content-type': type }) }
  const answer = await fetch(`${service.url}/graphql`, { method: 'POST', headers })
  expect((await answer.json()).errors).toMatchObject([{ message: 'The body is empty; it needs a query' }])
})

test('a request without credentials is told of client tokens too', async () => {
  const headers = { 'content-type': JSON_ALONE }
  for (const body of ['{"query":"{ apiKeys { nodes { id } } }"}', '{"documentId":"x"}']) {
    const answer = await fetch(`${service.url}/graphql`, { method: 'POST', headers, body })
    const { message, extensions } = (await answer.json()).errors[0]
    expect([extensions.code, message]).toEqual(['missing_credentials', expect.stringContaining('client token')])
  }
})

test('a mutation by GET is not done', async () => {
  expect((await service.call('GET', '/discussions/by-external/got')).status).toBe(404)
})

test('fields are answered in the order of the selection, from the first request on', async () => {
  const query = `{
    c: comment(id: "x") { id }
    a: discussion(by: { externalId: "a" }) { comments { nodes { id } } state ...More id }
    e: __typename
    b: discussions(first: 1) { nodes { state comments { nodes { id } } id } }
  } fragment More on Discussion { url title }`
  for (let n = 0; n < 6; n++) {
    const { text } = await service.graphql(query)
    const names = [...text.matchAll(/"(\w+)":/g)].map(([, name]) => name).filter((name) => name !== 'nodes')
    expect(names.slice(names.indexOf('data'))).toEqual(
      'data c a comments state url title id e b state comments id'.split(' '),
    )
    expect(text.indexOf('"errors"')).toBeLessThan(text.indexOf('"data"'))
  }
})
