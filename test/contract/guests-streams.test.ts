import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'

import { hubOf } from '../../src/live/hub.ts'
import { addGuest, addGuestSite, easeProofs, startHandingOut } from '../harness/guests.ts'
import { type Receiver, startReceiver } from '../harness/receiver.ts'
import { startService, type TestService } from '../harness/service.ts'
import { now, ORIGIN, page, type TestSite } from '../harness/sites.ts'
import { unnamed } from '../harness/sql.ts'
import { openStream } from '../harness/stream-client.ts'

let mailer: Receiver
let service: TestService
let site: TestSite
let stopHandingOut: () => Promise<unknown>
let discussionId: string

beforeAll(async () => {
  easeProofs()
  mailer = await startReceiver()
  service = await startService({ worker: false, env: { WEBHOOK_CA_FILE: mailer.caFile } })
  site = await addGuestSite(service, service, { mailUrl: `${mailer.url}/mails` })
  stopHandingOut = await startHandingOut(service.app)
  const token = await site.token()
  const { status, json } = await site.ask('POST', `/comments${page()}`, { body: { body: 'First' }, token })
  expect(status).toBe(201)
  ;({ discussionId } = json)
})
// All tests come from one address of the internet.
beforeEach(() => {
  for (const kind of ['guest', 'guestLink'] as const)
    service.app.limits.giveBack(kind, `${site.id}/127.0.0.1`, { perSecond: 1, burst: 10 }, 10)
})
afterAll(async () => {
  await stopHandingOut()
  await service.close()
  await mailer.close()
})

const headers = { origin: ORIGIN }

async function openByTicket(token: string) {
  const { status, json } = await site.ask('POST', `/ticket${page()}`, { token })
  expect(status).toBe(201)
  const stream = await openStream(json.streamUrl, headers)
  expect(stream.status).toBe(200)
  return { stream, again: () => openStream(json.streamUrl, headers) }
}

async function subscribe(token: string) {
  const query = 'subscription ($id: ID!) { discussionEvents(discussionId: $id) { seq } }'
  const response = await fetch(`${service.url}/graphql`, {
    method: 'POST',
    headers: {
      ...headers,
      'content-type': 'application/json',
      accept: 'text/event-stream',
      'x-service-site': site.publicKey,
      authorization: `Bearer ${token}`,
    },
    body: JSON.stringify({ query, variables: { id: discussionId } }),
  })
  expect(response.status).toBe(200)
  const subscription = { isOver: false }
  const over = (): void => void (subscription.isOver = true)
  response.text().then(over, over)
  return subscription
}

const forget = (readerId: string) =>
  service.app.db.query(unnamed('DELETE FROM guest_tokens WHERE reader_id = $1'), [readerId])

let guests = 0

describe('streams of a guest', () => {
  test.each<[string, (guest: { token: string; reader: { id: string } }) => Promise<unknown>]>([
    ['a ban', ({ reader }) => service.call('POST', `/readers/${reader.id}/ban`, { body: {} })],
    ['an erasure', ({ reader }) => service.call('DELETE', `/readers/${reader.id}`)],
    ['their sign-out', ({ token }) => site.ask('DELETE', '/guests/me?signedIn=1', { token })],
    [
      'a repair, where no message came',
      async ({ reader }) => {
        await forget(reader.id)
        await hubOf(service.app).repair()
      },
    ],
  ])('end with %s, and those of others do not', async (_name, end) => {
    const other = await addGuest(site, mailer, `other-${++guests}@example.com`)
    const stays = await openByTicket(other.token)
    const guest = await addGuest(site, mailer, `guest-${guests}@example.com`)
    const opened = await openByTicket(guest.token)
    const subscription = await subscribe(guest.token)
    await end(guest)
    await vi.waitFor(() => expect([opened.stream.closed, subscription.isOver]).toEqual([true, true]))
    const refused = await opened.again()
    expect([refused.status, refused.text]).toEqual([401, expect.stringContaining('invalid_ticket')])
    await hubOf(service.app).repair()
    expect(stays.stream.closed).toBe(false)
    stays.stream.close()
  })
})

test('streams of a reader end with the token of the issuer, and its ticket as well', async () => {
  // The clock may differ by 60 s.
  const token = await site.token({ sub: 'short', iat: now() - 100, exp: now() - 57 })
  const opened = await openByTicket(token)
  const subscription = await subscribe(token)
  await vi.waitFor(() => expect([opened.stream.closed, subscription.isOver]).toEqual([true, true]), 10_000)
  const refused = await opened.again()
  expect([refused.status, refused.text]).toEqual([401, expect.stringContaining('expired_ticket')])
})
