import { randomBytes } from 'node:crypto'

import { afterAll, beforeAll, expect, test, vi } from 'vitest'

import { onServer } from '../harness/database.ts'
import { addGuest, askFor, confirm, mailsTo, PAGE, proofOf, solve } from '../harness/guests.ts'
import { first, last, type Processes, type ServiceProcess, startProcesses } from '../harness/processes.ts'
import { hang, type Receiver, startReceiver } from '../harness/receiver.ts'
import { ask, type AsksSite, ORIGIN, page } from '../harness/sites.ts'

const WAIT = { timeout: 90_000, interval: 100 }
// A proof takes seconds of a busy core.
const LONG = { timeout: 240_000 }
const [oldKey, newKey] = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64')]

let mailer: Receiver
let service: Processes
let publicKey: string

beforeAll(async () => {
  mailer = await startReceiver()
  const env = { WEBHOOK_CA_FILE: mailer.caFile, TRUSTED_PROXIES: '127.0.0.0/8', ENCRYPTION_KEY: oldKey }
  service = await startProcesses({ api: 2, env })
  const succeed = async (method: string, path: string, body: object) => service.ok(method, path, body)
  await succeed('PATCH', '/settings', { guests: { mailUrl: `${mailer.url}/mails`, hold: 0 } })
  await succeed('POST', '/mail-secrets', {})
  const site = await succeed('POST', '/sites', { name: 'Blog', origins: [ORIGIN], guests: 'email' })
  publicKey = site.publicKey as string
})
afterAll(async () => {
  await service.close()
  await mailer.close()
})

/** A page of the site that asks one process, from an address of the internet of its own. */
let askers = 0
function at(api: ServiceProcess): AsksSite {
  const from = { 'x-forwarded-for': `198.51.100.${++askers}` }
  return {
    ask: (method, path, { headers, ...options } = {}) =>
      ask(`${api.url}/engagement/${publicKey}${path}`, method, { ...options, headers: { ...from, ...headers } }),
  }
}

const both = (n: number): ServiceProcess => (n % 2 === 0 ? first(service.apis) : last(service.apis))

test(
  'one proof that is sent to two processes at once asks for one mail (one process in the embedded form)',
  LONG,
  async () => {
    const proof = await solve(at(both(0)))
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, n) => askFor(at(both(n)), `proof-${n}@example.com`, { proof })),
    )
    expect(answers.filter(({ status }) => status === 202)).toHaveLength(1)
    expect(answers.filter(({ json }) => json.code === 'invalid_proof')).toHaveLength(9)
  },
)

test('a mailbox gets three mails an hour, however many ask two processes at once', LONG, async () => {
  const spellings = ['often@gmail.com', 'Of.Ten@gmail.com', 'often+1@googlemail.com', 'o.f.t.e.n+2@GMAIL.com']
  const asked = await Promise.all(
    Array.from({ length: 8 }, async (_, n) => {
      const site = at(both(n))
      return { site, proof: await solve(site) }
    }),
  )
  const answers = await Promise.all(
    asked.map(({ site, proof }, n) => askFor(site, spellings[n % 4] ?? '', { proof, name: `Asker ${n}` })),
  )
  expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(202))
  const mails = () => mailer.requests.filter(({ body }) => /^o\.?f/i.test(String(body['email'])))
  await vi.waitFor(() => expect(mails()).toHaveLength(3), WAIT)
  // Mails are handed out in their order: with a later one, no other is left.
  await askFor(at(both(0)), 'later@example.com')
  await vi.waitFor(() => expect(mailsTo(mailer, 'later@example.com')).toHaveLength(1), WAIT)
  expect(mails()).toHaveLength(3)
})

test('a guest begins five discussions at once over two processes', LONG, async () => {
  const { token } = await addGuest(at(both(0)), mailer, 'begins@example.com')
  const [one, other] = [at(both(0)), at(both(1))]
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, n) =>
      (n % 2 === 0 ? one : other).ask('POST', `/comments${page(`${ORIGIN}/begun-${n}`)}`, {
        body: { body: `Text ${n}` },
        token,
      }),
    ),
  )
  expect(answers.filter((each) => each.status === 201)).toHaveLength(5)
  expect(answers.filter((each) => each.json.code === 'rate_limited')).toHaveLength(7)
})

const act = async (method: string, path: string, body: object): Promise<void> => {
  const { status, text } = await service.call(method, path, { api: both(0), body })
  expect(status, text).toBe(200)
}
const say = async (n: number, token: string) =>
  at(both(n)).ask('POST', `/comments${page(PAGE)}`, { body: { body: `By process ${n}` }, token })

test('a ban between a mail and its link holds at both processes', LONG, async () => {
  const email = 'banned@example.com'
  const { reader, token } = await addGuest(at(both(0)), mailer, email)
  expect((await say(1, token)).json.status).toBe('approved')
  expect((await askFor(at(both(1)), email)).status).toBe(202)
  await vi.waitFor(() => expect(mailsTo(mailer, email)).toHaveLength(2), WAIT)
  await act('POST', `/readers/${reader.id}/ban`, {})
  const linked = await confirm(at(both(1)), mailer, email, 2)
  expect([linked.status, linked.json.data?.reader.id], linked.text).toEqual([200, reader.id])
  for (const n of [0, 1]) {
    const refused = await say(n, linked.json.data.token)
    expect([refused.status, refused.json.code], refused.text).toEqual([403, 'reader_banned'])
    await vi.waitFor(async () => expect((await say(n, token)).status).toBe(401), WAIT)
  }
})

test('a ban and a confirmation at once, at two processes, let nothing be posted', LONG, async () => {
  const email = 'raced@example.com'
  const { reader } = await addGuest(at(both(0)), mailer, email)
  expect((await askFor(at(both(1)), email)).status).toBe(202)
  await vi.waitFor(() => expect(mailsTo(mailer, email)).toHaveLength(2), WAIT)
  const [linked] = await Promise.all([
    confirm(at(both(1)), mailer, email, 2),
    act('POST', `/readers/${reader.id}/ban`, {}),
  ])
  expect(linked.json.data?.reader.id, linked.text).toBe(reader.id)
  // The ban has ended the sign-in, or came before it.
  for (const n of [0, 1]) expect([401, 403]).toContain((await say(n, linked.json.data.token)).status)
})

test('a trust that is changed between a mail and its link holds at both processes', LONG, async () => {
  const email = 'watched@example.com'
  const { reader } = await addGuest(at(both(0)), mailer, email)
  expect((await askFor(at(both(1)), email)).status).toBe(202)
  await vi.waitFor(() => expect(mailsTo(mailer, email)).toHaveLength(2), WAIT)
  await act('PUT', `/readers/${reader.id}/trust`, { trust: 'hold' })
  const linked = await confirm(at(both(1)), mailer, email, 2)
  expect(linked.json.data?.reader.id, linked.text).toBe(reader.id)
  for (const n of [0, 1]) {
    const held = await say(n, linked.json.data.token)
    expect([held.status, held.json.status], held.text).toEqual([201, 'pending'])
  }
})

test('kill -9 of the worker within hand-outs: each mail is handed out again, under its id', LONG, async () => {
  const addresses = ['killed-0@example.com', 'killed-1@example.com', 'killed-2@example.com']
  mailer.on('/mails', hang)
  for (const address of addresses.slice(0, 2)) expect((await askFor(at(both(0)), address)).status).toBe(202)
  const mails = () => addresses.flatMap((address) => mailsTo(mailer, address))
  await vi.waitFor(() => expect(mails()).toHaveLength(2), WAIT)
  // This one may have begun as well: it must come in any case.
  expect((await askFor(at(both(1)), addresses[2] ?? '')).status).toBe(202)
  await first(service.workers).kill()
  mailer.on('/mails', null)
  const before = mails()
  await first(service.workers).start()
  await vi.waitFor(() => {
    for (const address of addresses) {
      const begun = before.filter(({ body }) => body['email'] === address)
      expect(mailsTo(mailer, address).length, address).toBe(begun.length + 1)
    }
  }, WAIT)
  for (const address of addresses) {
    const ids = new Set(mailsTo(mailer, address).map(({ headers }) => headers['webhook-id']))
    expect(ids.size, address).toBe(1)
    expect((await confirm(at(both(0)), mailer, address)).status, address).toBe(200)
  }
})

test.runIf(onServer)(
  'a rotation of ENCRYPTION_KEY between a mail and its link makes no second guest',
  LONG,
  async () => {
    const { reader } = await addGuest(at(both(0)), mailer, 'rotated@example.com')
    expect((await askFor(at(both(1)), 'rotated@example.com', { pageUrl: PAGE })).status).toBe(202)
    await vi.waitFor(() => expect(mailsTo(mailer, 'rotated@example.com')).toHaveLength(2), WAIT)
    const challenge = (await at(both(0)).ask('GET', '/challenge')).json as Parameters<typeof proofOf>[0]
    for (const process of [...service.apis, ...service.workers]) {
      await process.stop()
      await process.start({ ENCRYPTION_KEY: newKey, ENCRYPTION_KEYS: oldKey })
    }
    const linked = await confirm(at(both(0)), mailer, 'rotated@example.com', 2)
    expect([linked.status, linked.json.data?.reader.id]).toEqual([200, reader.id])
    // A challenge of the former key is still one.
    const proof = await proofOf(challenge)
    expect((await askFor(at(both(1)), 'Rotated@Example.com', { proof })).status).toBe(202)
    const again = await confirm(at(both(1)), mailer, 'Rotated@Example.com')
    expect([again.status, again.json.data?.reader.id]).toEqual([200, reader.id])
  },
)
