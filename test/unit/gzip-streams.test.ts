import { once } from 'node:events'
import { createServer, get, type ServerResponse } from 'node:http'
import { connect, createServer as createServer2 } from 'node:http2'
import type { AddressInfo } from 'node:net'
import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { crc32, createGunzip, gunzipSync } from 'node:zlib'

import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'

import { type Chunk, chunkOf } from '../../src/live/streams/chunk.ts'
import { checksumOf, deflate, GZIP_HEAD, GzipSums } from '../../src/live/streams/deflate.ts'
import { HEARTBEAT } from '../../src/live/streams/frames.ts'
import { Outlet } from '../../src/live/streams/outlet.ts'
import { effort } from '../harness/effort.ts'

/** Texts of events, and bytes that no compression makes smaller. */
const BYTES = fc.oneof(
  fc.string().map((text) => Buffer.from(text)),
  fc
    .tuple(fc.string({ minLength: 1 }), fc.integer({ min: 1, max: 3000 }))
    .map(([text, n]) => Buffer.from(text.repeat(n))),
  fc.uint8Array({ maxLength: 600 }).map((bytes) => Buffer.from(bytes)),
  fc
    .integer({ min: 65_534, max: 140_000 })
    .chain((length) =>
      fc.noShrink(fc.infiniteStream(fc.nat(255))).map((random) => Buffer.from([...random.take(length)])),
    ),
)
/** Most of them short. */
const CHUNKS = fc.array(
  fc.oneof({ weight: 5, arbitrary: fc.jsonValue().map((json) => Buffer.from(JSON.stringify(json))) }, BYTES),
  {
    maxLength: 12,
  },
)

/** A gzip stream of these chunks. */
function streamOf(chunks: readonly Chunk[]): Buffer {
  const sums = new GzipSums()
  for (const { deflated } of chunks) sums.add(deflated)
  return Buffer.concat([GZIP_HEAD, ...chunks.map(({ deflated }) => deflated.bytes), sums.trailer()])
}

test('any chunks in any order form one gzip stream, with a valid checksum, whatever was sent before them', () => {
  fc.assert(
    fc.property(CHUNKS, fc.array(fc.nat(11)), (parts, order) => {
      const chunks = parts.map((part) => chunkOf([part]))
      const sent = order.flatMap((n) => chunks[n] ?? [])
      expect(gunzipSync(streamOf(sent)).equals(Buffer.concat(sent.map(({ bytes }) => bytes)))).toBe(true)
    }),
    { numRuns: effort(200, 60) },
  )
})

test('the combined checksum of parts equals that of the whole', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 5000 })), (parts) => {
      const sums = new GzipSums()
      for (const part of parts) sums.add(checksumOf(Buffer.from(part)))
      const whole = Buffer.concat(parts)
      expect(sums.trailer().subarray(2).readUInt32LE(0)).toBe(crc32(whole))
      expect(sums.trailer().subarray(2).readUInt32LE(4)).toBe(whole.length)
    }),
  )
})

test('a chunk never grows by more than its framing, and ends with an empty block', () => {
  fc.assert(
    fc.property(BYTES, (bytes) => {
      const deflated = deflate(bytes)
      expect(deflated.length).toBeLessThanOrEqual(bytes.length + 5 * (Math.ceil(bytes.length / 65_535) + 1))
      expect(deflated.subarray(-4)).toEqual(Buffer.from([0, 0, 0xff, 0xff]))
    }),
  )
})

class TestOutlet extends Outlet {
  constructor(response: ServerResponse, isGzip: boolean) {
    super(response, { heartbeatMs: 0, isGzip })
    this.begin({}, chunkOf(['first']), true)
  }

  override write(chunk: Chunk): void {
    super.write(chunk)
  }

  end(): void {
    this.finish(chunkOf(['goodbye']))
  }

  protected closed(): void {}
}

/** Outlets as a server has them: each request is one, compressed where the path says so. */
const outlets: TestOutlet[] = []
const onRequest = ({ url }: { url?: string | undefined }, response: unknown): void =>
  void outlets.push(new TestOutlet(response as ServerResponse, url === '/gzip'))
const server = createServer(onRequest)
const server2 = createServer2(onRequest)
const portOf = (listening: { address(): unknown }): number => (listening.address() as AddressInfo).port

beforeAll(async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  await once(server2.listen(0, '127.0.0.1'), 'listening')
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
  server2.close()
})

const openers = {
  'HTTP/1.1': async (path: string): Promise<Readable> => {
    const request = get({ port: portOf(server), path, agent: false })
    const [response] = (await once(request, 'response')) as [Readable]
    return response
  },
  'HTTP/2': async (path: string): Promise<Readable> => {
    const session = connect(`http://127.0.0.1:${portOf(server2)}`)
    const stream = session.request({ ':path': path })
    await once(stream, 'response')
    return stream.once('close', () => session.close())
  },
}

type Step = 'join' | 'heartbeat' | number

describe.each(Object.entries(openers))('%s', (_name, open) => {
  test('compressed streams that join at any time contain the bytes of plain ones', async () => {
    const steps = fc.array(fc.oneof(fc.constantFrom<Step[]>('join', 'heartbeat'), fc.nat(11)), { maxLength: 20 })
    await fc.assert(
      fc.asyncProperty(CHUNKS, steps, async (parts, order) => {
        outlets.length = 0
        // An empty chunk of HTTP/1.1 would be the end.
        const chunks = parts.filter(({ length }) => length > 0).map((part) => chunkOf([part]))
        const pairs: Promise<Buffer>[][] = []
        for (const step of ['join', ...order] satisfies Step[]) {
          if (step === 'join') {
            const [plain, zipped] = [await open('/plain'), await open('/gzip')]
            pairs.push([buffer(plain), buffer(zipped)])
            continue
          }
          const chunk = step === 'heartbeat' ? HEARTBEAT : chunks[step]
          if (chunk !== undefined) for (const outlet of outlets) outlet.write(chunk)
        }
        for (const outlet of outlets) outlet.end()
        for (const pair of pairs) {
          const [plain, zipped] = await Promise.all(pair)
          expect(gunzipSync(zipped ?? '').equals(plain ?? Buffer.alloc(0))).toBe(true)
        }
      }),
      { numRuns: effort(60, 20) },
    )
  })

  test('each chunk reaches the client before the next one is sent', async () => {
    outlets.length = 0
    let text = ''
    const body = (await open('/gzip')).pipe(createGunzip()).setEncoding('utf8')
    body.on('data', (part: string) => (text += part))
    for (const part of ['x', 'y'.repeat(100), 'z'.repeat(100_000)]) {
      outlets[0]?.write(chunkOf([part]))
      await vi.waitFor(() => expect(text.endsWith(part)).toBe(true))
    }
    outlets[0]?.end()
    await once(body, 'end')
    expect(text.endsWith('goodbye')).toBe(true)
  })

  test('a chunk is compressed once for all streams, and not at all for plain ones', async () => {
    outlets.length = 0
    const answers = [await open('/plain'), await open('/gzip'), await open('/gzip')]
    const [first, ...zipped] = outlets
    const chunk = chunkOf(['x'.repeat(1000)])
    const compress = vi.spyOn(chunk, 'deflated', 'get')
    first?.write(chunk)
    expect(compress).not.toHaveBeenCalled()
    compress.mockRestore()
    const { deflated } = chunk
    for (const outlet of zipped) outlet.write(chunk)
    expect(chunk.deflated).toBe(deflated)
    for (const outlet of outlets) outlet.end()
    for (const answer of answers) answer.resume()
  })
})
