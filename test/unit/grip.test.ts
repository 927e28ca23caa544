import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

import { jwtVerify, SignJWT } from 'jose'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'

import { lastSent } from '../../src/api/http/held.ts'
import type { Audience, News } from '../../src/core/events.ts'
import { readSettings } from '../../src/core/settings.ts'
import { Grip } from '../../src/live/grip.ts'
import { beaconOf, itemOf, RECOVER } from '../../src/live/grip-items.ts'
import { Publisher } from '../../src/live/grip-publisher.ts'

const KEY = { tenantId: 'a-tenant', discussionId: 'a-discussion' }
const CHANNEL = 'discussion:a-tenant:a-discussion'

const news = (seq: number, audience: Audience = 'public'): News => ({
  seq,
  type: 'comment_created',
  audience,
  recipientId: audience === 'recipient' ? 'a-reader' : null,
  json: `{"seq":${seq}}`,
})

describe('the settings', () => {
  const read = (env: Record<string, string>) =>
    readSettings(env, () => ({ ADMIN_JWT_SECRET: 'x', ENCRYPTION_KEY: Buffer.alloc(32) }))
  const GRIP_URL = 'http://127.0.0.1:5561'
  const secret = 'a secret of thirty-two characters'
  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })

  test.each([
    ['a text', secret, 'secret'],
    ['base64', `base64:${Buffer.from(secret).toString('base64')}`, 'secret'],
    ['PEM', pair.publicKey.export({ type: 'spki', format: 'pem' }).toString(), 'public'],
    ['a JWK', JSON.stringify(pair.publicKey.export({ format: 'jwk' })), 'public'],
  ])('accept a key as %s', (_form, GRIP_KEY, type) => {
    const key = read({ GRIP_URL, GRIP_KEY }).GRIP_KEY
    expect(key?.type).toBe(type)
    if (type === 'secret') expect(key?.export().toString()).toBe(secret)
  })

  const pem = ({ publicKey }: { publicKey: KeyObject }): string =>
    publicKey.export({ type: 'spki', format: 'pem' }).toString()

  test.each([
    ['RS256', generateKeyPairSync('rsa', { modulusLength: 2048 })],
    ['PS512', generateKeyPairSync('rsa', { modulusLength: 2048 })],
    ['ES256', generateKeyPairSync('ec', { namedCurve: 'P-256' })],
    ['ES384', generateKeyPairSync('ec', { namedCurve: 'P-384' })],
    ['ES512', generateKeyPairSync('ec', { namedCurve: 'P-521' })],
    ['EdDSA', generateKeyPairSync('ed25519')],
  ])('accept a key that verifies tokens of %s', async (alg, keys) => {
    const { GRIP_KEY } = read({ GRIP_URL, GRIP_KEY: pem(keys) })
    if (GRIP_KEY === undefined) throw new Error('there is no key')
    const token = await new SignJWT({}).setProtectedHeader({ alg }).sign(keys.privateKey)
    expect((await jwtVerify(token, GRIP_KEY)).protectedHeader).toEqual({ alg })
  })

  test.each([
    ['X25519', generateKeyPairSync('x25519')],
    ['Ed448', generateKeyPairSync('ed448')],
    ['RSA of 1024 bits', generateKeyPairSync('rsa', { modulusLength: 1024 })],
    ['RSA for PSS alone', generateKeyPairSync('rsa-pss', { modulusLength: 2048 })],
    ['secp256k1', generateKeyPairSync('ec', { namedCurve: 'secp256k1' })],
  ])('refuse a key that signs no tokens: %s', (_kind, keys) => {
    const message = 'GRIP_KEY: is a key that signs no tokens: it must be RSA of at least 2048 bits'
    expect(() => read({ GRIP_URL, GRIP_KEY: pem(keys) })).toThrow(message)
  })

  test('accept several proxies, and none', () => {
    expect(read({ GRIP_URL: `${GRIP_URL}, https://two.example/x`, GRIP_KEY: secret }).GRIP_URL).toEqual([
      GRIP_URL,
      'https://two.example/x',
    ])
    expect(read({}).GRIP_URL).toBeUndefined()
  })

  test.each([
    [{ GRIP_URL }, 'GRIP_KEY: is required with GRIP_URL'],
    [{ GRIP_KEY: secret }, 'GRIP_URL: is required with GRIP_KEY'],
    [{ GRIP_TOKEN: 'a-token' }, 'GRIP_URL: is required with GRIP_TOKEN'],
    [{ GRIP_ISSUER: 'pushpin' }, 'GRIP_URL: is required with GRIP_ISSUER'],
    [{ GRIP_URL: 'tcp://127.0.0.1:5560', GRIP_KEY: secret }, 'GRIP_URL: must be http or https URLs, comma-separated'],
    [{ GRIP_URL, GRIP_KEY: 'changeme' }, 'GRIP_KEY: must be a secret of at least 32 bytes, or a public key'],
    [{ GRIP_URL, GRIP_KEY: '{"kty":"EC"}' }, 'GRIP_KEY: must be a secret of at least 32 bytes, or a public key'],
  ])('are refused: %o', (env, message) => {
    expect(() => read(env)).toThrow(message)
  })
})

describe('an item', () => {
  test("has the event's bytes, its number and the previous one", () => {
    expect(JSON.parse(itemOf(KEY, news(7)))).toEqual({
      channel: CHANNEL,
      id: '7',
      'prev-id': '6',
      formats: { 'http-stream': { content: 'id: 7\nevent: comment_created\ndata: {"seq":7}\n\n' } },
    })
  })

  test.each<Audience>(['tenant', 'recipient'])('of an event for the %s is empty, and keeps its place', (audience) => {
    expect(JSON.parse(itemOf(KEY, news(7, audience)))).toMatchObject({
      id: '7',
      'prev-id': '6',
      formats: { 'http-stream': { content: '' } },
    })
  })
})

test('the last event that a proxy has sent is read from its header, for the right channel', () => {
  expect(lastSent(`other; last-id=3, ${CHANNEL}; last-id=12`, KEY)).toBe('12')
  expect(lastSent([`${CHANNEL}; last-id=4`], KEY)).toBe('4')
  expect(lastSent(`${CHANNEL}x; last-id=4`, KEY)).toBeNull()
  expect(lastSent(undefined, KEY)).toBeNull()
})

describe('a publisher', () => {
  let server: Server
  /** The items of each request, and its answer. */
  const requests: { path: string | undefined; token: string | undefined; items: unknown[] }[] = []
  let answers: (number | 'none')[] = []
  let publisher: Publisher
  const onSent = vi.fn<(items: number) => void>()

  beforeEach(async () => {
    server = createServer((request, response) => {
      void (async () => {
        const chunks: Buffer[] = []
        for await (const chunk of request) chunks.push(chunk as Buffer)
        const { items } = JSON.parse(Buffer.concat(chunks).toString()) as { items: unknown[] }
        requests.push({ path: request.url, token: request.headers.authorization, items })
        const answer = answers.shift() ?? 200
        if (answer === 'none') request.socket.destroy()
        else response.writeHead(answer).end()
      })()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
    publisher = new Publisher({ url, token: 'a-token', log: pino({ level: 'silent' }), onSent })
  })
  afterEach(async () => {
    await publisher.close(0)
    server.close()
    server.closeAllConnections()
    requests.splice(0)
    answers = []
    onSent.mockReset()
  })

  const ids = (): unknown[][] => requests.map(({ items }) => items.map((item) => (item as { id?: unknown }).id ?? item))
  const isDone = (items: number): Promise<void> =>
    vi.waitFor(() => expect(onSent.mock.calls.reduce((sum, [sent]) => sum + sent, 0)).toBe(items))

  test('sends items in order: those of one turn together, and those that arrive meanwhile together', async () => {
    for (const seq of [1, 2, 3]) publisher.push(itemOf(KEY, news(seq)))
    await vi.waitFor(() => expect(requests).toHaveLength(1))
    for (const seq of [4, 5]) publisher.push(itemOf(KEY, news(seq)))
    await isDone(5)
    expect(ids()).toEqual([
      ['1', '2', '3'],
      ['4', '5'],
    ])
    expect(requests[0]).toMatchObject({ path: '/publish/', token: 'Bearer a-token' })
  })

  test('repeats items without an answer or with 503, before later ones', async () => {
    answers = ['none', 503]
    publisher.push(itemOf(KEY, news(1)))
    await vi.waitFor(() => expect(requests).toHaveLength(1))
    publisher.push(itemOf(KEY, news(2)))
    await isDone(2)
    expect(ids()).toEqual([['1'], ['1', '2'], ['1', '2']])
    expect(publisher.size).toBe(0)
  })

  test('logs the host of a proxy that is down, not its credentials', async () => {
    answers = [503]
    const lines: string[] = []
    const log = pino({ base: null }, { write: (line: string) => void lines.push(line) })
    const { port } = server.address() as AddressInfo
    const other = new Publisher({ url: `http://ada:hush@127.0.0.1:${port}`, token: undefined, log, onSent })
    other.push(itemOf(KEY, news(1)))
    await isDone(1)
    expect(lines).toHaveLength(2)
    for (const line of lines) expect(JSON.parse(line)).toMatchObject({ host: `127.0.0.1:${port}` })
    expect(lines.join('')).not.toContain('hush')
  })

  test('makes streams ask for items that a proxy refuses', async () => {
    answers = [413]
    publisher.push(itemOf(KEY, news(1)))
    await isDone(1)
    expect(ids()).toEqual([['1'], [JSON.parse(RECOVER)]])
  })

  test('makes streams ask for items that were tried too long', async () => {
    answers = ['none', 'none', 'none']
    const { port } = server.address() as AddressInfo
    const log = pino({ level: 'silent' })
    const url = `http://127.0.0.1:${port}`
    const other = new Publisher({ url, token: undefined, log, onSent, maxTriedMs: 150 })
    other.push(itemOf(KEY, news(1)))
    await vi.waitFor(() => expect(requests).toHaveLength(1))
    other.push(itemOf(KEY, news(2)))
    await isDone(1)
    expect(ids().at(-1)).toEqual([JSON.parse(RECOVER)])
    other.push(itemOf(KEY, news(3)))
    await isDone(2)
    expect(ids().at(-1)).toEqual(['3'])
  })

  test('makes streams ask for items that were too many to keep', async () => {
    answers = ['none']
    const large = JSON.stringify({ id: 'x'.repeat(1024 * 1024) })
    for (let n = 0; n < 20; n++) publisher.push(large)
    publisher.push(itemOf(KEY, news(1)))
    // Of the large ones those from the 17th on.
    await isDone(6)
    expect(ids()[1]).toEqual([JSON.parse(RECOVER)])
    expect(ids().at(-1)).toEqual(['1'])
  })
})

describe('a discussion that is held', () => {
  const items: string[] = []
  let seq = 10
  const sender = { push: (item: string) => void items.push(item), size: 0, close: () => Promise.resolve() }
  const grip = new Grip([sender], (keys) => Promise.resolve(keys.map((key) => ({ ...key, seq, scrubs: 0 }))))

  test('gets a beacon at the second look after its last event, once, and none long after the hold', async () => {
    grip.watch(KEY, 10, 0)
    await grip.repair(1)
    seq = 12
    await grip.repair(2)
    expect(items).toEqual([])
    await grip.repair(3)
    expect(items).toEqual([beaconOf(KEY, 12)])
    await grip.repair(4)
    expect(items).toHaveLength(1)
    seq = 13
    await grip.repair(1_000_000)
    await grip.repair(1_000_001)
    expect(items).toHaveLength(1)
  })
})
