import { beforeAll, describe, expect, test, vi } from 'vitest'

import { hubOf } from '../../src/live/hub.ts'
import { useGuestSite } from '../harness/guest-sites.ts'
import { addGuest, PAGE } from '../harness/guests.ts'
import { now, ORIGIN, page } from '../harness/sites.ts'
import { openStream } from '../harness/stream-client.ts'

const at = useGuestSite()
let discussionId: string

beforeAll(async () => {
  const { status, json } = await at.post(await at.site.token(), PAGE, 'First')
  expect(status).toBe(201)
  ;({ discussionId } = json)
})

const headers = { origin: ORIGIN }

async function openByTicket(token: string) {
  const { status, json } = await at.site.ask('POST', `/ticket${page()}`, { token })
  expect(status).toBe(201)
  const stream = await openStream(json.streamUrl, headers)
  expect(stream.status).toBe(200)
  return { stream, again: () => openStream(json.streamUrl, headers) }
}

async function subscribe(token: string) {
  const query = 'subscription ($id: ID!) { discussionEvents(discussionId: $id) { seq } }'
  const response = await fetch(`${at.service.url}/graphql`, {
    method: 'POST',
    headers: {
      ...headers,
      'content-type': 'application/json',
      accept: 'text/event-stream',
      'x-service-site': at.site.publicKey,
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

const forget = (readerId: string) => at.query('DELETE FROM guest_tokens WHERE reader_id = $1', [readerId])

let guests = 0

describe('streams of a guest', () => {
  test.each<[string, (guest: { token: string; reader: { id: string } }) => Promise<unknown>]>([
    ['a ban', ({ reader }) => at.service.call('POST', `/readers/${reader.id}/ban`, { body: {} })],
    ['an erasure', ({ reader }) => at.service.call('DELETE', `/readers/${reader.id}`)],
    ['their sign-out', ({ token }) => at.site.ask('DELETE', '/guests/me?signedIn=1', { token })],
    [
      'a repair, where no message came',
      async ({ reader }) => {
        await forget(reader.id)
        await hubOf(at.service.app).repair()
      },
    ],
  ])('end with %s, and those of others do not', async (_name, end) => {
    const other = await addGuest(at.site, at.mailer, `other-${++guests}@example.com`)
    const stays = await openByTicket(other.token)
    const guest = await addGuest(at.site, at.mailer, `guest-${guests}@example.com`)
    const opened = await openByTicket(guest.token)
    const subscription = await subscribe(guest.token)
    await end(guest)
    await vi.waitFor(() => expect([opened.stream.closed, subscription.isOver]).toEqual([true, true]))
    const refused = await opened.again()
    expect([refused.status, refused.text]).toEqual([401, expect.stringContaining('invalid_ticket')])
    await hubOf(at.service.app).repair()
    expect(stays.stream.closed).toBe(false)
    stays.stream.close()
  })
})

test('the ticket of a guest names them as the page does', async () => {
  const { token } = await addGuest(at.site, at.mailer, `guest-${++guests}@example.com`)
  const { json } = await at.site.ask('GET', `/thread${page()}&signedIn=1`, { token })
  expect(json.ticket.recipient.externalId).toBe(json.reader.id)
})

test('streams of a reader end with the token of the issuer, and its ticket as well', async () => {
  // The clock may differ by 60 s.
  const token = await at.site.token({ sub: 'short', iat: now() - 100, exp: now() - 57 })
  const opened = await openByTicket(token)
  const subscription = await subscribe(token)
  await vi.waitFor(() => expect([opened.stream.closed, subscription.isOver]).toEqual([true, true]))
  const refused = await opened.again()
  expect([refused.status, refused.text]).toEqual([401, expect.stringContaining('expired_ticket')])
})
