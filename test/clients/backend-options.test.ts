import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

import { createGraphqlClient } from '../../src/clients/graphql/client.ts'
import { createBackend } from '../../src/clients/backend/backend.ts'
import { profileOf, signAssertion } from '../../src/clients/backend/readers.ts'
import { ROUTES } from '../../src/clients/backend/routes.ts'
import type { Tenant } from '../../src/core/caller.ts'
import { nameOrNull } from '../../src/core/input/texts.ts'
import { tenantSettings } from '../../src/core/settings/tenant.ts'
import { newId } from '../../src/core/ids.ts'
import { readClaims } from '../../src/domains/readers/claims.ts'
import { ROUTES as SERVICE_ROUTES } from '../../src/api/rest/routes.ts'
import { effort } from '../harness/effort.ts'
import { useService } from '../harness/service.ts'

const service = useService()

describe('createBackend', () => {
  const options = {
    url: 'https://comments.example.com',
    apiKey: `ek_${'a'.repeat(64)}`,
    tenant: 'demo',
    identitySecret: 'a-secret',
    reader: () => null,
  }

  test.each([
    ['url', 'comments.example.com'],
    ['url', 'ftp://comments.example.com'],
    ['url', 'https://comments.example.com/api/v1/'],
    ['apiKey', 'ek_a'],
    ['tenant', ''],
    ['identitySecret', ''],
    ['basePath', 'engagement'],
    ['basePath', '/engagement/'],
    ['timeoutMs', 0],
  ])('refuses a wrong %s: %j', (name, value) => {
    expect(() => createBackend({ ...options, [name]: value })).toThrow(new RegExp(`createBackend: ${name} `))
  })

  test("says what a url with the API's path should be", () => {
    const url = 'https://www.example.com/comments'
    expect(() => createBackend({ ...options, url: `${url}/api/v1` })).toThrow(`url must be without /api/v1: ${url}`)
    expect(() => createBackend({ ...options, url })).not.toThrow()
  })

  test('mints a client token for who is signed in, for the pages that the caller names', async () => {
    const { apiKey, identitySecret, tenant, url } = service
    const given = { url, apiKey, tenant: tenant.slug, identitySecret: identitySecret.secret }
    const backend = createBackend<{ user: string | null }>({
      ...given,
      reader: ({ user }) => (user === null ? null : { id: user, name: 'Fay' }),
    })
    const page = newId()
    const minted = await backend.clientToken({ user: 'fay' }, { externalIds: [page], ttlSeconds: 60 })
    expect(minted).toEqual({
      token: expect.stringMatching(/^ct_/) as string,
      expiresAt: expect.any(String) as string,
      readerId: expect.any(String) as string,
    })
    expect(Date.parse(minted.expiresAt) - Date.now()).toBeLessThanOrEqual(60_000)
    const post = (externalId: string) =>
      service.graphql(
        'mutation ($input: CreateCommentInput!) { createComment(input: $input) { comment { author { name } } } }',
        { input: { discussion: { externalId }, body: 'Hi' } },
        { authorization: `Bearer ${minted.token}` },
      )
    expect((await post(page)).json.data.createComment.comment.author.name).toBe('Fay')
    expect((await post(newId())).json.errors[0].extensions.code).toBe('not_found')
    expect((await backend.clientToken({ user: null })).readerId).toBeNull()
    await expect(backend.clientToken({ user: null }, { ttlSeconds: 1 })).rejects.toThrow('gives no client token')
  })

  test('a client token makes the discussions of its pages, with the titles and addresses of isPage', async () => {
    const { apiKey, identitySecret, tenant, url } = service
    const [titled, plain, none] = [newId(), newId(), newId()]
    const details = { title: 'An article', url: 'https://www.example.com/article' }
    const backend = createBackend<{ user: string | null }>({
      url,
      apiKey,
      tenant: tenant.slug,
      identitySecret: identitySecret.secret,
      reader: ({ user }) => (user === null ? null : { id: user, name: 'Fay' }),
      isPage: (externalId) => (externalId === titled ? details : externalId !== none),
    })
    const { token } = await backend.clientToken({ user: null }, { externalIds: [titled, plain] })
    const headers = { authorization: `Bearer ${token}` }
    const query = `query ($externalId: String!) { discussion(by: { externalId: $externalId }) {
      id title url commentCount lastEventId comments { nodes { id } } } }`
    const shown = async (externalId: string) => (await service.graphql(query, { externalId }, headers)).json
    const empty = { id: expect.any(String) as string, commentCount: 0, lastEventId: '0', comments: { nodes: [] } }
    expect(await shown(titled)).toEqual({ data: { discussion: { ...empty, ...details } } })
    expect(await shown(plain)).toEqual({ data: { discussion: { ...empty, title: null, url: null } } })
    // The page is live from its first moment.
    const { id: discussionId } = (await shown(plain)).data.discussion
    const events = createGraphqlClient({ url: `${url}/graphql`, headers }).iterate({
      query: 'subscription ($id: ID!) { discussionEvents(discussionId: $id, lastEventId: "0") { seq type } }',
      variables: { id: discussionId, lastEventId: '0' },
    })
    const first = events.next()
    const path = `/discussions/by-external/${plain}/comments`
    await service.call('POST', path, { body: { body: 'First' }, headers: await service.as('ann') })
    expect((await first).value).toMatchObject({ data: { discussionEvents: { type: 'comment_created' } } })
    await events.return()
    // No token, and no discussion, for what is no page.
    await expect(backend.clientToken({ user: null }, { externalIds: [plain, none] })).rejects.toThrow('no comments')
    expect((await service.call('GET', `/discussions/by-external/${none}`)).status).toBe(404)
  })

  test('serves under another base path', async () => {
    const backend = createBackend({ ...options, basePath: '/a/b' })
    const ask = async (path: string) => (await backend.fetch(new Request(`https://www.example.com${path}`))).status
    expect(await ask('/a/b/me')).toBe(200)
    expect(await ask('/engagement/me')).toBe(404)
    expect(await ask('/a/bc/me')).toBe(404)
  })
})

describe('in step with the service', () => {
  const plain = (path: string): string => path.replaceAll(/:\w+/g, ':')

  test('every served path leads to a route', () => {
    const known = new Set(SERVICE_ROUTES.map(({ method, path }) => `${method} ${plain(path)}`))
    const asked = ROUTES.flatMap(({ service: route }) => (route === null ? [] : [plain(route)]))
    expect(asked.filter((route) => !known.has(route))).toEqual([])
  })

  test('the service accepts the profile made from any row of a user table', () => {
    const text = fc.string({ unit: 'binary', maxLength: 100 })
    const url = fc.oneof(text, fc.webUrl(), fc.constantFrom('https://a b', 'https://\0', 'HTTPS://a.example', null))
    const signer = { tenant: 'demo', identitySecret: 'a-secret' }
    const badges = fc.option(fc.array(fc.oneof(text, fc.constantFrom('staff', 'author')), { maxLength: 40 }))
    const arbitrary = fc.record({ name: fc.option(text), avatarUrl: url, profileUrl: url, badges })
    const tenant = { slug: 'demo', settings: tenantSettings({ badges: [{ id: 'staff', label: 'Staff' }] }) } as Tenant
    const read = (token: string) =>
      readClaims(Buffer.from(token.split('.')[1] ?? '', 'base64url'), tenant, null, Date.now() / 1000)
    fc.assert(
      fc.property(arbitrary, (reader) => {
        const profile = profileOf({ id: 'ann', ...reader })
        const { id: externalId, badges: given = [], ...rest } = profile
        const { identity } = read(signAssertion(signer, profile, null))
        expect(identity).toMatchObject({ externalId, ...rest, name: nameOrNull(rest.name) })
        expect(identity.badges ?? []).toEqual(given.includes('staff') ? ['staff'] : [])
      }),
      { numRuns: effort(100, 30) },
    )
  })
})

test('a handler of fetch leaves compression to its server, and knows the host of the browser', async () => {
  const backend = createBackend({
    url: service.url,
    apiKey: service.apiKey,
    tenant: service.tenant.slug,
    identitySecret: service.identitySecret.secret,
    reader: () => null,
  })
  const ask = (address: string, host: string, origin = 'https://www.example.com') =>
    backend.fetch(
      new Request(`${address}/engagement/ticket?externalId=${newId()}`, {
        method: 'POST',
        headers: { host, origin, 'x-requested-with': 'engagement', 'accept-encoding': 'gzip' },
      }),
    )
  // As Next.js gives it: with the address that the server listens at.
  const ticket = await ask('http://localhost:3000', 'www.example.com')
  expect(ticket.status).toBe(201)
  expect(ticket.headers.get('content-encoding')).toBeNull()
  // An answer of this length is compressed elsewhere.
  expect((await ticket.text()).length).toBeGreaterThan(1024)
  // As a framework gives it that has read the host from a header of its proxy.
  expect((await ask('https://www.example.com', 'inner:3000')).status).toBe(201)
  expect((await ask('http://localhost:3000', 'www.example.com', 'https://evil.example')).status).toBe(403)
})
