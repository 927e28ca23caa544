import { describe, expect, test } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { MAX_SITES } from '../../src/domains/sites/sites.ts'
import { type TestTenant, useService } from '../harness/service.ts'

const service = useService()

const ORIGIN = 'https://www.example.com'

const create = (body: object = {}, headers: Record<string, string> = {}) =>
  service.call('POST', '/sites', { body: { name: 'Blog', origins: [ORIGIN], ...body }, headers })

const keyOf = ({ apiKey }: TestTenant) => ({ 'x-api-key': apiKey })

test('POST /sites answers 201 with the site and its public key', async () => {
  const { status, json } = await create({ name: ' Blog ', origins: [ORIGIN, 'http://localhost:8000'] })
  expect(status).toBe(201)
  expect(json).toEqual({
    id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
    name: 'Blog',
    origins: [ORIGIN, 'http://localhost:8000'],
    publicKey: expect.stringMatching(/^pk_[0-9a-f]{64}$/) as string,
    posting: true,
    guests: 'off',
    createdAt: expect.stringMatching(/Z$/) as string,
  })
  expect((await service.call('GET', `/sites/${json.id}`)).json).toEqual(json)
  expect((await service.call('GET', '/sites?limit=1')).json.data).toEqual([json])
})

test('PATCH /sites/{id} changes the given fields, and never the public key', async () => {
  const { json: site } = await create()
  const patch = (body: object) => service.call('PATCH', `/sites/${site.id}`, { body })
  expect((await patch({ posting: false })).json).toEqual({ ...site, posting: false })
  expect((await patch({ name: 'Shop', origins: ['https://shop.example'] })).json).toEqual({
    ...site,
    posting: false,
    name: 'Shop',
    origins: ['https://shop.example'],
  })
  expect((await patch({})).json.name).toBe('Shop')
  expect((await patch({ publicKey: `pk_${'0'.repeat(64)}` })).json.code).toBe('validation_failed')
})

test('DELETE /sites/{id} answers 204, and 404 from then on', async () => {
  const { json: site } = await create()
  expect((await service.call('DELETE', `/sites/${site.id}`)).status).toBe(204)
  for (const method of ['GET', 'PATCH', 'DELETE']) {
    const { status } = await service.call(method, `/sites/${site.id}`, method === 'PATCH' ? { body: {} } : {})
    expect(status, method).toBe(404)
  }
})

describe('wrong values are refused with 422', () => {
  test.each([
    ['an empty name', { name: ' ' }, '/name'],
    ['a name that shows nothing', { name: '\u200B\u2060\u00AD' }, '/name'],
    ['a name of 81 characters', { name: 'n'.repeat(81) }, '/name'],
    ['no origin', { origins: [] }, '/origins'],
    ['21 origins', { origins: Array.from({ length: 21 }, (_, n) => `https://s${n}.example`) }, '/origins'],
    ['a repeated origin', { origins: [ORIGIN, ORIGIN] }, '/origins'],
    ['a pattern', { origins: ['https://*.example.com'] }, '/origins/0'],
    ['an address', { origins: ['https://www.example.com/'] }, '/origins/0'],
    ['an upper-case host', { origins: ['https://WWW.example.com'] }, '/origins/0'],
    ['a default port', { origins: ['https://www.example.com:443'] }, '/origins/0'],
    ['null as an origin', { origins: ['null'] }, '/origins/0'],
    ['guests of another kind', { guests: 'phone' }, '/guests'],
  ])('%s', async (_what, body, pointer) => {
    const { status, json } = await create(body)
    expect(status).toBe(422)
    expect(json.errors).toEqual([expect.objectContaining({ pointer })])
    const { json: site } = await create()
    const patched = await service.call('PATCH', `/sites/${site.id}`, { body })
    expect(patched.json.errors).toEqual([expect.objectContaining({ pointer })])
  })
})

test('sites need manage_settings, and are of their tenant alone', async () => {
  const weak = await service.ok('POST', '/keys', {
    label: 'weak',
    capabilities: ['manage_api_keys', 'manage_webhooks', 'moderate_content', 'view_analytics'],
  })
  const { json: site } = await create()
  const other = await service.addTenant('other-sites')
  const asked = [
    ['GET', '/sites', undefined],
    ['POST', '/sites', { name: 'Blog', origins: [ORIGIN] }],
    ['GET', `/sites/${site.id}`, undefined],
    ['PATCH', `/sites/${site.id}`, { name: 'Mine' }],
    ['DELETE', `/sites/${site.id}`, undefined],
  ] as const
  for (const [method, path, body] of asked) {
    const refused = await service.call(method, path, { body, headers: { 'x-api-key': weak.key } })
    expect(refused.json.code, method).toBe('missing_capability')
  }
  expect((await service.call('GET', '/sites', { headers: keyOf(other) })).json.data).toEqual([])
  expect((await service.call('GET', `/sites/${newId()}`)).status).toBe(404)
})

test('a public key is no API key', async () => {
  const { json: site } = await create()
  const refused = await service.call('GET', '/discussions', { headers: { 'x-api-key': site.publicKey } })
  expect(refused.json.code).toBe('invalid_api_key')
  const bearing = { authorization: `Bearer ${site.publicKey}` }
  expect((await service.call('GET', '/discussions', { headers: bearing })).json.code).toBe('invalid_admin_token')
  expect(
    (await service.graphql('{ viewer: __typename discussions(first: 1) { edges { cursor } } }', {}, bearing)).status,
  ).toBe(401)
})

test(`a tenant has at most ${MAX_SITES} sites, also of those that are created at once`, async () => {
  const tenant = await service.addTenant('many-sites')
  const answers = await Promise.all(Array.from({ length: MAX_SITES + 3 }, () => create({}, keyOf(tenant))))
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(MAX_SITES)
  expect(answers.filter(({ json }) => json.code === 'site_budget_exhausted')).toHaveLength(3)
})

test('each change is in the audit log, with the form before and after', async () => {
  const tenant = await service.addTenant('audited-sites')
  const headers = keyOf(tenant)
  const { json: site } = await create({}, headers)
  await service.call('PATCH', `/sites/${site.id}`, { body: { posting: false }, headers })
  await service.call('DELETE', `/sites/${site.id}`, { headers })
  const { json } = await service.call('GET', '/audit-log', { headers })
  const first = { name: 'Blog', origins: [ORIGIN], publicKey: site.publicKey, posting: true, guests: 'off' }
  const entry = { targetType: 'site', targetId: site.id }
  expect(json.data).toEqual([
    expect.objectContaining({ ...entry, action: 'site.delete', before: { ...first, posting: false }, after: null }),
    expect.objectContaining({ ...entry, action: 'site.update', before: first, after: { ...first, posting: false } }),
    expect.objectContaining({ ...entry, action: 'site.create', before: null, after: first }),
  ])
})

test('GraphQL has the same sites, by node as well', async () => {
  const { json: site } = await create()
  const { json } = await service.graphql(
    `query Sites($id: ID!) {
      site(id: $id) { id name origins publicKey posting guests createdAt }
      sites(first: 1) { edges { node { id } } }
      node(id: $id) { __typename ... on Site { publicKey } }
    }`,
    { id: site.id },
  )
  expect(json.data).toEqual({
    site,
    sites: { edges: [{ node: { id: site.id } }] },
    node: { __typename: 'Site', publicKey: site.publicKey },
  })
})
