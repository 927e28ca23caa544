import { beforeAll, expect, test } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { callsTo } from '../harness/calls.ts'
import { dumpTables } from '../harness/dump.ts'
import { exportText, importText } from '../harness/exports.ts'
import { type Json, type TestTenant, useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

const service = useService()

beforeAll(async () => {
  await settle({ suspectWords: ['casino', 'jackpot'], maxLinks: 0 })
})

const { ok } = callsTo(() => service)

const settle = (settings: object) => ok('PATCH', '/settings', settings)
const post = async (body: string, { reader = newId(), parentId }: { reader?: string; parentId?: string } = {}) =>
  ok('POST', '/discussions/by-external/page/comments', { body, parentId }, await service.as(reader))
/** The entry of a comment in a queue. */
const queued = async (id: string, status = 'pending', headers: Record<string, string> = {}): Promise<Json> => {
  const { data } = await ok('GET', `/moderation/queue?limit=100&status=${status}`, undefined, headers)
  return data.find(({ comment }: Json) => comment.id === id)
}
const detail = (match: string, start: number) => ({ rule: 'suspect_word', match, start, end: start + match.length })

test('a held comment keeps what held it, alone and in a batch, also when the lists have changed', async () => {
  const bodies = Array.from({ length: 12 }, (_, n) => `${'x '.repeat(n)}casino`)
  const posted = await Promise.all(bodies.map((body) => post(body)))
  const alone = await post('the jackpot of a casino')
  await settle({ suspectWords: [] })
  for (const [n, { id }] of posted.entries()) {
    expect(await queued(id)).toMatchObject({ reason: 'suspect_word', holdDetails: [detail('casino', 2 * n)] })
  }
  expect((await queued(alone.id)).holdDetails).toEqual([detail('jackpot', 4), detail('casino', 17)])
  await settle({ suspectWords: ['casino', 'jackpot'] })
})

test('only moderators get it', async () => {
  const reader = newId()
  const { id } = await post('a casino', { reader })
  const { key } = await service.newKey()
  const author = { 'x-api-key': key, ...(await service.as(reader)) }
  expect(JSON.stringify(await ok('GET', `/comments/${id}`, undefined, author))).not.toContain('holdDetails')
  const EVENTS = unnamed(`SELECT data::text FROM events WHERE data #>> '{comment,id}' = $1`)
  expect(JSON.stringify(await service.app.db.query(EVENTS, [id]))).not.toContain('suspect_word')
})

test('it is that of the present text', async () => {
  const reader = newId()
  const { id } = await post('a casino', { reader })
  const edit = async (body: string) => ok('PATCH', `/comments/${id}`, { body }, await service.as(reader))
  await edit('the jackpot')
  expect((await queued(id)).holdDetails).toEqual([detail('jackpot', 4)])
  // It waits still, for the reason of before, of which the text has nothing.
  await edit('fine words')
  expect(await queued(id)).toMatchObject({ reason: 'suspect_word', holdDetails: [] })
  await edit('https://a.example/')
  expect(await queued(id)).toMatchObject({
    reason: 'too_many_links',
    holdDetails: [{ rule: 'too_many_links', match: 'https://a.example/', start: 0, end: 18 }],
  })
})

test('a judgement ends it, and another reason has none', async () => {
  const { id } = await post('a casino')
  await ok('POST', `/comments/${id}/approve`)
  const STORED = unnamed('SELECT hold_details AS "holdDetails" FROM comments WHERE id = $1')
  expect(await service.app.db.query(STORED, [id])).toEqual([{ holdDetails: null }])
  await settle({ reportThreshold: 1, moderationMode: 'post' })
  const flagged = await post('a casino')
  expect((await queued(flagged.id, 'reported')).holdDetails).toEqual([detail('casino', 2)])
  await ok('POST', `/comments/${flagged.id}/report`, { reason: 'spam' }, await service.as('reporter'))
  await settle({ reportThreshold: 5, moderationMode: 'none' })
  expect(await queued(flagged.id)).toMatchObject({ reason: 'reports', holdDetails: [] })
})

test('GraphQL has it beside the reason', async () => {
  const { id } = await post('a casino')
  const { json } = await service.graphql(
    '{ moderationQueue(first: 100) { nodes { comment { id } reason holdDetails { rule match start end } } } }',
  )
  const entry = json.data.moderationQueue.nodes.find(({ comment }: Json) => comment.id === id)
  expect(entry.holdDetails).toEqual([detail('casino', 2)])
})

test('an erasure of the author takes it', async () => {
  const word = `word${newId().slice(-12)}`
  await settle({ suspectWords: ['*' + word.slice(4) + '*'], maxLinks: 0 })
  const { id, author } = await post(`https://${word}.example/`)
  const other = await post(`a reply of somebody else`)
  expect(other.status).toBe('approved')
  expect((await queued(id)).holdDetails).toHaveLength(1)
  await settle({ suspectWords: ['casino', 'jackpot'] })
  await ok('DELETE', `/readers/${author.id}`)
  const STORED = unnamed('SELECT hold_details AS "holdDetails" FROM comments WHERE id = $1')
  expect(await service.app.db.query(STORED, [id])).toEqual([{ holdDetails: null }])
  expect(await dumpTables(service.app.db)).not.toContain(`https://${word}`)
})

test('it survives an export and an import', async () => {
  const [from, to] = [await service.addTenant(`from-${newId()}`), await service.addTenant(`to-${newId()}`)]
  const keyOf = ({ apiKey }: TestTenant) => ({ 'x-api-key': apiKey })
  await ok('PATCH', '/settings', { suspectWords: ['casino'] }, keyOf(from))
  const headers = { ...keyOf(from), ...(await from.as('ann')) }
  const { id } = await ok('POST', '/discussions/by-external/page/comments', { body: 'a casino' }, headers)
  await importText(service.app, to, await exportText(service.app, from))
  expect((await queued(id, 'pending', keyOf(to))).holdDetails).toEqual([detail('casino', 2)])
})
