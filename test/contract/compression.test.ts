import { request } from 'node:http'
import { constants, gunzipSync } from 'node:zlib'

import { beforeAll, describe, expect, test, vi } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { figuresOf } from '../harness/figures.ts'
import { type Headers, useReaders, useService } from '../harness/service.ts'
import { openStream, type StreamClient } from '../harness/stream-client.ts'

interface Raw {
  status: number
  headers: Headers
  bytes: Buffer
}

const GZIP = { 'accept-encoding': 'gzip' }
const TEXT = 'I have read this twice now, and I still think that the second paragraph misses the point.'
/** What clients accept, and whether they are then sent gzip. */
const ACCEPTED: [string | undefined, boolean][] = [
  [undefined, false],
  ['', false],
  ['gzip', true],
  ['GZIP', true],
  ['x-gzip', true],
  ['gzip, deflate, br, zstd', true],
  ['br;q=1.0, gzip;q=0.001', true],
  ['*', true],
  ['identity;q=0', false],
  ['identity;q=0, *', true],
  ['identity, gzip;q=0.5', false],
  ['gzip ; q=0.5, identity; Q=0.2', true],
  ['gzip;q=0', false],
  ['gzip;q=0.000, *', false],
  ['gzip;q=, *;q=x', false],
  ['br, *;q=0', false],
  ['not-gzip, gzipped', false],
]

const service = useService({ env: { STREAM_HEARTBEAT_SECONDS: '0.5' } })
const { ann } = useReaders(service, 'ann')

/** As it comes over the wire: `fetch` would decompress it. */
const ask = (path: string, headers: Headers = {}, method = 'GET'): Promise<Raw> =>
  new Promise((resolve, reject) => {
    const options = { method, headers: { 'x-api-key': service.apiKey, ...headers } }
    request(`${service.url}/api/v1${path}`, options, (response) => {
      response.toArray().then((chunks) => {
        const { statusCode: status = 0, headers: answered } = response
        resolve({ status, headers: answered as Headers, bytes: Buffer.concat(chunks) })
      }, reject)
    })
      .on('error', reject)
      .end()
  })

async function comment(id: string, count = 1, headers = ann): Promise<string> {
  let last = ''
  for (let n = 0; n < count; n++) {
    const body = { body: `${TEXT} (${n})` }
    const json = await service.ok('POST', `/discussions/${id}/comments`, body, headers)
    last = json.id
  }
  return last
}

describe('a stream', () => {
  const path = (id: string) => `${service.url}/api/v1/stream/${id}`

  async function open(id: string, headers: Headers = {}): Promise<StreamClient> {
    const client = await openStream(path(id), { 'x-api-key': service.apiKey, ...headers })
    await vi.waitFor(() => expect(client.connected).toBeDefined())
    return client
  }

  test.each(ACCEPTED)('with Accept-Encoding %j is compressed: %s', async (accepted, isGzip) => {
    const id = await service.newDiscussion()
    await comment(id, 2)
    const headers = { 'last-event-id': '0', ...(accepted === undefined ? {} : { 'accept-encoding': accepted }) }
    const client = await open(id, headers)
    expect(client.headers['content-encoding']).toBe(isGzip ? 'gzip' : undefined)
    await vi.waitFor(() => expect(client.seqs).toEqual([1, 2]))
    client.close()
  })

  test('compressed has the events of a plain one: replayed, live, after heartbeats, with a valid end', async () => {
    const id = await service.newDiscussion()
    await comment(id, 3)
    const { id: keyId, headers: key } = await service.newKey()
    const gzip = { ...GZIP, ...key }
    const clients = [await open(id, key), await open(id, gzip), await open(id, { ...gzip, 'last-event-id': '1' })]
    const [plain, live, late] = clients
    await comment(id, 2)
    await vi.waitFor(() => clients.forEach(({ comments }) => expect(comments).toBeGreaterThan(1)))
    const middle = await open(id, gzip)
    await comment(id, 2)
    await vi.waitFor(() => expect(middle.seqs).toEqual([6, 7]))
    await vi.waitFor(() => expect([plain?.seqs.at(-1), live?.seqs.at(-1), late?.seqs.at(-1)]).toEqual([7, 7, 7]))
    expect(live?.events).toEqual(plain?.events)
    expect(late?.events.slice(2)).toEqual(plain?.events)
    await service.call('DELETE', `/keys/${keyId}`)
    for (const client of [...clients, middle]) {
      await vi.waitFor(() => expect(client.closed).toBe(true))
      expect([client.goodbye?.data, client.failure]).toEqual([{ lastEventId: '7' }, null])
    }
  })

  test('a long replay from the database is compressed to a fifth of its bytes or less', async () => {
    const id = await service.newDiscussion()
    await comment(id, 120)
    const { bytes } = await replayed(id, GZIP)
    const { bytes: plain } = await replayed(id, {})
    expect(gunzipPart(bytes)).toContain('"seq":120,')
    expect(bytes.length / plain.length).toBeLessThan(0.2)
  })

  /** The frames up to event 120. */
  const replayed = (id: string, headers: Headers): Promise<{ bytes: Buffer }> =>
    new Promise((resolve, reject) => {
      const all = { 'x-api-key': service.apiKey, 'last-event-id': '0', ...headers }
      const opened = request(path(id), { headers: all }, (response) => {
        let bytes = Buffer.alloc(0)
        response.on('data', (part: Buffer) => {
          bytes = Buffer.concat([bytes, part])
          const text = headers === GZIP ? gunzipPart(bytes) : bytes.toString()
          if (!text.includes('"seq":120,')) return
          opened.destroy()
          resolve({ bytes })
        })
      })
      opened.on('error', reject).end()
    })

  test('refused, is plain', async () => {
    const { headers, status } = await ask(`/stream/${newId()}`, GZIP)
    expect([status, headers['content-encoding']]).toEqual([404, undefined])
  })
})

/** The readable part of a truncated gzip stream. */
const gunzipPart = (bytes: Buffer): string => gunzipSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH }).toString()

describe('a page of comments', () => {
  const pathOf = (id: string, query = '') => `/discussions/${id}/comments${query}`
  let id: string
  let last: string

  beforeAll(async () => {
    id = await service.newDiscussion()
    last = await comment(id, 20)
  })

  test.each(ACCEPTED)('with Accept-Encoding %j is compressed: %s', async (accepted, isGzip) => {
    const plain = await ask(pathOf(id))
    const { status, headers, bytes } = await ask(
      pathOf(id),
      accepted === undefined ? {} : { 'accept-encoding': accepted },
    )
    expect([status, headers['content-encoding']]).toEqual([200, isGzip ? 'gzip' : undefined])
    expect(isGzip ? gunzipSync(bytes) : bytes).toEqual(plain.bytes)
    expect(headers['content-length']).toBe(String(bytes.length))
    expect(bytes.length / plain.bytes.length).toBeLessThan(isGzip ? 0.3 : 1.01)
  })

  test('has one weak tag for both forms, which gives 304 for both, and varies by the header', async () => {
    const [plain, zipped] = [await ask(pathOf(id)), await ask(pathOf(id), GZIP)]
    const { etag = '' } = plain.headers
    expect(etag).toMatch(/^W\//)
    expect(zipped.headers.etag).toBe(etag)
    const vary = 'X-API-Key, Authorization, X-Service-Identity, X-Service-Site, Accept-Encoding'
    for (const asked of [{}, GZIP]) {
      for (const known of [etag, '*']) {
        const again = await ask(pathOf(id), { ...asked, 'if-none-match': known })
        expect([again.status, again.bytes.length, again.headers['content-encoding']]).toEqual([304, 0, undefined])
        expect([again.headers.etag, again.headers.vary]).toEqual([etag, vary])
      }
    }
    expect([plain.headers.vary, zipped.headers.vary]).toEqual([vary, vary])
  })

  test('changes with each write: neither form is stale', async () => {
    const before = await ask(pathOf(id), GZIP)
    await comment(id)
    const after = await ask(pathOf(id), { ...GZIP, 'if-none-match': before.headers.etag ?? '' })
    expect([after.status, after.headers['content-encoding']]).toEqual([200, 'gzip'])
    expect(gunzipSync(after.bytes)).toEqual((await ask(pathOf(id))).bytes)
  })

  test('HEAD has the headers of GET, and no body', async () => {
    for (const asked of [{}, GZIP]) {
      const [got, head] = [await ask(pathOf(id), asked), await ask(pathOf(id), asked, 'HEAD')]
      expect([head.status, head.bytes.length]).toEqual([200, 0])
      for (const name of ['etag', 'vary', 'content-encoding', 'content-type', 'content-length']) {
        expect([name, head.headers[name]]).toEqual([name, got.headers[name]])
      }
    }
  })

  test('if small, is plain, and does not vary', async () => {
    const small = await service.newDiscussion()
    await comment(small)
    const { headers } = await ask(pathOf(small), GZIP)
    expect([headers['content-encoding'], headers.vary]).toEqual([
      undefined,
      'X-API-Key, Authorization, X-Service-Identity, X-Service-Site',
    ])
  })

  test("with a reader's own reactions is plain; without any it is shared", async () => {
    const [own, other] = [await service.as('bob'), await service.as('cy')]
    expect((await ask(pathOf(id), { ...GZIP, ...own })).headers['content-encoding']).toBe('gzip')
    await service.ok('POST', `/comments/${last}/reactions`, { type: 'like' }, own)
    const mine = await ask(pathOf(id, '?limit=100'), { ...GZIP, ...own })
    expect(mine.headers['content-encoding']).toBeUndefined()
    expect(mine.bytes.toString()).toContain('"viewerReaction":"like"')
    const theirs = await ask(pathOf(id, '?limit=100'), { ...GZIP, ...other })
    expect(gunzipSync(theirs.bytes).toString()).not.toContain('"viewerReaction":"like"')
  })

  test('is compressed once for all concurrent requests, and both forms count as memory of the cache', async () => {
    const path = pathOf(id, '?limit=17')
    const bytesOf = async (): Promise<number> => (await figuresOf(service.app)).page_cache_bytes ?? NaN
    const plain = await ask(path)
    const before = await bytesOf()
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask(path, GZIP)))
    for (const { bytes } of answers) expect(gunzipSync(bytes)).toEqual(plain.bytes)
    await vi.waitFor(async () => expect((await bytesOf()) - before).toBe(answers[0]?.bytes.length))
  })
})
