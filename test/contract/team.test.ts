import { beforeAll, describe, expect, test } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { applyVerdict } from '../../src/domains/classifier/verdicts.ts'
import { continueBanSweep } from '../../src/domains/moderation/ban-sweep.ts'
import { deleteOldAnalytics } from '../../src/worker/statements/old-rows-sql.ts'
import { daysBefore, tomorrow } from '../harness/analytics.ts'
import { callsTo } from '../harness/calls.ts'
import { addMember, bearing, type TestMember, tokenFor } from '../harness/members.ts'
import { type Json, useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

const service = useService()

/** A tenant of its own, with two members. Every page is in a section of the site. */
async function openDesk() {
  const tenant = await service.addTenant(`t-${newId()}`)
  const key = { 'x-api-key': tenant.apiKey }
  const calls = callsTo(() => service)
  const ok = (who: Record<string, string>, method: string, path: string, body?: unknown): Promise<Json> =>
    calls.ok(method, path, body, who)
  const of = ({ headers }: TestMember) => ({ 'x-api-key': '', ...headers })
  const [mod, editor] = [await addMember(service, tenant, 'moderator'), await addMember(service, tenant, 'editor')]
  await ok(key, 'PATCH', '/settings', { suspectWords: ['casino'], maxLinks: 0 })

  /** Posts a comment on a page of a section, as if it had been posted some seconds ago. */
  const post = async (section: string | null, body: string, agoSeconds = 0, reader = 'ada'): Promise<string> => {
    const url = section === null ? {} : { url: `https://news.example/${section}` }
    await ok(key, 'POST', '/discussions', { externalId: `page-${section}`, ...url })
    const path = `/discussions/by-external/${encodeURIComponent(`page-${section}`)}/comments`
    const { id } = await ok({ ...key, ...(await tenant.as(reader)) }, 'POST', path, { body: `${body} ${newId()}` })
    await service.app.db.query(
      unnamed("UPDATE comments SET created_at = now() - $2::int * interval '1 s' WHERE id = $1"),
      [id, agoSeconds],
    )
    return id
  }
  const decide = (who: TestMember | Record<string, string>, verb: string, ...ids: string[]) =>
    ok('id' in who ? of(who as TestMember) : who, 'POST', '/comments/bulk', { ids, action: verb })
  const team = (query = ''): Promise<Json> => ok(key, 'GET', `/analytics/team${query}`)
  return { tenant, key, mod, editor, ok, of, post, decide, team }
}

const waits = (...seconds: number[]) => {
  const sorted = seconds.toSorted((one, other) => one - other)
  const at = (share: number) => sorted[Math.ceil(share * sorted.length) - 1] ?? null
  return { count: sorted.length, p50Seconds: at(0.5), p90Seconds: at(0.9), longestSeconds: at(1) }
}
const decisions = (
  counts: Partial<Record<'approved' | 'rejected' | 'deleted' | 'reviewed', number>>,
  ...of: number[]
) => ({
  approved: 0,
  rejected: 0,
  deleted: 0,
  reviewed: 0,
  ...counts,
  waits: waits(...of),
})

describe('GET /analytics/team', () => {
  let desk: Awaited<ReturnType<typeof openDesk>>
  let other: Awaited<ReturnType<typeof openDesk>>

  beforeAll(async () => {
    desk = await openDesk()
    other = await openDesk()
    const { mod, editor, key, post, decide } = desk
    await decide(mod, 'approve', await post('sport/1', 'A casino', 3600))
    await decide(mod, 'reject', await post('sport/2?from=mail', 'Another casino', 7200))
    await decide(editor, 'reject', await post('politics', 'casino', 36_000), await post('politics', 'casino', 40_000))
    // Taken back by a colleague.
    const linked = await post('politics', 'https://example.com', 5000)
    await decide(mod, 'reject', linked)
    await decide(editor, 'approve', linked)
    await decide(key, 'approve', await post('', 'casino', 900), await post(null, 'casino', 1200))
    await decide(mod, 'review', await post('sport/1', 'Fine'))
    await decide(editor, 'delete', await post(null, 'Never held'))
    // The same in another tenant, of which nothing may show.
    await other.decide(other.mod, 'reject', await other.post('sport/1', 'casino', 999))
  })

  const nameless = (list: Json[]) => list.map(({ name: _name, ...rest }) => rest)

  test('counts decisions by member and key, undone ones once, each with its wait', async () => {
    const { mod, editor, tenant, team } = desk
    const { totals, deciders } = await team()
    expect(deciders).toEqual([
      {
        kind: 'admin',
        id: editor.id,
        name: 'The editor',
        decisions: decisions({ approved: 1, rejected: 2, deleted: 1 }, 36_000, 40_000, 5000),
      },
      {
        kind: 'admin',
        id: mod.id,
        name: 'The moderator',
        decisions: decisions({ approved: 1, rejected: 1, reviewed: 1 }, 3600, 7200),
      },
      {
        kind: 'key',
        id: expect.any(String),
        name: expect.any(String),
        decisions: decisions({ approved: 2 }, 900, 1200),
      },
    ])
    expect(deciders[2].id).toBe((await desk.ok(desk.key, 'GET', '/keys')).data[0].id)
    expect(tenant.apiKey).toMatch(/^ek_/)
    expect(totals).toEqual(
      decisions({ approved: 2, rejected: 3, deleted: 1, reviewed: 1 }, 3600, 7200, 36_000, 40_000, 5000),
    )
  })

  test('says how often each rule was right, by what members decided', async () => {
    const { rules } = await desk.team()
    expect(rules).toEqual([
      { reason: 'suspect_word', right: 3, wrong: 1, waits: waits(3600, 7200, 36_000, 40_000) },
      { reason: 'too_many_links', right: 0, wrong: 1, waits: waits(5000) },
    ])
    expect((await desk.team('?by=key')).rules).toEqual([
      { reason: 'suspect_word', right: 0, wrong: 2, waits: waits(900, 1200) },
    ])
  })

  test('counts by section: the first segment of the path, empty for the front page, null without a URL', async () => {
    const { sections } = await desk.team()
    expect(sections).toEqual([
      { section: 'politics', decisions: decisions({ approved: 1, rejected: 2 }, 36_000, 40_000, 5000) },
      { section: 'sport', decisions: decisions({ approved: 1, rejected: 1, reviewed: 1 }, 3600, 7200) },
      { section: null, decisions: decisions({ deleted: 1 }) },
    ])
    const ofKeys = (await desk.team('?by=key')).sections
    expect(ofKeys).toEqual([
      { section: '', decisions: decisions({ approved: 1 }, 900) },
      { section: null, decisions: decisions({ approved: 1 }, 1200) },
    ])
  })

  test('one section alone narrows all of it', async () => {
    const answer = await desk.team('?section=politics')
    expect(answer.totals).toEqual(decisions({ approved: 1, rejected: 2 }, 36_000, 40_000, 5000))
    expect(nameless(answer.deciders)).toEqual([{ kind: 'admin', id: desk.editor.id, decisions: answer.totals }])
    expect(answer.rules.map(({ reason }: Json) => reason)).toEqual(['suspect_word', 'too_many_links'])
    expect(answer.sections).toEqual([{ section: 'politics', decisions: answer.totals }])
    expect(await desk.team('?section=nowhere')).toMatchObject({
      totals: decisions({}),
      deciders: [],
      rules: [],
      sections: [],
    })
    expect((await desk.team('?section=&by=key')).totals).toEqual(decisions({ approved: 1 }, 900))
  })

  test('another tenant sees its own alone', async () => {
    const { deciders, sections } = await other.team()
    expect(nameless(deciders)).toEqual([
      { kind: 'admin', id: other.mod.id, decisions: decisions({ rejected: 1 }, 1000) },
    ])
    expect(sections.map(({ section }: Json) => section)).toEqual(['sport'])
  })

  test('GraphQL answers the same', async () => {
    const query = `{ analyticsTeam(section: "sport") { totals { approved rejected reviewed waits { count p50Seconds } }
      deciders { kind actorId name } rules { reason right wrong } } }`
    const { json } = await service.graphql(query, {}, desk.key)
    expect(json.data.analyticsTeam).toEqual({
      totals: { approved: 1, rejected: 1, reviewed: 1, waits: { count: 2, p50Seconds: 3600 } },
      deciders: [{ kind: 'admin', actorId: desk.mod.id, name: 'The moderator' }],
      rules: [{ reason: 'suspect_word', right: 1, wrong: 1 }],
    })
  })

  test('a disabled member keeps their name, and so does a removed one', async () => {
    const { tenant, mod, editor, ok, team } = desk
    const owner = {
      'x-api-key': '',
      ...bearing(await tokenFor(service, { ...tenant.admin, tenant: tenant.tenant.slug })),
    }
    await ok(owner, 'PATCH', `/admin/members/${mod.id}`, { state: 'disabled' })
    await ok(owner, 'DELETE', `/admin/members/${editor.id}`)
    const names = (await team()).deciders.map(({ name }: Json) => name)
    expect(names.slice(0, 2)).toEqual(['The editor', 'The moderator'])
  })

  test('an owner without a name has their address up to the @', async () => {
    const { tenant, ok, post, team } = await openDesk()
    const owner = {
      'x-api-key': '',
      ...bearing(await tokenFor(service, { ...tenant.admin, tenant: tenant.tenant.slug })),
    }
    await ok(owner, 'POST', `/comments/${await post('sport', 'casino')}/approve`)
    expect((await team()).deciders).toMatchObject([{ kind: 'admin', name: tenant.admin.email.split('@')[0] }])
  })

  test('only view_analytics may read it', async () => {
    const { of, mod, tenant } = other
    const analyst = await addMember(service, tenant, 'analyst')
    const asked = (who: TestMember) => service.call('GET', '/analytics/team', { headers: of(who) })
    expect((await asked(analyst)).status).toBe(200)
    const { status, json } = await asked(mod)
    expect([status, json.code]).toEqual([403, 'missing_capability'])
  })
})

describe('what a decision counts as', () => {
  test('a comment that waits again is decided again, and waits since its edit', async () => {
    const { mod, editor, key, tenant, ok, post, decide, team } = await openDesk()
    const id = await post('sport', 'casino', 800)
    await decide(mod, 'approve', id)
    await ok({ ...key, ...(await tenant.as('ada')) }, 'PATCH', `/comments/${id}`, { body: 'casino again' })
    await service.app.db.query(unnamed("UPDATE comments SET edited_at = now() - interval '300 s' WHERE id = $1"), [id])
    await decide(editor, 'reject', id)
    const { deciders, rules } = await team()
    expect(deciders.map((each: Json) => [each.id, each.decisions])).toEqual(
      [
        [mod.id, decisions({ approved: 1 }, 800)] as const,
        [editor.id, decisions({ rejected: 1 }, 300)] as const,
      ].toSorted(([one], [two]) => (one < two ? -1 : 1)),
    )
    expect(rules).toEqual([{ reason: 'suspect_word', right: 1, wrong: 1, waits: waits(300, 800) }])
  })

  test('reports count as a rule, and their comment waits since the first that is not answered', async () => {
    const { mod, key, tenant, ok, post, decide, team } = await openDesk()
    const id = await post('sport', 'Fine', 90_000)
    const report = async (reader: string, agoSeconds: number): Promise<void> => {
      await ok({ ...key, ...(await tenant.as(reader)) }, 'POST', `/comments/${id}/report`, { reason: 'spam' })
      await service.app.db.query(
        unnamed(`UPDATE reports SET created_at = now() - $2::int * interval '1 s'
          WHERE comment_id = $1 AND created_at = (SELECT max(created_at) FROM reports WHERE comment_id = $1)`),
        [id, agoSeconds],
      )
    }
    await report('ben', 5000)
    await report('cleo', 4000)
    await decide(mod, 'approve', id)
    await report('dan', 700)
    await decide(mod, 'reject', id)
    const { rules, totals } = await team()
    expect(rules).toEqual([{ reason: 'reports', right: 1, wrong: 1, waits: waits(700, 5000) }])
    expect(totals).toEqual(decisions({ approved: 1, rejected: 1 }, 700, 5000))
  })

  test('a comment that was published and flagged waits, too', async () => {
    const { mod, key, ok, post, decide, team } = await openDesk()
    await ok(key, 'PATCH', '/settings', { moderationMode: 'post' })
    const id = await post('sport', 'casino', 600)
    await decide(mod, 'review', id)
    await decide(mod, 'approve', id)
    const { rules, totals } = await team()
    expect(totals).toEqual(decisions({ approved: 1, reviewed: 1 }, 600))
    expect(rules).toEqual([{ reason: 'suspect_word', right: 0, wrong: 1, waits: waits(600) }])
  })

  test("the service's decisions stand apart: its classifier, and a ban that rejects", async () => {
    const { tenant, mod, editor, key, ok, of, post, decide, team } = await openDesk()
    await ok(key, 'PATCH', '/settings', {
      suspectWords: [],
      maxLinks: 5,
      classifier: { url: 'https://classifier.example/', fallback: 'hold' },
    })
    const judged = await post('sport', 'Fine', 100)
    await applyVerdict(service.app, { tenantId: tenant.tenant.id, id: judged, revision: 1 } as never, 'reject')
    await decide(mod, 'approve', judged)
    const { author } = await ok(key, 'GET', `/comments/${judged}`)
    await ok(of(editor), 'POST', `/readers/${author.id}/ban`, { comments: 'reject' })
    while (await continueBanSweep(service.app, new AbortController().signal, new Date(Date.now() + 60_000))) continue
    const { deciders, rules, totals } = await team()
    expect(deciders).toEqual([
      { kind: 'system', id: null, name: null, decisions: decisions({ rejected: 2 }, 100) },
      { kind: 'admin', id: mod.id, name: 'The moderator', decisions: decisions({ approved: 1 }) },
    ])
    expect(totals).toEqual(decisions({ approved: 1 }))
    expect(rules).toEqual([{ reason: 'classifier', right: 0, wrong: 1, waits: waits() }])
    // The entry of the audit log names the member who has banned.
    const [entry] = (await ok(key, 'GET', '/audit-log?action=comment.reject')).data
    expect(entry.actor.id).toBe(editor.id)
  })

  test('a comment withheld by a ban waits since the ban', async () => {
    const { mod, key, ok, post, decide, team } = await openDesk()
    const id = await post('sport', 'Fine', 90_000)
    const { author } = await ok(key, 'GET', `/comments/${id}`)
    await ok(key, 'POST', `/readers/${author.id}/ban`, { comments: 'withhold' })
    while (await continueBanSweep(service.app, new AbortController().signal, new Date(Date.now() + 60_000))) continue
    await service.app.db.query(
      unnamed("UPDATE ban_sweeps SET started_at = now() - interval '400 s' WHERE reader_id = $1"),
      [author.id],
    )
    await decide(mod, 'approve', id)
    expect((await team()).rules).toEqual([{ reason: 'author_banned', right: 0, wrong: 1, waits: waits(400) }])
  })

  test('the own deletion of an author is no decision', async () => {
    const { key, tenant, ok, post, team } = await openDesk()
    const id = await post('sport', 'casino')
    await ok({ ...key, ...(await tenant.as('ada')) }, 'DELETE', `/comments/${id}`)
    expect((await team()).deciders).toEqual([])
  })

  test('a repeated decision changes nothing, and a refused one counts nothing', async () => {
    const { mod, post, decide, team } = await openDesk()
    const id = await post('sport', 'casino', 500)
    await decide(mod, 'approve', id)
    const before = await team()
    await decide(mod, 'approve', id, newId(), 'no id')
    expect(await team()).toEqual(before)
    expect(before.totals).toEqual(decisions({ approved: 1 }, 500))
  })

  test('after the erasure of the reader nothing names them, and removed comments do not count', async () => {
    const { mod, key, ok, post, decide, team } = await openDesk()
    await ok(key, 'PATCH', '/settings', { erasureMode: 'delete' })
    const [gone, stays] = [await post('sport', 'casino', 60, 'zoe'), await post('sport', 'casino', 80, 'ben')]
    await decide(mod, 'reject', gone, stays)
    const { author } = await ok(key, 'GET', `/comments/${gone}`)
    await ok(key, 'DELETE', `/readers/${author.id}`)
    const rows = await service.app.db.query(unnamed('SELECT * FROM comment_decisions WHERE comment_id = $1'), [gone])
    const kept = await service.app.db.query(unnamed('SELECT id FROM comments WHERE id = $1'), [gone])
    expect(rows).toHaveLength(kept.length)
    const answer = JSON.stringify(await team())
    expect(answer).not.toContain('zoe')
    expect(answer).not.toContain(author.id)
  })
})

describe('the span', () => {
  test('includes from and excludes to, in whole days, at most 92', async () => {
    const { mod, post, decide, team, key } = await openDesk()
    const ids = [
      await post('sport', 'casino', 60),
      await post('sport', 'casino', 60),
      await post('sport', 'casino', 60),
    ]
    await decide(mod, 'reject', ...ids)
    const day = daysBefore(tomorrow(), 10)
    const AT = unnamed('UPDATE comment_decisions SET at = $2 WHERE comment_id = $1')
    const ats = [day.getTime() - 1, day.getTime(), day.getTime() + 86_400_000]
    for (const [n, id] of ids.entries()) await service.app.db.query(AT, [id, new Date(ats[n] ?? 0)])
    const noon = new Date(day.getTime() + 43_200_000).toISOString()
    const answer = await team(`?from=${noon}&to=${new Date(day.getTime() + 43_200_001).toISOString()}`)
    expect([answer.from, answer.to]).toEqual([day.toISOString(), daysBefore(tomorrow(), 9).toISOString()])
    expect(answer.totals.rejected).toBe(1)
    const whole = await team()
    expect([whole.from, whole.to]).toEqual([daysBefore(tomorrow(), 30).toISOString(), tomorrow().toISOString()])
    expect(whole.totals.rejected).toBe(3)
    const refused = async (query: string) => {
      const { status, json } = await service.call('GET', `/analytics/team?${query}`, { headers: key })
      return [status, json.errors?.[0]]
    }
    const span = (from: Date, to: Date) => `from=${from.toISOString()}&to=${to.toISOString()}`
    expect(await refused(span(daysBefore(tomorrow(), 93), tomorrow()))).toEqual([
      422,
      { pointer: '/from', code: 'too_small', message: 'must be at most 92 days before to' },
    ])
    expect((await refused(span(daysBefore(tomorrow(), 500), daysBefore(tomorrow(), 499))))[1]).toMatchObject({
      pointer: '/from',
      message: 'must be at most 400 days ago (analyticsRetentionDays)',
    })
    expect((await refused(`section=${'x'.repeat(201)}`))[1]).toMatchObject({ pointer: '/section', code: 'too_long' })
  })

  test('decisions are deleted with the analytics of their days', async () => {
    const { mod, post, decide, tenant } = await openDesk()
    const ids = [await post('sport', 'casino'), await post('sport', 'casino')]
    await decide(mod, 'reject', ...ids)
    const AT = unnamed("UPDATE comment_decisions SET at = now() - interval '402 days' WHERE comment_id = $1")
    await service.app.db.query(AT, [ids[0] ?? null])
    while ((await deleteOldAnalytics(service.app.db.query, 1)) > 0) continue
    const LEFT = unnamed('SELECT comment_id AS id FROM comment_decisions WHERE tenant_id = $1')
    expect(await service.app.db.query(LEFT, [tenant.tenant.id])).toEqual([{ id: ids[1] }])
  })
})
