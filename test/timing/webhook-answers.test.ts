import { gzipSync, brotliCompressSync, deflateSync } from 'node:zlib'

import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'

import { openOutbound, type Outbound } from '../../src/outbound/outbound.ts'
import { effort } from '../harness/effort.ts'
import { type RawAnswer, type RawReceiver, startRawReceiver } from '../harness/raw-receiver.ts'
import { SEED } from '../harness/seed.ts'

let receiver: RawReceiver
let outbound: Outbound
let counter = 0

beforeAll(async () => {
  receiver = await startRawReceiver()
  outbound = openOutbound({
    WEBHOOK_ALLOWED_CIDRS: ['127.0.0.0/8'],
    WEBHOOK_ALLOWED_PORTS: [[1024, 65_535]],
    WEBHOOK_ALLOW_HTTP: false,
    WEBHOOK_CA_FILE: receiver.caFile,
  })
})
afterAll(async () => {
  outbound.close()
  await receiver.close()
})

/** Longer than the machine may stall. */
const LONG_MS = 60_000
/** For an answer whose head never comes. */
const SHORT_MS = 2000

const post = (path: string, { timeoutMs = LONG_MS, logsBody = true, body = '{}' } = {}) => {
  const { signal } = new AbortController()
  return outbound.post({ url: receiver.url + path, headers: {}, body, timeoutMs, logsBody, signal })
}

const newPath = (): string => `/answer-${++counter}`

const bytes = (text: string): Buffer => Buffer.from(text, 'latin1')

/** A proper answer that no other one can be taken for. */
const own = (token: string): RawAnswer => ({
  pieces: [bytes(`HTTP/1.1 503 Own\r\nContent-Length: ${token.length}\r\n\r\n${token}`)],
})

// ——— Heads.

const informational = fc.array(
  fc.constantFrom(
    'HTTP/1.1 100 Continue\r\n\r\n',
    'HTTP/1.1 102 Processing\r\n\r\n',
    'HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n',
  ),
  { maxLength: 2 },
)
const reason = fc.constantFrom(' OK', ' ', '', ' No \xe9\xe0', ' a b\tc', ` ${'long '.repeat(200)}`, ' 500 Error')
const header = fc.constantFrom(
  'Server: x',
  'X-Empty:',
  'X-Spaces:    v   ',
  'x-same: 1\r\nX-Same: 2',
  'Set-Cookie: a=b\r\nSet-Cookie: c=d',
  'X-Folded: one\r\n  two\r\n\tthree',
  'X-Bytes: \xff\xfe\x80',
  'No Colon Here',
  'Bad Name: x',
  ': no name',
  'X-Control: \x01\x02',
  `X-Long: ${'y'.repeat(30_000)}`,
  ...Array.from({ length: 3 }, (_each, place) =>
    Array.from({ length: 150 }, (_, n) => `X-${place}-${n}: v`).join('\r\n'),
  ),
  'Connection: close',
  'Connection: keep-alive\r\nKeep-Alive: timeout=1',
  'Connection: upgrade\r\nUpgrade: h2c',
  'Trailer: X-Sum',
  'Content-Type: text/html; charset=nonsense',
  'Location: https://169.254.169.254/',
  'Retry-After: nonsense',
  'Date: never',
)

// ——— Bodies, with the headers that tell of them.

interface Body {
  headers: string[]
  bytes: Buffer
}

const ENCODINGS: Readonly<Record<string, (plain: Buffer) => Buffer>> = {
  identity: (plain) => plain,
  gzip: (plain) => gzipSync(plain),
  'x-gzip': (plain) => gzipSync(plain),
  deflate: (plain) => deflateSync(plain),
  br: (plain) => brotliCompressSync(plain),
  'gzip, gzip': (plain) => gzipSync(gzipSync(plain)),
  zstd: (plain) => plain,
  nonsense: (plain) => plain,
  // Says it, and is not.
  GZIP: (plain) => plain,
  'br ': (plain) => plain,
}

const content = fc
  .record({
    encoding: fc.option(fc.constantFrom(...Object.keys(ENCODINGS)), { nil: undefined }),
    plain: fc.oneof(
      fc.constant(Buffer.alloc(0)),
      fc.constant(bytes('ok')),
      fc.uint8Array({ maxLength: 200 }).map((array) => Buffer.from(array)),
      fc.constant(Buffer.alloc(200_000, 'x')),
    ),
    isLie: fc.boolean(),
  })
  .map(({ encoding, plain, isLie }): Body => {
    if (encoding === undefined) return { headers: [], bytes: plain }
    return {
      headers: [`Content-Encoding: ${encoding}`],
      bytes: isLie ? plain : (ENCODINGS[encoding]?.(plain) ?? plain),
    }
  })

const chunked = (body: Buffer, end = '0\r\n\r\n'): Buffer =>
  Buffer.concat([bytes(`${body.length.toString(16)}\r\n`), body, bytes('\r\n'), bytes(end)])

/** Ways to send a body: what the headers say of its length, and the bytes that come. */
const FRAMINGS: readonly ((body: Buffer) => Body)[] = [
  (body) => ({ headers: [`Content-Length: ${body.length}`], bytes: body }),
  (body) => ({ headers: [`Content-Length: ${body.length + 10}`], bytes: body }),
  (body) => ({ headers: ['Content-Length: 1'], bytes: body }),
  (body) => ({ headers: ['Content-Length: 0'], bytes: body }),
  (body) => ({ headers: [], bytes: body }),
  (body) => ({ headers: [`Content-Length: ${body.length}`, `Content-Length: ${body.length}`], bytes: body }),
  (body) => ({ headers: ['Content-Length: 1', 'Content-Length: 2'], bytes: body }),
  (body) => ({ headers: ['Content-Length: -1'], bytes: body }),
  (body) => ({ headers: ['Content-Length: many'], bytes: body }),
  (body) => ({ headers: ['Content-Length: 99999999999999999999999'], bytes: body }),
  (body) => ({ headers: ['Transfer-Encoding: chunked'], bytes: chunked(body) }),
  (body) => ({ headers: ['Transfer-Encoding: chunked'], bytes: chunked(body, '0\r\nX-Sum: 1\r\n\r\n') }),
  (body) => ({ headers: ['Transfer-Encoding: chunked'], bytes: chunked(body, '') }),
  (body) => ({ headers: ['Transfer-Encoding: chunked'], bytes: chunked(body, 'zz\r\n') }),
  (body) => ({ headers: ['Transfer-Encoding: chunked'], bytes: body }),
  (body) => ({ headers: ['Transfer-Encoding: gzip, chunked'], bytes: chunked(body) }),
  (body) => ({ headers: ['Transfer-Encoding: nonsense'], bytes: body }),
  (body) => ({ headers: ['Transfer-Encoding: chunked', `Content-Length: ${body.length}`], bytes: chunked(body) }),
  (body) => ({ headers: [`Content-Length: ${body.length}`, 'Transfer-Encoding: chunked'], bytes: body }),
]

const answers = fc.record({
  status: fc.oneof(fc.integer({ min: 200, max: 299 }), fc.integer({ min: 200, max: 599 })),
  version: fc.constantFrom('1.1', '1.1', '1.0'),
  informational,
  reason,
  headers: fc.array(header, { maxLength: 3 }),
  content,
  framing: fc.constantFrom(...FRAMINGS),
  lineEnd: fc.constantFrom('\r\n', '\r\n', '\n'),
  /** Bytes that follow the answer. */
  more: fc.constantFrom('', '', ' and more', 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfake'),
  cuts: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 3 }),
  pauseMs: fc.constantFrom(0, 1, 20),
  end: fc.constantFrom('keep', 'close', 'reset') satisfies fc.Arbitrary<RawAnswer['end']>,
  isEarly: fc.boolean(),
  /** The length of the request's body: more than a socket takes at once, or little. */
  sent: fc.constantFrom(2, 2, 400_000),
})

type Answer = typeof answers extends fc.Arbitrary<infer T> ? T : never

function rawOf({ content: plain, framing, ...answer }: Answer): RawAnswer {
  const body = framing(plain.bytes)
  const lines = [...answer.headers, ...plain.headers, ...body.headers]
  const head = [`HTTP/${answer.version} ${answer.status}${answer.reason}`, ...lines, '', ''].join(answer.lineEnd)
  const whole = Buffer.concat([bytes(answer.informational.join('') + head), body.bytes, bytes(answer.more)])
  const places = [0, ...answer.cuts.map((cut) => Math.floor(cut * whole.length)).sort((a, b) => a - b), whole.length]
  const pieces = places.slice(1).map((end, place) => whole.subarray(places[place], end))
  return { ...answer, pieces: pieces.filter(({ length }) => length > 0) }
}

/** What is wrong with how an answer was taken; null for nothing. */
async function faultOf(answer: Answer): Promise<string | null> {
  const path = newPath()
  const raw = rawOf(answer)
  receiver.on(path, raw, own(path))
  const first = await post(path, { body: 'x'.repeat(answer.sent) })
  await receiver.settled(path)
  // What follows the answer has come by then.
  await new Promise((resolve) => setTimeout(resolve, 100))
  const second = await post(path)
  const isTaken = first.statusCode === answer.status && first.error === null && first.body.length <= 65_536
  const isOwn = second.statusCode === 503 && second.error === null && second.body.toString() === path
  if (isTaken && isOwn) return null
  const shown = ({ body, ...rest }: typeof first): string =>
    JSON.stringify({ ...rest, body: body.toString('latin1').slice(0, 100) })
  const text = Buffer.concat(raw.pieces).toString('latin1').slice(0, 400)
  return JSON.stringify([answer.sent, raw.end, raw.isEarly, raw.pieces.length, text]) + shown(first) + shown(second)
}

describe('an answer of any form', () => {
  test('counts by the status of its head, and its connection gives no other request an answer', async () => {
    const list = fc.sample(answers, { numRuns: effort(1200, 400), seed: SEED })
    const faults: string[] = []
    // So many at once: most of the time they wait.
    const lines = Array.from({ length: 40 }, async () => {
      for (let answer = list.pop(); answer !== undefined; answer = list.pop()) {
        const fault = await faultOf(answer)
        if (fault !== null) faults.push(fault)
      }
    })
    await Promise.all(lines)
    expect(faults.slice(0, 5), `${faults.length} faults`).toEqual([])
  })
})

describe('a 2xx is a delivery, whatever becomes of its body:', () => {
  const SILENT = 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n'
  // Brotli ends within the first piece, so that the answer is read when its connection breaks off.
  const BROTLI_HEAD = 'HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 100\r\n\r\n'
  const LONG_BROTLI = {
    pieces: [Buffer.concat([bytes(BROTLI_HEAD), brotliCompressSync('ok'), bytes('more')]), bytes('x')],
    pauseMs: 100,
  }
  const DRIPS = Array.from({ length: 200 }, () => bytes('x'))
  test.each<[string, RawAnswer, object]>([
    [
      '204 with a length',
      { pieces: [bytes('HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\nok')] },
      { statusCode: 204 },
    ],
    [
      '204 in chunks',
      { pieces: [bytes('HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n')] },
      { statusCode: 204 },
    ],
    [
      'a body that is not gzip',
      { pieces: [bytes('HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\nok')] },
      { statusCode: 200 },
    ],
    ['shorter than it says', { pieces: [bytes(`${SILENT}ok`)], end: 'close' }, { body: bytes('ok') }],
    ['longer than it says', { pieces: [bytes('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok and more')] }, {}],
    ['silent', { pieces: [bytes(SILENT)] }, { body: bytes('') }],
    ['half, then silent', { pieces: [bytes(`${SILENT}half`)] }, { body: bytes('half') }],
    ['dripping', { pieces: [bytes('HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n'), ...DRIPS], pauseMs: 50 }, {}],
    ['reset', { pieces: [bytes(`${SILENT}half`)], end: 'reset' }, { body: bytes('half') }],
    ['unpacked before its end, then a reset', { ...LONG_BROTLI, end: 'reset' }, { body: bytes('ok') }],
    ['unpacked before its end, then a close', { ...LONG_BROTLI, end: 'close' }, { body: bytes('ok') }],
  ])('%s', async (_name, answer, expected) => {
    const path = newPath()
    receiver.on(path, answer, own(path))
    const began = performance.now()
    expect(await post(path)).toMatchObject({ error: null, ...expected })
    // The body has one second, not the minute of the attempt.
    expect(performance.now() - began).toBeLessThan(20_000)
    expect(await post(path)).toMatchObject({ statusCode: 503, body: bytes(path) })
  })

  test('a body that is read, not logged, must be complete and in time', async () => {
    const path = newPath()
    receiver.on(path, { pieces: [bytes(`${SILENT}half`)] })
    expect(await post(path, { logsBody: false, timeoutMs: SHORT_MS })).toMatchObject({ error: 'timeout' })
  })
})

describe('no delivery', () => {
  test.each<[string, RawAnswer, string]>([
    ['no head', { pieces: [] }, 'timeout'],
    ['half a status line', { pieces: [bytes('HTTP/1.1 20')] }, 'timeout'],
    ['a head without an end', { pieces: [bytes('HTTP/1.1 200 OK\r\nX: y\r\n')] }, 'timeout'],
    ['only an informational head', { pieces: [bytes('HTTP/1.1 103 Early Hints\r\n\r\n')] }, 'timeout'],
    [
      'a head of more than 64 KiB',
      { pieces: [bytes(`HTTP/1.1 200 OK\r\nX: ${'y'.repeat(70_000)}\r\n\r\n`)] },
      'the answer is not HTTP',
    ],
    ['no HTTP', { pieces: [bytes('SSH-2.0-OpenSSH\r\n\r\n')] }, 'the answer is not HTTP'],
    ['a 200 of another protocol', { pieces: [bytes('ICY 200 OK\r\n\r\n')] }, 'the answer is not HTTP'],
    ['a body alone', { pieces: [bytes('200 OK\r\n\r\n')] }, 'the answer is not HTTP'],
    [
      'half a head, then a close',
      { pieces: [bytes('HTTP/1.1 200 OK\r\nX: y\r\n')], end: 'close' },
      'connection closed by the receiver',
    ],
  ])('is %s', async (_name, answer, error) => {
    const path = newPath()
    receiver.on(path, answer)
    expect(await post(path, { timeoutMs: SHORT_MS })).toMatchObject({ statusCode: null, error })
  })

  test('is a change of the protocol', async () => {
    const path = newPath()
    receiver.on(path, {
      pieces: [bytes('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n')],
    })
    expect(await post(path)).toMatchObject({ statusCode: 101 })
  })
})

describe('a connection', () => {
  const OK = bytes('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
  const FAKE = bytes('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfake')
  const portsOf = (path: string): number[] => receiver.requests(path).map(({ port }) => port)

  test('serves the next request where an answer was clean', async () => {
    const path = newPath()
    receiver.on(path, { pieces: [OK] })
    await post(path)
    await post(path)
    expect(new Set(portsOf(path)).size).toBe(1)
  })

  test('that has an answer waiting is closed before its next request', async () => {
    const path = newPath()
    receiver.on(path, { pieces: [OK, FAKE], pauseMs: 50 }, own(path))
    await post(path)
    await vi.waitFor(async () => {
      await new Promise((resolve) => setTimeout(resolve, 100))
      expect(await post(path)).toMatchObject({ statusCode: 503, body: bytes(path) })
    })
    expect(new Set(portsOf(path)).size).toBe(2)
  })

  test('of one URL serves no other one: its receiver answers for itself alone', async () => {
    const [path, other] = [newPath(), newPath()]
    receiver.on(path, { pieces: [OK] })
    receiver.on(other, { pieces: [OK] })
    await post(path)
    await post(other)
    expect(portsOf(path)).not.toEqual(portsOf(other))
  })
})
