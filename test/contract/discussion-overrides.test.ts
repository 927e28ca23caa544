import { describe, expect, onTestFinished, test, vi } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { closeDue } from '../../src/domains/discussions/close.ts'
import { closeOldDiscussions, closeOnTime } from '../../src/domains/moderation/auto-close.ts'
import { startWorker } from '../../src/worker/worker.ts'
import { type Headers, useKey, useReaders, useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

const service = useService()
const { ann } = useReaders(service, 'ann')
const moderator = useKey(service, 'moderate_content')
const editor = useKey(service, 'manage_settings')

const change = (id: string, body: object, headers: Headers = {}) =>
  service.call('PATCH', `/discussions/${id}`, { body, headers })
const read = async (id: string) => (await service.call('GET', `/discussions/${id}`)).json
const setTenant = (body: object) => service.call('PATCH', '/settings', { body })
const comment = (id: string, body: object, headers = ann) =>
  service.call('POST', `/discussions/${id}/comments`, { body, headers })

const EVENTS = unnamed('SELECT type, actor FROM events WHERE discussion_id = $1 ORDER BY seq')
const eventsOf = (id: string) => service.app.db.query<{ type: string; actor: object }>(EVENTS, [id])

const IN_PAST = '2020-01-01T00:00:00.000Z'
const FAR = '2100-01-01T00:00:00.000Z'

describe('PATCH /discussions/{id}', () => {
  test('takes what stands over the settings, and null for the tenant’s', async () => {
    const id = await service.newDiscussion()
    expect(await read(id)).toMatchObject({ moderationMode: null, closesAt: null })
    const given = { moderationMode: 'pre', closesAt: FAR }
    expect((await change(id, given)).json).toMatchObject(given)
    expect((await change(id, { closesAt: null })).json).toMatchObject({ moderationMode: 'pre', closesAt: null })
    const { json: log } = await service.call('GET', '/audit-log?limit=2')
    expect(log.data).toMatchObject([
      { action: 'discussion.update', before: { closesAt: FAR }, after: { closesAt: null, moderationMode: 'pre' } },
      { action: 'discussion.update', before: { closesAt: null, moderationMode: null }, after: given },
    ])
    expect(await eventsOf(id)).toEqual([])
  })

  test('asks moderate_content for these, manage_settings for the others, and both for both', async () => {
    const id = await service.newDiscussion()
    const before = await read(id)
    const refused = [
      await change(id, { moderationMode: 'pre' }, editor),
      await change(id, { closesAt: null }, editor),
      await change(id, { title: 'A' }, moderator),
      await change(id, {}, moderator),
      await change(id, { title: 'A', moderationMode: 'pre' }, moderator),
      await change(id, { title: 'A', moderationMode: 'pre' }, editor),
    ]
    expect(refused.map(({ status, json }) => [status, json.code])).toEqual(
      refused.map(() => [403, 'missing_capability']),
    )
    expect(await read(id)).toEqual(before)
    expect((await change(id, { moderationMode: 'post' }, moderator)).status).toBe(200)
    expect((await change(id, { title: 'A' }, editor)).status).toBe(200)
    expect((await change(id, {}, editor)).status).toBe(200)
    const both = (await service.newKey('manage_settings', 'moderate_content')).headers
    const { json } = await change(id, { title: 'B', moderationMode: null }, both)
    expect(json).toMatchObject({ title: 'B', moderationMode: null })
  })

  test.each([
    [{ moderationMode: 'strict' }, '/moderationMode'],
    [{ closesAt: '+010000-01-01T00:00:00Z' }, '/closesAt'],
  ])('%o answers 422', async (body, pointer) => {
    const { status, json } = await change(await service.newDiscussion(), body)
    expect([status, json.errors]).toMatchObject([422, [{ pointer }]])
  })

  test('does not reach the discussion of another tenant, and POST does not take these', async () => {
    const other = await service.addTenant('other')
    const id = await service.newDiscussion()
    expect((await change(id, { closesAt: IN_PAST }, { 'x-api-key': other.apiKey })).json.code).toBe('not_found')
    expect(await read(id)).toMatchObject({ state: 'open', closesAt: null })
    const made = await service.call('POST', '/discussions', { body: { externalId: newId(), moderationMode: 'pre' } })
    expect(made.status).toBe(422)
    await service.call('POST', `/discussions/${id}/archive`)
    expect((await change(id, { moderationMode: 'pre' })).json.code).toBe('discussion_archived')
  })
})

describe('moderationMode of a discussion decides over the tenant’s', () => {
  const MODES = ['none', 'pre', 'post'] as const
  // What becomes of a plain comment, and of one with a suspect word.
  const OUTCOMES = {
    none: ['approved null', 'pending suspect_word'],
    pre: ['pending pre_moderation', 'pending suspect_word'],
    post: ['approved null', 'approved suspect_word flagged'],
  }
  const KEPT = unnamed('SELECT status::text, hold_reason AS reason, flagged FROM comments WHERE id = $1')
  const keptOf = async (id: string) => {
    const [row] = await service.app.db.query<{ status: string; reason: string | null; flagged: boolean }>(KEPT, [id])
    return row && `${row.status} ${row.reason}${row.flagged ? ' flagged' : ''}`
  }

  test.each(MODES.flatMap((tenant) => MODES.map((own) => [tenant, own] as const)))(
    'tenant %s, discussion %s: single, batched, as a reply and edited',
    async (tenant, own) => {
      await setTenant({ moderationMode: 'none', suspectWords: ['fishy'] })
      const id = await service.newDiscussion()
      const { json: parent } = await comment(id, { body: `Above ${newId()}` })
      const { json: edited } = await comment(id, { body: `To edit ${newId()}` })
      await setTenant({ moderationMode: tenant })
      await change(id, { moderationMode: own })
      const post = async (body: string, more: object = {}) =>
        keptOf((await comment(id, { body: `${body} ${newId()}`, ...more })).json.id)
      const [plain, suspect] = OUTCOMES[own]
      expect([await post('Plain'), await post('A fishy one')]).toEqual([plain, suspect])
      expect(await Promise.all([post('Plain'), post('A fishy one'), post('Plain'), post('Also fishy')])).toEqual([
        plain,
        suspect,
        plain,
        suspect,
      ])
      const reply = { parentId: parent.id }
      expect([await post('Plain', reply), await post('A fishy one', reply)]).toEqual([plain, suspect])
      const text = { body: { body: `Other words ${newId()}` }, headers: ann }
      expect((await service.call('PATCH', `/comments/${edited.id}`, text)).status).toBe(200)
      expect(await keptOf(edited.id)).toBe(plain)
    },
  )

  test('and null is the tenant’s again', async () => {
    await setTenant({ moderationMode: 'pre' })
    const id = await service.newDiscussion()
    await change(id, { moderationMode: 'none' })
    expect((await comment(id, { body: newId() })).json.status).toBe('approved')
    await change(id, { moderationMode: null })
    expect((await comment(id, { body: newId() })).json.status).toBe('pending')
    await setTenant({ moderationMode: 'none' })
  })
})

describe('closesAt of a discussion', () => {
  const DAY_MS = 86_400_000
  const closeAll = async (now = new Date()): Promise<void> => {
    for (const close of [closeOldDiscussions, closeOnTime]) while ((await close(service.app, 3, now)) > 0);
  }
  const REACH = unnamed("UPDATE discussions SET closes_at = now() - interval '1 second' WHERE id = $1")
  const at = (iso: string, ms = 0): Date => new Date(Date.parse(iso) + ms)

  test('locks it at that time and once, whatever the age that the tenant has set', async () => {
    await setTenant({ autoCloseDays: 1 })
    const [own, tenants] = [await service.newDiscussion(), await service.newDiscussion()]
    await change(own, { closesAt: FAR })
    await closeAll(new Date(Date.now() + 2 * DAY_MS))
    expect([(await read(own)).state, (await read(tenants)).state]).toEqual(['open', 'locked'])
    await closeAll(at(FAR, -1))
    expect((await read(own)).state).toBe('open')
    await Promise.all([closeAll(at(FAR)), closeAll(at(FAR))])
    expect(await eventsOf(own)).toEqual([{ type: 'discussion_locked', actor: { kind: 'system' } }])
    await service.call('POST', `/discussions/${own}/unlock`)
    await closeAll(at(FAR, DAY_MS))
    expect((await read(own)).state).toBe('open')
    await setTenant({ autoCloseDays: null })
  })

  test('locks it by a worker within seconds, once', async () => {
    const id = await service.newDiscussion()
    const worker = await startWorker(service.app)
    onTestFinished(() => worker.stop())
    // After the first turn of the worker's chores.
    await change(id, { closesAt: new Date(Date.now() + 3000).toISOString() })
    await vi.waitFor(async () => expect((await read(id)).state).toBe('locked'))
    expect(await eventsOf(id)).toEqual([{ type: 'discussion_locked', actor: { kind: 'system' } }])
  })

  test('refuses what readers write from then on, also before a worker has locked it', async () => {
    const id = await service.newDiscussion()
    const { json: own } = await comment(id, { body: 'in time' })
    const { json: other } = await comment(id, { body: 'also in time' })
    await service.app.db.query(REACH, [id])
    expect((await read(id)).state).toBe('open')
    const refused = await Promise.all([
      comment(id, { body: 'alone' }),
      ...['one', 'two', 'three'].map((body) => comment(id, { body })),
      comment(id, { body: 'a reply', parentId: own.id }),
      comment(id, { body: `long, so that its refusal is foreseen: ${'*a* '.repeat(2000)}` }),
      service.call('PATCH', `/comments/${own.id}`, { body: { body: 'edited' }, headers: ann }),
      service.call('PUT', `/comments/${own.id}/reaction`, { body: { type: 'like' }, headers: ann }),
      service.call('POST', `/comments/${own.id}/reactions`, { body: { type: 'love' }, headers: ann }),
    ])
    expect(refused.map(({ status, json }) => [status, json.code])).toEqual(
      refused.map(() => [409, 'discussion_locked']),
    )
    const alone = await comment(id, { body: 'by itself' })
    expect(alone.json.code).toBe('discussion_locked')
    expect((await service.call('POST', `/comments/${own.id}/pin`, { headers: moderator })).status).toBe(200)
    expect((await service.call('DELETE', `/comments/${other.id}`, { headers: ann })).status).toBe(204)
    await closeAll()
    expect((await read(id)).state).toBe('locked')
    await service.call('POST', `/discussions/${id}/unlock`)
    expect((await comment(id, { body: 'unlocked' })).status).toBe(201)
  })

  test('may be set again after it was reached', async () => {
    const id = await service.newDiscussion()
    await change(id, { closesAt: FAR })
    await closeAll(at(FAR))
    await service.call('POST', `/discussions/${id}/unlock`)
    const later = at(FAR, DAY_MS).toISOString()
    await change(id, { closesAt: later })
    await closeAll(at(FAR))
    expect((await read(id)).state).toBe('open')
    await closeAll(at(later))
    expect((await read(id)).state).toBe('locked')
  })

  test('in the past locks it at once, with an event and both entries in the audit log', async () => {
    const id = await service.newDiscussion()
    const { json } = await change(id, { closesAt: IN_PAST }, moderator)
    expect(json).toMatchObject({ state: 'locked', closesAt: IN_PAST, lastEventId: '1' })
    expect(json).toEqual(await read(id))
    expect(await eventsOf(id)).toEqual([{ type: 'discussion_locked', actor: { kind: 'moderator' } }])
    expect((await comment(id, { body: 'late' })).json.code).toBe('discussion_locked')
    const { json: log } = await service.call('GET', '/audit-log?limit=2')
    expect(log.data).toMatchObject([
      { action: 'discussion.lock', targetId: id, before: { state: 'open' }, after: { state: 'locked' } },
      { action: 'discussion.update', targetId: id, after: { closesAt: IN_PAST } },
    ])
    await service.call('POST', `/discussions/${id}/unlock`)
    expect((await change(id, { closesAt: IN_PAST, moderationMode: 'pre' })).json.state).toBe('open')
    await closeAll()
    expect((await read(id)).state).toBe('open')
  })

  test('that was moved, or whose days were, after a worker had found it due does not lock it', async () => {
    const id = await service.newDiscussion()
    const close = () =>
      service.app.db.transaction((sql) =>
        closeDue(sql, { tenantId: service.tenant.id, id }, { kind: 'system' }, at(FAR)),
      )
    for (const autoCloseDays of [1, null]) {
      await setTenant({ autoCloseDays })
      await change(id, { closesAt: at(FAR, 1).toISOString() })
      expect(await close()).toBeNull()
    }
    await change(id, { closesAt: null })
    expect(await close()).toBeNull()
    await change(id, { closesAt: FAR })
    expect(await close()).not.toBeNull()
  })

  test.each([
    ['closesAt', REACH, null],
    ['autoCloseDays', unnamed("UPDATE discussions SET created_at = now() - interval '2 days' WHERE id = $1"), 1],
  ])('an unlock between its %s and the worker’s lock holds', async (_time, reach, autoCloseDays) => {
    await setTenant({ autoCloseDays })
    const [open, locked] = [await service.newDiscussion(), await service.newDiscussion()]
    await service.call('POST', `/discussions/${locked}/lock`, { headers: moderator })
    for (const id of [open, locked]) {
      await service.app.db.query(reach, [id])
      const { status, json } = await service.call('POST', `/discussions/${id}/unlock`, { headers: moderator })
      expect([status, json]).toMatchObject([200, { state: 'open', lastEventId: '2' }])
      expect((await comment(id, { body: 'open again' })).status).toBe(201)
      await closeAll()
      expect((await read(id)).state).toBe('open')
    }
    const LOCK = 'discussion_locked'
    const unlock = { type: 'discussion_unlocked', actor: { kind: 'moderator' } }
    expect((await eventsOf(open)).slice(0, 2)).toEqual([{ type: LOCK, actor: { kind: 'system' } }, unlock])
    expect((await eventsOf(locked)).slice(0, 2)).toEqual([{ type: LOCK, actor: { kind: 'moderator' } }, unlock])
    await setTenant({ autoCloseDays: null })
  })

  test('of an archived discussion is never reached', async () => {
    const id = await service.newDiscussion()
    await change(id, { closesAt: FAR })
    await service.call('POST', `/discussions/${id}/archive`)
    await closeAll(at(FAR))
    expect((await eventsOf(id)).map(({ type }) => type)).toEqual(['discussion_archived'])
  })
})
