import { afterAll, beforeAll, expect, test, vi } from 'vitest'

import { exportText, importText } from '../harness/exports.ts'
import { furnish, keyOf, READER, resourceOf, type Side } from '../harness/resources.ts'
import { DESCRIBED_ROUTES, requestOf, sampleOf } from '../harness/routes.ts'
import { type TestTenant, useService } from '../harness/service.ts'
import { openStream, type StreamClient } from '../harness/stream-client.ts'
import { digestOf } from '../harness/tenant-rows.ts'

// An import of an export keeps ids, so two tenants may have discussions with the same id.

const service = useService({ env: { WEBHOOK_ALLOW_HTTP: 'true' } })
let theirs: Side
let mine: TestTenant
let admin: Record<string, string>
const streams: StreamClient[] = []

beforeAll(async () => {
  theirs = await furnish(service, service, 'theirs')
  mine = await service.addTenant('twin')
  await importText(service.app, mine, await exportText(service.app, theirs))
  const login = { headers: { 'x-api-key': '' }, body: mine.admin }
  const { json } = await service.call('POST', '/admin/auth/login', login)
  admin = { authorization: `Bearer ${json.token}` }
})

afterAll(() => streams.forEach((stream) => stream.close()))

/** Listens to the discussion that both have, as one of them. */
async function listen(side: TestTenant): Promise<StreamClient> {
  const stream = await openStream(`${service.url}/api/v1/stream/${theirs.ids.discussion}`, keyOf(side))
  streams.push(stream)
  await vi.waitFor(() => expect(stream.connected).toBeDefined())
  return stream
}

async function post(side: TestTenant, body: string): Promise<string> {
  const headers = { ...keyOf(side), ...(await side.as(READER)) }
  const path = `/discussions/${theirs.ids.discussion}/comments`
  return (await service.ok('POST', path, { body }, headers)).id
}

const commentsOf = ({ events }: StreamClient): string[] =>
  events.filter(({ event }) => event === 'comment_created').map(({ data }) => data.data.comment.id)

test('each gets its own events of a discussion id that both have', async () => {
  const [ofTheirs, ofMine] = await Promise.all([listen(theirs), listen(mine)])
  // At once: some of them go together in one statement.
  const posted = await Promise.all(
    Array.from({ length: 12 }, async (_, n) => ({
      side: n % 2,
      id: await post(n % 2 === 0 ? theirs : mine, `No. ${n}`),
    })),
  )
  const idsOf = (side: number) => posted.filter((each) => each.side === side).map(({ id }) => id)
  await vi.waitFor(() => {
    expect(commentsOf(ofTheirs).toSorted()).toEqual(idsOf(0).toSorted())
    expect(commentsOf(ofMine).toSorted()).toEqual(idsOf(1).toSorted())
  })
  for (const { seqs } of [ofTheirs, ofMine]) {
    const [first = 0] = seqs
    expect(seqs).toEqual(seqs.map((_, index) => first + index))
  }
})

// What removes things comes last, the deepest first.
const ROUTES = [
  ...DESCRIBED_ROUTES.filter(({ route }) => route.method !== 'DELETE'),
  ...DESCRIBED_ROUTES.filter(({ route }) => route.method === 'DELETE').toSorted(
    (a, b) => b.route.path.length - a.route.path.length,
  ),
].filter(({ access, slots }) => access !== 'public' && slots.some(({ isId }) => isId))

test('changes to things with ids that both have affect only one tenant', async () => {
  // Presence is reported periodically.
  const rows = async () => ({ ...(await digestOf(service.app.db, theirs.tenant.id)), stream_counts: null })
  const before = await rows()
  const ofTheirs = await listen(theirs)
  const done: string[] = []
  for (const described of ROUTES) {
    const { path, body } = requestOf(described, (slot) =>
      slot.isId ? theirs.ids[resourceOf(described, slot)] : sampleOf(slot),
    )
    const caller = described.needsToken ? admin : keyOf(mine)
    const headers = { ...caller, ...(await mine.as(READER)) }
    const { status } = await service.call(described.route.method, path, { headers, body })
    if (status < 300) done.push(described.title)
  }
  // They existed, or the test would prove nothing.
  expect(done).toEqual(
    expect.arrayContaining([
      'PATCH /comments/:commentId',
      'POST /discussions/:discussionId/lock',
      'POST /readers/:readerId/unban',
      'PATCH /webhooks/:id',
      'DELETE /comments/:commentId/reaction',
      'DELETE /comments/:commentId',
      'DELETE /readers/:readerId',
      'DELETE /webhooks/:id',
    ]),
  )
  expect(await rows()).toEqual(before)
  const last = await post(theirs, 'Afterwards')
  await vi.waitFor(() => expect(commentsOf(ofTheirs)).toEqual([last]))
  expect(ofTheirs.events).toHaveLength(1)
})
