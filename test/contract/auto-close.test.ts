import { expect, test } from 'vitest'

import { closeOldDiscussions } from '../../src/domains/moderation/auto-close.ts'
import { useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

const service = useService()

const DAY_MS = 24 * 3_600_000
const setDays = (autoCloseDays: number | null) => service.call('PATCH', '/settings', { body: { autoCloseDays } })

const AGE = unnamed(`UPDATE discussions SET created_at = $2 WHERE id = $1`)

/** A discussion that was made some days ago. */
async function discussion(externalId: string, days: number, headers = {}): Promise<string> {
  const { json } = await service.call('POST', '/discussions', { body: { externalId }, headers })
  await service.app.db.query(AGE, [json.id, new Date(Date.now() - days * DAY_MS)])
  return json.id as string
}

const read = async (id: string, headers = {}) => (await service.call('GET', `/discussions/${id}`, { headers })).json
const act = (id: string, verb: string) => service.call('POST', `/discussions/${id}/${verb}`)

const EVENTS = unnamed('SELECT type, audience, actor, data FROM events WHERE discussion_id = $1 ORDER BY seq')
const eventsOf = (id: string) =>
  service.app.db.query<{ type: string; audience: string; actor: object; data: object }>(EVENTS, [id])

/** Until nothing is left, as the worker does it. */
async function closeAll(): Promise<void> {
  while ((await closeOldDiscussions(service.app, 3)) > 0);
}

test('discussions of that age are locked once, with an event of the system', async () => {
  await setDays(7)
  const [old, young] = [await discussion('old', 7.01), await discussion('young', 6.99)]
  await closeAll()
  expect((await read(young)).state).toBe('open')
  expect(await eventsOf(old)).toEqual([
    { type: 'discussion_locked', audience: 'public', actor: { kind: 'system' }, data: { discussion: await read(old) } },
  ])
  expect(await read(old)).toMatchObject({ state: 'locked', lastEventId: '1' })
  const headers = await service.as('ann')
  const refused = await service.call('POST', `/discussions/${old}/comments`, { body: { body: 'late' }, headers })
  expect(refused.json.code).toBe('discussion_locked')
})

test('a moderator overrides it: an unlock holds, even of a discussion that was locked by hand before', async () => {
  await setDays(7)
  const [closed, locked] = [await discussion('closed', 8), await discussion('locked', 8)]
  await act(locked, 'lock')
  await closeAll()
  expect((await eventsOf(locked)).map(({ type }) => type)).toEqual(['discussion_locked'])
  for (const id of [closed, locked]) {
    expect((await act(id, 'unlock')).status).toBe(200)
    await closeAll()
    expect((await read(id)).state).toBe('open')
  }
})

test('an archived discussion does not change, and without the setting nothing is closed', async () => {
  await setDays(7)
  const archived = await discussion('archived', 8)
  await act(archived, 'archive')
  await closeAll()
  expect((await eventsOf(archived)).map(({ type }) => type)).toEqual(['discussion_archived'])
  await setDays(null)
  const old = await discussion('very-old', 4000)
  const other = await service.addTenant('other')
  const headers = { 'x-api-key': other.apiKey }
  await service.call('PATCH', '/settings', { body: { autoCloseDays: 9 }, headers })
  const [theirs, notYet] = [await discussion('theirs', 10, headers), await discussion('not-yet', 8, headers)]
  await closeAll()
  expect((await read(old)).state).toBe('open')
  expect([(await read(theirs, headers)).state, (await read(notYet, headers)).state]).toEqual(['locked', 'open'])
})

test('two concurrent workers lock each of many discussions once', async () => {
  await setDays(30)
  const ids: string[] = []
  for (let n = 0; n < 10; n++) ids.push(await discussion(`many-${n}`, 31 + n))
  await Promise.all([closeAll(), closeAll(), closeAll()])
  for (const id of ids) {
    expect((await eventsOf(id)).map(({ type }) => type)).toEqual(['discussion_locked'])
    expect(await read(id)).toMatchObject({ state: 'locked', lastEventId: '1' })
  }
})
