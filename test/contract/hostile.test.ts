import { describe, expect, test } from 'vitest'

import { encodeCursor } from '../../src/core/input/cursor.ts'
import { newId } from '../../src/core/ids.ts'
import { refusalIn } from '../harness/refusal.ts'
import { useService } from '../harness/service.ts'

const service = useService()

const FAILED = { status: 422, code: 'validation_failed' }

describe('a made-up cursor answers 422', () => {
  test.each(['+275760-09-13T00:00:00.000Z', '-271821-04-20T00:00:00.000Z', '0000-01-01T00:00:00.000Z'])(
    'of discussions, at the time %s',
    async (at) => {
      const cursor = encodeCursor('active', at, newId())
      expect((await service.call('GET', `/discussions?sort=active&cursor=${cursor}`)).json).toMatchObject(FAILED)
    },
  )

  test.each([-8.64e15, 8.64e15, 1e300])('of identity secrets, at the time %d', async (at) => {
    const cursor = encodeCursor('identity-secrets', at, 'aaaaaaaa')
    expect((await service.call('GET', `/identity-secrets?cursor=${cursor}`)).json).toMatchObject(FAILED)
  })
})

describe.each([
  ['NUL', '\0'],
  ['a lone surrogate', '\ud800'],
])('%s answers 422', (_name, character) => {
  test('in the url of a discussion', async () => {
    const body = { externalId: newId(), url: `https://example.com/${character}` }
    expect((await service.call('POST', '/discussions', { body })).json).toMatchObject(FAILED)
  })

  test('in the url of a webhook endpoint', async () => {
    const body = { url: `https://example.com/${character}` }
    expect((await service.call('POST', '/webhooks', { body })).json).toMatchObject(FAILED)
  })

  test.each([
    { bannedWords: [`a${character}`] },
    { identity: { issuer: `a${character}`, jwksUrl: 'https://example.com/keys' } },
    { identity: { issuer: 'a', jwksUrl: `https://example.com/${character}` } },
  ])('in the settings %j', async (body) => {
    expect((await service.call('PATCH', '/settings', { body })).json).toMatchObject(FAILED)
  })
})

describe('every answer carries X-Request-Id', () => {
  test.each(['%', '%ff', 'a'.repeat(5000)])('to a path that cannot be one', async (id) => {
    const { status, headers, json } = await service.call('GET', `/comments/${id}`)
    expect(status).toBe(404)
    expect(headers.get('x-request-id')).toBe(json.requestId)
  })
})

describe('another method answers 405 with Allow', () => {
  test.each([
    ['OPTIONS', '/discussions'],
    ['OPTIONS', `/comments/${newId()}`],
    ['HEAD', `/stream/${newId()}`],
  ])('%s %s', async (method, path) => {
    // An answer to HEAD has no body, which `call` would read.
    const { status, headers } = await fetch(`${service.url}/api/v1${path}`, { method })
    expect(status).toBe(405)
    expect(headers.get('allow')).toContain('GET')
  })
})

describe.each(['/graphql', '/graphql/stream'])('%s refuses a document', (path) => {
  const accept = path === '/graphql' ? 'application/json' : 'text/event-stream'
  const post = async (query: string) => {
    const response = await fetch(service.url + path, {
      method: 'POST',
      headers: { 'x-api-key': service.apiKey, 'content-type': 'application/json', accept },
      body: JSON.stringify({ query }),
    })
    return refusalIn(await response.json())
  }

  test.each([
    ['selections', `{${'a{'.repeat(20_000)}b${'}'.repeat(20_000)}}`],
    ['lists', `{comment(id:${'['.repeat(30_000)}${']'.repeat(30_000)}){id}}`],
    ['fragments', `{${'...{'.repeat(13_000)}__typename${'}'.repeat(13_000)}}`],
    ['unclosed selections', `{${'a{'.repeat(30_000)}"`],
  ])('with %s too deep for the parser', async (_name, query) => {
    expect(await post(query)).toMatchObject({ ...FAILED, errors: [{ pointer: '/query', code: 'too_deep' }] })
  })

  test('with thousands of aliases', async () => {
    const query = `{${Array.from({ length: 1000 }, (_, n) => `a${n}:__typename`).join(' ')}}`
    expect(await post(query)).toMatchObject({ ...FAILED, errors: [{ pointer: '/query', code: 'too_long' }] })
  })
})
