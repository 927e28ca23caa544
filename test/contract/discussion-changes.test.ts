import { describe, expect, test, vi } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { deleteExpiredAliases } from '../../src/domains/discussions/aliases.ts'
import { importText } from '../harness/exports.ts'
import { randomOf } from '../harness/random.ts'
import { SEED } from '../harness/seed.ts'
import { useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

const service = useService()

const create = async (externalId: string): Promise<string> =>
  (await service.call('POST', '/discussions', { body: { externalId } })).json.id
const change = (id: string, body: object, headers?: Record<string, string>) =>
  service.call('PATCH', `/discussions/${id}`, { body, ...(headers && { headers }) })
const byExternal = (externalId: string) =>
  service.call('GET', `/discussions/by-external/${encodeURIComponent(externalId)}`)
const comment = async (externalId: string) =>
  service.call('POST', `/discussions/by-external/${encodeURIComponent(externalId)}/comments`, {
    body: { body: `I am ${newId()}` },
    headers: await service.as('ada'),
  })
/** A second ago: the clock of the embedded database may stand still for a millisecond. */
const EXPIRE = unnamed(`UPDATE discussion_aliases SET expires_at = now() - interval '1 s' WHERE external_id = $1`)
const expire = (externalId: string) => service.app.db.query(EXPIRE, [externalId])

/** A discussion that was renamed, and its two ids. */
async function renamed(): Promise<{ id: string; former: string; current: string }> {
  const [former, current] = [`former-${newId()}`, `current-${newId()}`]
  const id = await create(former)
  expect((await change(id, { externalId: current })).status).toBe(200)
  return { id, former, current }
}

describe('PATCH /discussions/{id}', () => {
  test('changes the given fields, and no event tells of it', async () => {
    const id = await create('fields')
    const { status, json } = await change(id, { externalId: 'fields-2', title: 'A', url: 'https://www.example.com/a' })
    expect(status).toBe(200)
    expect(json).toMatchObject({
      id,
      externalId: 'fields-2',
      title: 'A',
      url: 'https://www.example.com/a',
      lastEventId: '0',
    })
    const { json: after } = await change(id, { title: null })
    expect(after).toMatchObject({ externalId: 'fields-2', title: null, url: 'https://www.example.com/a' })
    expect((await service.call('GET', `/discussions/${id}`)).json).toEqual(after)
    const { json: log } = await service.call('GET', '/audit-log')
    expect(log.data.slice(0, 2)).toMatchObject([
      { action: 'discussion.update', targetId: id, before: { title: 'A' }, after: { title: null } },
      {
        action: 'discussion.update',
        targetId: id,
        before: { externalId: 'fields' },
        after: { externalId: 'fields-2' },
      },
    ])
  })

  test('that changes nothing answers 200, without an entry in the audit log', async () => {
    const id = await create('same')
    expect((await change(id, { externalId: 'same', title: null })).status).toBe(200)
    expect((await change(id, {})).status).toBe(200)
    const { json: log } = await service.call('GET', '/audit-log')
    expect(log.data[0]).toMatchObject({ action: 'discussion.create', targetId: id })
  })

  test.each([
    [{ externalId: null }, '/externalId'],
    [{ externalId: '' }, '/externalId'],
    [{ url: 'javascript:alert(1)' }, '/url'],
    [{ state: 'locked' }, '/state'],
  ])('%o answers 422', async (body, pointer) => {
    const { status, json } = await change(await create('wrong'), body)
    expect(status).toBe(422)
    expect(json.errors).toMatchObject([{ pointer }])
  })

  test('answers 404 for an unknown discussion, and 409 for an archived one', async () => {
    expect((await change(newId(), { title: 'A' })).json.code).toBe('not_found')
    expect((await change('nonsense', { title: 'A' })).json.code).toBe('not_found')
    const id = await create('archived')
    await service.call('POST', `/discussions/${id}/archive`)
    expect((await change(id, { externalId: 'archived-2' })).json.code).toBe('discussion_archived')
    expect((await byExternal('archived-2')).status).toBe(404)
  })

  test('needs manage_settings', async () => {
    const json = await service.ok('POST', '/keys', { label: 'x', capabilities: ['moderate_content'] })
    const answer = await change(await create('keys'), { title: 'A' }, { 'x-api-key': json.key })
    expect(answer.json.code).toBe('missing_capability')
  })
})

describe('a former external id', () => {
  test('leads to the discussion wherever it is named', async () => {
    const { id, former, current } = await renamed()
    for (const name of [former, current]) {
      expect((await byExternal(name)).json).toMatchObject({ id, externalId: current })
      expect((await comment(name)).json).toMatchObject({ discussionId: id })
    }
    const { status, json } = await service.call('POST', '/discussions', { body: { externalId: former, title: 'New' } })
    expect([status, json]).toMatchObject([200, { id, externalId: current, title: 'New' }])
    const counts = await service.call('POST', '/discussions/counts', {
      body: { externalIds: [former, 'none', current] },
    })
    expect(counts.json.data).toMatchObject([
      { externalId: former, commentCount: 2, state: 'open' },
      { externalId: 'none', commentCount: 0, state: 'open' },
      { externalId: current, commentCount: 2, state: 'open' },
    ])
    const page = `/discussions/by-external/${former}/comments`
    expect((await service.call('GET', page)).json.data).toHaveLength(2)
    const ticket = await service.call('POST', '/stream/ticket', { body: { externalId: former } })
    expect(ticket.json).toMatchObject({ discussionId: id })
    const query = `query ($externalId: String!) { discussion(by: { externalId: $externalId }) { id externalId } }`
    const { json: graphql } = await service.graphql(query, { externalId: former })
    expect(graphql.data.discussion).toEqual({ id, externalId: current })
  })

  test('leads there in an import', async () => {
    const { id, former } = await renamed()
    const items = [
      { kind: 'discussion', id: former, url: 'https://www.example.com/x', externalId: former },
      { kind: 'comment', id: 'c', discussionId: former, body: 'From elsewhere', createdAt: '2020-01-01T00:00:00Z' },
    ]
    const lines = items.map((item) => JSON.stringify(item))
    const report = await importText(service.app, service, lines.join('\n'))
    expect(report.refused.total).toBe(0)
    expect((await service.call('GET', `/discussions/${id}`)).json).toMatchObject({ commentCount: 1 })
  })

  test('is refused by the database to a row that was inserted at the same time', async () => {
    const { former } = await renamed()
    const insert = unnamed('INSERT INTO discussions (tenant_id, id, external_id) VALUES ($1, $2, $3)')
    await expect(service.app.db.query(insert, [service.tenant.id, newId(), former])).rejects.toThrow('leads to another')
  })

  test('is taken for others: a rename to it answers 409, as to a current one', async () => {
    const { former, current } = await renamed()
    const other = await create(`other-${newId()}`)
    for (const name of [former, current]) {
      const { status, json } = await change(other, { externalId: name })
      expect([status, json.code]).toEqual([409, 'external_id_taken'])
    }
  })

  test('may be given to its discussion again, and the one in between leads there', async () => {
    const { id, former, current } = await renamed()
    expect((await change(id, { externalId: former })).json).toMatchObject({ externalId: former })
    for (const name of [former, current]) expect((await byExternal(name)).json.id).toBe(id)
    expect((await change(id, { externalId: current })).status).toBe(200)
    for (const name of [former, current]) expect((await byExternal(name)).json.id).toBe(id)
  })

  test('is deleted after a year, in batches, and not before', async () => {
    const [kept, ...gone] = [await renamed(), await renamed(), await renamed(), await renamed()]
    for (const { former } of gone) await expire(former)
    const counts = []
    for (let n = 1; n > 0; counts.push(n)) n = await deleteExpiredAliases(service.app.db.query, 2)
    expect(counts.slice(0, -1).every((count) => count <= 2)).toBe(true)
    const left = await service.app.db.query<{ name: string }>(
      unnamed('SELECT external_id AS name FROM discussion_aliases WHERE external_id = ANY($1)'),
      [[kept, ...gone].map(({ former }) => former)],
    )
    expect(left).toEqual([{ name: kept.former }])
  })

  test('is free after a year', async () => {
    const days =
      'SELECT expires_at - now() > interval \'364 days\' AS "isLong" FROM discussion_aliases WHERE external_id = $1'
    const one = await renamed()
    expect(await service.app.db.query(unnamed(days), [one.former])).toEqual([{ isLong: true }])
    await expire(one.former)
    expect((await byExternal(one.former)).status).toBe(404)
    const next = await create(one.former)
    expect(next).not.toBe(one.id)
    // It leads to the one that has had it last.
    expect((await change(next, { externalId: `next-${newId()}` })).status).toBe(200)
    expect((await byExternal(one.former)).json.id).toBe(next)
    const two = await renamed()
    await expire(two.former)
    expect((await change(next, { externalId: two.former })).status).toBe(200)
  })
})

describe('at the same time', () => {
  test('renames, creations and comments leave each external id with one discussion', async () => {
    const names = Array.from({ length: 6 }, (_, n) => `crowd-${n}`)
    const random = randomOf(SEED)
    const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T
    const ids = await Promise.all(names.slice(0, 3).map(create))
    let posted = 0
    const statuses = new Set<string>()
    const work = Array.from({ length: 8 }, async (_, worker) => {
      for (let n = 0; n < 25; n++) {
        const name = pick(names)
        if (worker < 4) {
          const { status, json } = await change(pick(ids), { externalId: name })
          statuses.add(`${status} ${json.code ?? ''}`)
        } else if (worker < 6) {
          const { status, json } = await service.call('POST', '/discussions', {
            body: { externalId: name, title: newId() },
          })
          statuses.add(`${status} ${json.code ?? ''}`)
          if (json.id !== undefined && !ids.includes(json.id)) ids.push(json.id)
        } else {
          const { status, json } = await comment(name)
          statuses.add(`${status} ${json.code ?? ''}`)
          if (status === 201) posted++
        }
      }
    })
    await Promise.all(work)
    // 503: a write gave up its locks, or met a rename that had just been committed.
    const expected = ['200 ', '201 ', '409 external_id_taken', '503 unavailable', '429 rate_limited']
    expect([...statuses].filter((status) => !expected.includes(status))).toEqual([])
    const torn = `SELECT d.external_id FROM discussions d JOIN discussion_aliases a
      ON a.tenant_id = d.tenant_id AND a.external_id = d.external_id AND a.discussion_id <> d.id AND a.expires_at > now()`
    expect(await service.app.db.query(unnamed(torn), [])).toEqual([])
    const { json } = await service.call('GET', '/discussions?limit=100')
    const crowd = json.data.filter(({ id }: { id: string }) => ids.includes(id))
    expect(crowd.reduce((sum: number, { commentCount }: { commentCount: number }) => sum + commentCount, 0)).toBe(
      posted,
    )
    for (const name of names) {
      const found = await byExternal(name)
      if (found.status === 404) continue
      await vi.waitFor(async () => {
        const { json: made } = await comment(name)
        expect(made.discussionId).toBe(found.json.id)
      })
    }
  })

  test('a creation that waits for a rename answers with the renamed discussion', async () => {
    for (let n = 0; n < 10; n++) {
      const [former, current] = [`race-${newId()}`, `race-${newId()}`]
      const id = await create(former)
      const [renaming, ...creations] = await Promise.all([
        change(id, { externalId: current }),
        ...Array.from({ length: 4 }, () =>
          service.call('POST', '/discussions', { body: { externalId: former, title: newId() } }),
        ),
      ])
      expect(renaming.status).toBe(200)
      for (const { status, json } of creations) if (status !== 503) expect([status, json.id]).toEqual([200, id])
    }
  })
})
