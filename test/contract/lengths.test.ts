import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { hasAtMost } from '../../src/core/input/texts.ts'
import { profileOf } from '../../src/clients/backend/readers.ts'
import { startService, type TestService } from '../harness/service.ts'

let service: TestService

beforeAll(async () => {
  service = await startService({ worker: false })
  await service.call('PATCH', '/settings', { body: { activeKeyBudget: 1000 } })
})
afterAll(() => service.close())

// One code point, two UTF-16 units, four bytes.
const WIDE = '𝕏'

test('hasAtMost counts code points, as PostgreSQL does', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 40 }), fc.nat(50), (text, max) => {
      expect(hasAtMost(text, max)).toBe(Array.from(text).length <= max)
    }),
  )
})

const post =
  (page: string, body: object) =>
  async (headers = service.as('ann')) =>
    service.call('POST', `/discussions/by-external/${encodeURIComponent(page)}/comments`, {
      body,
      headers: await headers,
    })

async function commentId(): Promise<string> {
  return (await post('lengths', { body: 'A comment' })()).json.id as string
}

const readerId = async () => (await post('lengths', { body: 'Another' })()).json.author.id as string

/**
 * Every length that the service counts in characters: its maximum, the pointer of the refusal, and
 * a request with such a text (docs/reference/choices/requests.md).
 */
const LENGTHS: readonly [
  what: string,
  max: number,
  pointer: string,
  send: (text: string) => Promise<{ status: number; json: unknown }>,
][] = [
  ['body of a comment', 10_000, '/body', (text) => post('lengths', { body: text })()],
  ['externalId', 512, '/externalId', (text) => post(text, { body: 'On a page' })()],
  ['title', 500, '/title', (title) => service.call('POST', '/discussions', { body: { externalId: 'titled', title } })],
  ['label of a key', 100, '/label', (label) => service.call('POST', '/keys', { body: { label, capabilities: [] } })],
  [
    'description of an endpoint',
    500,
    '/description',
    (description) => service.call('POST', '/webhooks', { body: { url: 'https://127.0.0.1:9/', description } }),
  ],
  [
    'note of a report',
    1000,
    '/note',
    async (note) =>
      service.call('POST', `/comments/${await commentId()}/report`, {
        body: { reason: 'spam', note },
        headers: await service.as('bob'),
      }),
  ],
  [
    'reason of a ban',
    500,
    '/reason',
    async (reason) => service.call('POST', `/readers/${await readerId()}/ban`, { body: { reason, shadow: true } }),
  ],
  [
    'suspect word',
    100,
    '/suspectWords/0',
    (word) => service.call('PATCH', '/settings', { body: { suspectWords: [word] } }),
  ],
  [
    'banned word',
    100,
    '/bannedWords/0',
    (word) => service.call('PATCH', '/settings', { body: { bannedWords: [word] } }),
  ],
  ['search', 255, '/search', (text) => service.call('GET', `/readers?search=${encodeURIComponent(text)}`)],
]

test.each(LENGTHS)(
  '%s: %i characters outside the BMP are accepted, one more is 422 at %s',
  async (_what, max, pointer, send) => {
    const taken = await send(WIDE.repeat(max))
    expect(taken.status, JSON.stringify(taken.json)).toBeLessThan(300)
    const refused = await send(WIDE.repeat(max + 1))
    expect(refused).toMatchObject({
      status: 422,
      json: { errors: [{ pointer, code: 'too_long', message: `must have at most ${max} characters` }] },
    })
  },
)

describe('an assertion', () => {
  const assert = async (sub: string, name: string) =>
    service.call('POST', '/discussions/by-external/claims/comments', {
      body: { body: 'Mine' },
      headers: await service.as(sub, { name }),
    })

  test('may have a sub of 255 characters and a name of 80, whatever their UTF-16 length', async () => {
    const [sub, name] = [WIDE.repeat(255), WIDE.repeat(80)]
    const { status, json } = await assert(sub, name)
    expect([status, json.author]).toMatchObject([201, { externalId: sub, name }])
    for (const [longSub, longName] of [
      [`${sub}x`, 'Ann'],
      ['ann', `${name}x`],
    ] as const) {
      expect((await assert(longSub, longName)).json.code).toBe('invalid_identity')
    }
  })

  test('of the backend library: a name is cut after 80 characters, an id of 256 is refused', () => {
    expect(profileOf({ id: WIDE.repeat(255), name: WIDE.repeat(81) })).toMatchObject({ name: WIDE.repeat(80) })
    expect(() => profileOf({ id: WIDE.repeat(256) })).toThrow(TypeError)
  })
})

test('OpenAPI has the same bounds', async () => {
  const { json } = await service.call('GET', '/openapi.json')
  const { schemas } = json.components
  expect(schemas.CreateApiKeyBody.properties.label).toMatchObject({ minLength: 1, maxLength: 100 })
  expect(JSON.stringify(schemas.CreateCommentBody ?? schemas)).toContain('"maxLength":10000')
})
