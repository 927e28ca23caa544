import { expect, test, vi } from 'vitest'

import { useKey, useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

const service = useService()
const plain = useKey(service)

test.each(['is lifted', 'runs out'])('a reader banned in shadow counts their own, until the ban %s', async (end) => {
  const at = `/discussions/by-external/${encodeURIComponent(end)}/comments`
  const mal = { ...plain, ...(await service.as(end, { exp: Math.floor(Date.now() / 1000) + 3500 })) }
  const { author } = (await service.call('POST', at, { headers: mal, body: { body: 'before' } })).json
  const until = Date.now() + 600_000
  const ban = { shadow: true, until: end === 'runs out' ? new Date(until) : null }
  await service.call('POST', `/readers/${author.id}/ban`, { body: ban })
  const { id, status } = (await service.call('POST', at, { headers: mal, body: { body: 'in shadow' } })).json
  const get = async () => (await service.call('GET', `/comments/${id}`, { headers: mal })).json.status
  expect([status, await get()]).toEqual(['approved', 'approved'])
  const body = { externalIds: [end, 'unknown'] }
  const counts = await service.call('POST', '/discussions/counts', { headers: mal, body })
  expect(counts.json.data.map((each: { commentCount: number }) => each.commentCount)).toEqual([2, 0])
  const clock = end === 'runs out' ? vi.spyOn(Date, 'now').mockReturnValue(until) : null
  if (clock === null) await service.call('POST', `/readers/${author.id}/unban`)
  const after = [await get(), (await service.call('GET', at, { headers: mal })).json.data.length]
  clock?.mockRestore()
  expect(after).toEqual(['pending', 1])
})

test('an approval out of the shadow is no news to the author, to whom the comment counts already', async () => {
  const mal = { ...plain, ...(await service.as('approved')) }
  const at = `/discussions/by-external/approved/comments`
  const { author } = (await service.call('POST', at, { headers: mal, body: { body: 'before' } })).json
  await service.call('POST', `/readers/${author.id}/ban`, { body: { shadow: true } })
  const { id } = (await service.call('POST', at, { headers: mal, body: { body: 'in shadow' } })).json
  await service.call('POST', `/comments/${id}/approve`)
  const APPROVALS = unnamed(`SELECT audience::text, recipient_id AS "recipientId", data->'wasApproved' AS again
    FROM events WHERE type = 'comment_approved' AND data->'comment'->>'id' = $1 ORDER BY seq`)
  expect(await service.app.db.query(APPROVALS, [id])).toEqual([
    { audience: 'public', recipientId: author.id, again: null },
    { audience: 'own', recipientId: author.id, again: true },
  ])
})

test('an approval out of the shadow brings its author the tombstone above it, as it does the public', async () => {
  const as = async (name: string) => ({ ...plain, ...(await service.as(name)) })
  const at = `/discussions/by-external/answered/comments`
  const post = async (name: string, body: object) =>
    (await service.call('POST', at, { headers: await as(name), body: { body: name, ...body } })).json
  const parent = await post('answered', {})
  const { author } = await post('answering', {})
  await service.call('POST', `/readers/${author.id}/ban`, { body: { shadow: true } })
  const { id } = await post('answering', { parentId: parent.id })
  await service.call('POST', `/comments/${parent.id}/reject`)
  await service.call('POST', `/comments/${id}/approve`)
  const TOMBSTONES = unnamed(`SELECT audience::text, data->'tombstones'->0->>'id' AS above,
      data->'tombstones'->0->'replyCount' AS replies
    FROM events WHERE type = 'comment_approved' AND data->'comment'->>'id' = $1 ORDER BY seq`)
  expect(await service.app.db.query(TOMBSTONES, [id])).toEqual([
    { audience: 'public', above: parent.id, replies: 1 },
    { audience: 'own', above: parent.id, replies: 1 },
  ])
})

test('the export of a reader has the reactions that only they see', async () => {
  const mal = { ...plain, ...(await service.as('exported')) }
  const made = await service.call('POST', '/discussions/by-external/exported/comments', {
    headers: mal,
    body: { body: 'one' },
  })
  const { id, author } = made.json
  await service.call('POST', `/readers/${author.id}/ban`, { body: { shadow: true } })
  await service.call('PUT', `/comments/${id}/reaction`, { headers: mal, body: { type: 'love' } })
  const { json } = await service.call('GET', `/readers/${author.id}/export`)
  expect(json.reactions).toEqual([{ commentId: id, type: 'love', updatedAt: expect.any(String) }])
})

async function banned(page: string, ...names: string[]) {
  const headers = async (name: string) => ({ ...plain, ...(await service.as(`${name}-${page}`)) })
  const at = `/discussions/by-external/${page}/comments`
  const post = async (name: string, body: string) =>
    (await service.call('POST', at, { headers: await headers(name), body: { body } })).json
  const readerIds: string[] = []
  for (const name of names) {
    const { author } = await post(name, `of ${name}`)
    await service.call('POST', `/readers/${author.id}/ban`, { body: { shadow: true } })
    readerIds.push(author.id as string)
  }
  const react = async (name: string, id: string, type: string) =>
    service.call('PUT', `/comments/${id}/reaction`, { headers: await headers(name), body: { type } })
  const chosen = async (name: string, id: string) =>
    (await service.call('GET', `/comments/${id}`, { headers: await headers(name) })).json.viewerReaction
  return { post, react, chosen, readerIds }
}

test('a merge moves the reactions that only the reader sees, where the target has chosen none', async () => {
  const { post, react, chosen, readerIds } = await banned('merged', 'goes', 'stays')
  const [both, one] = [await post('ann', 'both'), await post('ann', 'one')]
  await react('goes', both.id, 'like')
  await react('stays', both.id, 'love')
  await react('goes', one.id, 'like')
  const [from, into] = readerIds
  await service.ok('POST', `/readers/${from}/merge`, { into })
  expect([await chosen('stays', both.id), await chosen('stays', one.id)]).toEqual(['love', 'like'])
  expect(await traces(from ?? '')).toBe(0)
})

const TRACES = unnamed(
  `SELECT (SELECT count(*) FROM events WHERE recipient_id = $1 OR strpos(actor::text || data::text, $1::text) > 0)::int
     + (SELECT count(*) FROM shadow_reactions WHERE reader_id = $1)::int AS count`,
)
const traces = async (readerId: string) => (await service.app.db.query<{ count: number }>(TRACES, [readerId]))[0]?.count

test('an erasure leaves no trace of what only the reader saw', async () => {
  const { post, react, readerIds } = await banned('erased', 'goes')
  const [readerId = ''] = readerIds
  // In a discussion where nothing else of theirs is.
  const other = (await banned('erased-too')).post
  const { id } = await other('ann', 'of another')
  await react('goes', id, 'like')
  await react('goes', (await post('ann', 'here')).id, 'like')
  await post('goes', 'in shadow')
  expect(await traces(readerId)).toBeGreaterThan(4)
  await service.call('DELETE', `/readers/${readerId}`)
  expect(await traces(readerId)).toBe(0)
})

test('webhooks and keys get nothing of a reaction in shadow; webhooks have the comment once, as pending', async () => {
  const { post, react } = await banned('hooked', 'mal')
  const hook = { url: 'https://127.0.0.1:9/', eventTypes: ['*'] }
  const { id } = (await service.call('POST', '/webhooks', { body: hook })).json
  await service.app.db.query(VERIFY, [id])
  const since = new Date().toISOString()
  const own = await post('mal', 'in shadow')
  await react('mal', own.id, 'like')
  const queued = async () => (await service.app.db.query<{ type: string }>(QUEUED, [id])).map(({ type }) => type)
  expect(await queued()).toEqual(['comment_created'])
  const replay = await service.call('POST', `/webhooks/${id}/replay`, { body: { from: since } })
  expect([replay.status, replay.json.queued]).toEqual([202, 0])
  expect(await queued()).toEqual(['comment_created'])
})

const VERIFY = unnamed(
  `UPDATE webhook_endpoints SET state = 'verified', challenge = NULL, verification_due_at = NULL WHERE id = $1`,
)
const QUEUED = unnamed('SELECT event_type AS type FROM deliveries WHERE endpoint_id = $1 ORDER BY id')
