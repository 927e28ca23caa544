import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as httpRequest,
  type Server,
} from 'node:http'
import { gunzipSync } from 'node:zlib'

import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'

import { createBackend, nodeHandler } from '../../src/clients/backend/backend.ts'
import { newId } from '../../src/core/ids.ts'
import { at, fetchSite, open, shut, SITES } from '../harness/backends.ts'
import { useService } from '../harness/service.ts'

const service = useService()

describe('caching', () => {
  test('a page has an ETag for each reader, and answers 304 to a browser that has it', async () => {
    const site = fetchSite(service)
    const page = newId()
    await site.ask('POST', `/comments${at(page)}`, { as: 'ann', body: { body: 'Hello' } })
    const { headers } = await site.ask('GET', `/comments${at(page)}`, { as: 'ann' })
    expect(headers.get('cache-control')).toBe('private, no-cache')
    expect(headers.get('vary')).toBe('Cookie, Authorization, Accept-Encoding')
    const known = { 'if-none-match': headers.get('etag') ?? '' }
    expect(await site.ask('GET', `/comments${at(page)}`, { as: 'ann', headers: known })).toMatchObject({
      status: 304,
      text: '',
    })
    expect((await site.ask('GET', `/comments${at(page)}`, { as: 'bob', headers: known })).status).toBe(200)
    expect((await site.ask('GET', `/comments${at(page)}`, { headers: known })).status).toBe(200)
  })

  test('what may be cached by anyone has an ETag, and is 304 to a browser that has it', async () => {
    const site = fetchSite(service)
    for (const path of ['/settings', `/counts${at('some-page')}`]) {
      const { status, headers } = await site.ask('GET', path)
      expect([path, status, headers.get('etag')]).toEqual([path, 200, expect.stringMatching(/^W\/".{22}"$/)])
      const known = { 'if-none-match': `"other", ${headers.get('etag')}` }
      const again = await site.ask('GET', path, { headers: known })
      expect([path, again.status, again.text]).toEqual([path, 304, ''])
      expect(again.headers.get('cache-control')).toBe(headers.get('cache-control'))
    }
    expect((await site.ask('GET', '/me', { as: 'ann' })).headers.get('etag')).toBeNull()
  })

  test('the settings for pages may be cached by anyone for a minute', async () => {
    const site = fetchSite(service)
    const { status, json, headers } = await site.ask('GET', '/settings', { as: 'broken' })
    expect(status).toBe(200)
    expect(Object.keys(json).sort()).toEqual([
      'badges',
      'editWindowSeconds',
      'maxDepth',
      'reactionTypes',
      'showEditHistory',
    ])
    expect([headers.get('cache-control'), headers.get('vary')]).toEqual(['public, max-age=60', 'Accept-Encoding'])
  })

  test('counts may be cached for readers who are not signed in, their refusal for no one', async () => {
    const site = fetchSite(service)
    const counts = await site.ask('GET', `/counts${at('a')}`)
    expect(counts.headers.get('cache-control')).toBe('public, max-age=0, s-maxage=30')
    expect(counts.headers.get('vary')).toBe('Cookie, Authorization, Accept-Encoding')
    const own = await site.ask('GET', `/counts${at('a')}`, { as: 'ann' })
    expect(own.headers.get('cache-control')).toBe('private, no-store')
    const tooMany = await site.ask('GET', `/counts?${'externalId=a&'.repeat(201)}`)
    expect(tooMany.status).toBe(422)
    expect(tooMany.headers.get('cache-control')).not.toContain('public')
  })

  test('lists over many pages may be cached by anyone, unless isPage leaves pages out of them', async () => {
    const site = fetchSite(service)
    const [shown, left] = [`open-${newId()}`, `closed-${newId()}`]
    // Discussed more than the pages of the other tests.
    for (const externalId of [shown, left, shown, left]) {
      await site.ask('POST', `/comments${at(externalId)}`, { as: 'ann', body: { body: newId() } })
    }
    const choosing = fetchSite(service, { isPage: (externalId) => externalId.startsWith('open-') })
    for (const path of ['/latest-comments?limit=50', '/most-discussed?window=week&limit=50']) {
      const pagesOf = ({ json }: { json: { data: { discussion: { externalId: string } }[] } }): string[] =>
        json.data.map(({ discussion }) => discussion.externalId)
      const [all, own] = [await site.ask('GET', path), await choosing.ask('GET', path)]
      expect([all.headers.get('cache-control'), own.headers.get('cache-control')]).toEqual([
        'public, max-age=30',
        'private, no-store',
      ])
      expect([pagesOf(all).includes(shown), pagesOf(all).includes(left)]).toEqual([true, true])
      expect([pagesOf(own).includes(shown), pagesOf(own).includes(left)]).toEqual([true, false])
    }
    expect((await site.ask('GET', '/latest-comments?status=pending')).status).toBe(422)
  })

  test('lists are cut after isPage has left out pages', async () => {
    const site = fetchSite(service)
    const shown = `open-${newId()}`
    // As many as on no page of the other tests, of which the service lists 50.
    for (let n = 0; n < 8; n++) await site.ask('POST', `/comments${at(shown)}`, { as: 'ann', body: { body: newId() } })
    for (let n = 0; n < 3; n++)
      await site.ask('POST', `/comments${at(`closed-${newId()}`)}`, { as: 'ann', body: { body: newId() } })
    const choosing = fetchSite(service, { isPage: (externalId) => externalId === shown })
    for (const path of ['/latest-comments', '/most-discussed?window=week']) {
      const limited = `${path}${path.includes('?') ? '&' : '?'}limit=1`
      // The service keeps its lists for seconds.
      await vi.waitFor(async () =>
        expect((await choosing.ask('GET', limited)).json.data).toMatchObject([{ discussion: { externalId: shown } }]),
      )
    }
    const everything = fetchSite(service, { isPage: () => true })
    expect((await everything.ask('GET', '/latest-comments?limit=2')).json.data).toHaveLength(2)
    expect((await everything.ask('GET', '/latest-comments')).json.data.length).toBeLessThanOrEqual(10)
    for (const limit of ['0', '51', 'x', '1.5'])
      expect((await everything.ask('GET', `/latest-comments?limit=${limit}`)).status, limit).toBe(422)
  })

  test('notifications of pages that isPage leaves out are not listed, and the next page is still named', async () => {
    const site = fetchSite(service)
    const [shown, left] = [`open-${newId()}`, `closed-${newId()}`]
    for (const externalId of [shown, left]) {
      const root = (await site.ask('POST', `/comments${at(externalId)}`, { as: 'ann', body: { body: newId() } })).json
      const reply = { body: newId(), parentId: root.id }
      await site.ask('POST', `/comments${at(externalId)}`, { as: 'bob', body: reply })
    }
    const choosing = fetchSite(service, { isPage: (externalId) => externalId.startsWith('open-') })
    const list = '/me/notifications?limit=1'
    const { json } = await choosing.ask('GET', list, { as: 'ann' })
    expect(json).toMatchObject({ data: [], hasMore: true })
    const next = await choosing.ask('GET', `${list}&cursor=${encodeURIComponent(json.nextCursor)}`, { as: 'ann' })
    expect(next.json.data).toMatchObject([{ discussion: { externalId: shown } }])
  })
})

describe('an answer', () => {
  const page = newId()
  const path = `/engagement/comments${at(page, '&limit=100')}`
  let server: Server
  let url: string
  beforeAll(async () => {
    const site = await SITES.node(service)
    for (let n = 0; n < 20; n++)
      await site.ask('POST', `/comments${at(page)}`, { as: 'ann', body: { body: `The comment with the number ${n}` } })
    await site.close()
    const backend = createBackend<IncomingMessage>({
      url: service.url,
      apiKey: service.apiKey,
      tenant: service.tenant.slug,
      identitySecret: service.identitySecret.secret,
      reader: () => null,
    })
    server = createServer(nodeHandler(backend))
    url = await open(server)
  })
  afterAll(() => shut(server))

  const raw = (acceptEncoding?: string) =>
    new Promise<{ headers: IncomingHttpHeaders; bytes: Buffer }>((resolve, reject) => {
      const headers = acceptEncoding === undefined ? {} : { 'accept-encoding': acceptEncoding }
      const asked = httpRequest(`${url}${path}`, { headers }, (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('end', () => resolve({ headers: response.headers, bytes: Buffer.concat(chunks) }))
      })
      asked.on('error', reject).end()
    })

  test('is compressed for a browser, and plain for who refuses or does not name gzip', async () => {
    const plain = await raw()
    for (const accepted of ['gzip, deflate, br, zstd', 'deflate, GZIP;q=0.5', '*', 'br;q=1, *;q=0.1']) {
      const { headers, bytes } = await raw(accepted)
      expect([accepted, headers['content-encoding'], headers.vary]).toEqual([
        accepted,
        'gzip',
        'Cookie, Authorization, Accept-Encoding',
      ])
      expect(gunzipSync(bytes).equals(plain.bytes)).toBe(true)
      expect(bytes.length * 5).toBeLessThan(plain.bytes.length)
      expect(headers.etag).toBe(plain.headers.etag)
    }
    for (const accepted of ['br', 'gzip;q=0', 'gzip; q=0.000, *', 'identity', '', '*;q=0', 'xgzip', ';;,,;q=']) {
      const { headers, bytes } = await raw(accepted)
      expect([accepted, headers['content-encoding'], bytes.equals(plain.bytes)]).toEqual([accepted, undefined, true])
      expect(headers.vary).toContain('Accept-Encoding')
    }
  })
})
