import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

import type { App } from '../../src/core/app.ts'
import { newId } from '../../src/core/ids.ts'
import type { Sql, TxSql } from '../../src/core/database/database.ts'
import type { Param, Statement } from '../../src/core/database/statements.ts'
import type { ImportReport } from '../../src/transfer/import/import.ts'
import type { Item } from '../../src/transfer/item.ts'
import { BATCH_ITEMS } from '../../src/transfer/import/read-batches.ts'
import { effort } from '../harness/effort.ts'
import { useImports } from '../harness/imports.ts'
import type { TestTenant } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'
import { at, comment, findWrongCounts, page, reader } from '../harness/transfer.ts'

const imports = useImports('hostile')
const { addTenant, get, importInto } = imports

const HEADER: Item = { kind: 'header', form: 'engagement-service', version: 1, tenant: 'x', exportedAt: at(0) }
const GOOD = [reader('ann'), page('p'), comment('good', 1)]
const reaction = (more: object): Item => ({
  kind: 'reaction',
  commentId: 'good',
  readerId: 'ann',
  type: 'like',
  ...more,
})
const audit = (more: object): Item => ({
  kind: 'audit',
  id: '01a2077a-164d-77c2-b649-6092fa40e0d1',
  actorKind: 'system',
  action: 'tenant.update',
  targetType: 'tenant',
  at: at(1),
  ...more,
})
const nested = (depth: number): string => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`

const UNSTORABLE = ['\0', '\uD800', 'a\uDC00b', '\\u0000', '\u{FFFF}']
const PLACES: readonly [name: string, itemOf: (text: string) => Item][] = [
  ['a text that waits', (text) => comment('x', 1, { body: `Text ${text}`, parentId: 'later' })],
  [
    'an earlier text that waits',
    (text) => comment('x', 1, { parentId: 'later', revisions: [{ body: text, createdAt: at(1) }] }),
  ],
  ['an id', (text) => comment(text, 1, { parentId: 'later' })],
  ['the id of a parent', (text) => comment('x', 1, { parentId: text })],
  ['a type that waits', (text) => reaction({ commentId: 'later', type: text })],
  ['a note that waits', (text) => ({ kind: 'report', commentId: 'later', readerId: 'ann', reason: text, note: text })],
  ['an action', (text) => audit({ action: text })],
  ['a target', (text) => audit({ targetId: text })],
  ['what an entry says', (text) => audit({ after: { [text]: [text] } })],
  ['a name, a title, an address', (text) => page('x', { title: text, url: `https://x.example/${text}` })],
  ['a ban', (text) => reader('x', { name: text, externalId: text, ban: { reason: text } })],
]
/** The texts for the place of this number: all, or some, of which the next place has others. */
const textsFor = (place: number): string[] =>
  UNSTORABLE.filter((_, n) => (n + place) % UNSTORABLE.length < effort(UNSTORABLE.length, 1))

describe('a hostile item does not stop an import', () => {
  test.each<[string, Item | string]>([
    ...PLACES.flatMap(([name, itemOf], n) => textsFor(n).map((text): [string, Item] => [name, itemOf(text)])),
    ['a revision beyond what a column holds', comment('x', 1, { revision: 2 ** 31 })],
    ['a number of events beyond what a double holds', page('x', { seq: 2 ** 53 })],
    ['a day that does not exist', comment('x', 1, { createdAt: '2015-02-30T10:00:00Z' })],
    ['an offset that does not exist', comment('x', 1, { createdAt: '2015-02-03T10:00:00+99:99' })],
    [
      'an entry that is nested deeply',
      JSON.stringify(audit({ after: 0 })).replace('"after":0', `"after":${nested(20_000)}`),
    ],
    ['an entry that is long', audit({ after: { a: 'x'.repeat(2_000_000) } })],
    ['a field of objects', '{"kind":"comment","__proto__":{"id":"x"},"constructor":1}'],
    ['a type that every object has', reaction({ type: 'constructor' })],
  ])('%#: %s', async (_, hostile) => {
    const acme = await addTenant()
    for (const items of [
      [HEADER, hostile, ...GOOD],
      [hostile, ...GOOD],
    ]) {
      await importInto(acme, items)
      const rows = await imports.service.app.db.query(
        unnamed("SELECT id FROM comments WHERE tenant_id = $1 AND body = 'Comment good'"),
        [acme.tenant.id],
      )
      expect(rows.length).toBeGreaterThan(0)
      expect(await findWrongCounts(imports.service.app.db, acme.tenant.id)).toEqual([])
    }
  })

  test('random items', async () => {
    const text = fc.oneof(
      fc.constantFrom('good', 'ann', 'p', '1', '2', 'like', '__proto__', 'constructor', ...UNSTORABLE),
      fc.string({ unit: 'binary', maxLength: 20 }),
    )
    const number = fc.oneof(fc.constantFrom(-1, 0, 1, 2, 2 ** 31, 2 ** 53, 1e300, 0.5), fc.integer())
    const time = fc.oneof(
      fc.constantFrom('1970-01-01T00:00:00Z', '9999-12-31T23:59:59Z', '2015-03-01T10:00:00+14:00', 'now'),
      fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
    )
    const any = fc.oneof(text, number, time, fc.constantFrom(null, true, false), fc.jsonValue())
    const fields =
      'id discussionId parentId authorId commentId readerId body name title url type seq revision createdAt editedAt ' +
      'pinnedAt deletedAt activeAt updatedAt status ban externalId reason note revisions before after actorId settings ' +
      'policy targetType'
    const field = fc.constantFrom(...fields.split(' '))
    const template = fc.constantFrom<Item[]>(
      comment('1', 1),
      comment('2', 2, { parentId: '1' }),
      reaction({}),
      { kind: 'report', commentId: '1', readerId: 'ann', reason: 'spam' },
      reader('ben'),
      page('q'),
      audit({}),
      { kind: 'settings', settings: {} },
    )
    const item = fc
      .tuple(template, fc.array(fc.tuple(field, any), { maxLength: 4 }))
      .map(([base, changes]) => ({ ...base, ...Object.fromEntries(changes) }))
    await fc.assert(
      fc.asyncProperty(fc.array(item, { maxLength: 30 }), fc.boolean(), async (items, isExport) => {
        const acme = await addTenant()
        const report = await importInto(acme, [...(isExport ? [HEADER] : []), ...items, ...GOOD])
        expect(report.refused.first.filter(({ reason }) => /SQLSTATE/.test(reason))).toEqual([])
        expect(await findWrongCounts(imports.service.app.db, acme.tenant.id)).toEqual([])
        expect(await importInto(acme, [reader('cem'), comment('last', 9, { authorId: 'cem' })])).toMatchObject({
          counts: { comments: 1 },
        })
      }),
      { numRuns: effort(40, 3) },
    )
  })

  test('a value that only the database refuses is refused with its place, and the rest is imported', async () => {
    const acme = await addTenant()
    const { db } = imports.service.app
    const refuses = (sql: TxSql): TxSql => {
      const run = (statement: Statement, params?: readonly Param[]): Promise<unknown[]> => {
        if (JSON.stringify(params ?? []).includes('poison')) {
          throw Object.assign(new Error('poison is not valid'), { code: '22P05' })
        }
        return (sql as (...args: unknown[]) => Promise<unknown[]>)(statement, params)
      }
      return Object.assign(run as Sql, { prisma: sql.prisma, within: sql.within })
    }
    const app: App = {
      ...imports.service.app,
      db: { ...db, transaction: (work, lockWaitMs) => db.transaction((sql) => work(refuses(sql)), lockWaitMs) },
    }
    const many = Array.from({ length: 40 }, (_, n) => comment(`${n}`, n))
    const waits = Array.from({ length: 20 }, (_, n) => comment(`w${n}`, n, { parentId: 'later' }))
    const report = await importInto(
      acme,
      [
        comment('bad-1', 1, { body: 'poison', parentId: 'later' }),
        ...waits,
        ...GOOD,
        reader('poison'),
        ...many,
        comment('bad-2', 1, { body: 'poison' }),
        comment('reply', 2, { parentId: 'bad-2' }),
      ],
      { app },
    )
    expect(report.counts).toEqual({ readers: 1, discussions: 1, comments: 62 })
    expect(Object.fromEntries(report.refused.first.map(({ place, reason }) => [place, reason]))).toEqual(
      Object.fromEntries(
        [1, 25, 66].map((line) => [`line ${line}`, 'has a value that the database refuses (SQLSTATE 22P05)']),
      ),
    )
    expect(await findWrongCounts(db, acme.tenant.id)).toEqual([])
    expect(await db.query(unnamed('SELECT key FROM import_waiting WHERE tenant_id = $1'), [acme.tenant.id])).toEqual([])
  })
})

describe('reactions', () => {
  test('of a type that is named like a property of every object are counted like others', async () => {
    const acme = await addTenant()
    const headers = { 'x-api-key': acme.apiKey }
    const reactionTypes = ['constructor', 'like']
    expect((await imports.service.call('PATCH', '/settings', { headers, body: { reactionTypes } })).status).toBe(200)
    const types = ['constructor', 'like', 'constructor']
    await importInto(acme, [
      ...GOOD,
      ...types.map((_, n) => reader(`r${n}`)),
      ...types.map((type, n) => reaction({ readerId: `r${n}`, type })),
    ])
    // On a comment that is there, too.
    await importInto(acme, [reader('r9'), reaction({ readerId: 'r9', type: 'constructor' })])
    const { data } = await get(acme, '/discussions/by-external/page-p/comments')
    expect(new Map(Object.entries(data[0].reactionCounts))).toEqual(
      new Map(Object.entries({ constructor: 3, like: 1 })),
    )
    expect(await findWrongCounts(imports.service.app.db, acme.tenant.id)).toEqual([])
  })

  test('of a type named __proto__ are refused, by the settings and by an import', async () => {
    const acme = await addTenant()
    const headers = { 'x-api-key': acme.apiKey }
    const body = { reactionTypes: ['__proto__'] }
    expect((await imports.service.call('PATCH', '/settings', { headers, body })).status).toBe(422)
    const { refused } = await importInto(acme, [HEADER, ...GOOD, reaction({ type: '__proto__' })])
    expect(refused.first).toEqual([{ place: 'line 5', reason: expect.stringMatching(/reactionTypes/) }])
  })
})

test('settings with the secret of a sign-on are refused: it would be stored and logged as it is', async () => {
  const acme = await addTenant()
  const oidc = { issuer: 'https://id.example', clientId: 'c', emailDomains: ['city.example'], clientSecret: 'shh-1234' }
  const { refused } = await importInto(acme, [HEADER, { kind: 'settings', settings: { staff: { oidc } } }])
  expect(refused.first).toEqual([
    { place: 'line 2', reason: 'settings/staff/oidc/clientSecret is not taken from a file' },
  ])
})

describe('numbers and times', () => {
  const reasonsOf = ({ changed }: ImportReport): string[] =>
    changed.first.map(({ place, reason }) => `${place} ${reason}`)
  const FUTURE = '2999-01-01T00:00:00.000Z'
  const soon = (): string => new Date(Date.now() + 3_600_000).toISOString()

  test('in the future are taken as now, and reported', async () => {
    const acme = await addTenant()
    const fields = ['editedAt', 'pinnedAt', 'firstApprovedAt']
    const report = await importInto(acme, [
      HEADER,
      reader('ann', { profileIssuedAt: FUTURE, ban: { at: FUTURE, until: FUTURE } }),
      page('p', { updatedAt: FUTURE, lastCommentedAt: FUTURE, activeAt: FUTURE, autoClosedAt: FUTURE }),
      comment('1', 1, { ...Object.fromEntries(fields.map((field) => [field, FUTURE])), createdAt: soon() }),
      comment('2', 2, { status: 'deleted', body: null, deletedAt: FUTURE }),
      comment('3', 3, { revisions: [{ body: 'Before', createdAt: at(1), replacedAt: FUTURE }] }),
      reaction({ commentId: '1', createdAt: soon() }),
    ])
    expect(report.refused.total).toBe(0)
    expect(reasonsOf(report).sort()).toEqual(
      [
        ...['profileIssuedAt', 'ban'].map((field) => `line 2 ${field}`),
        ...['updatedAt', 'lastCommentedAt', 'activeAt', 'autoClosedAt'].map((field) => `line 3 ${field}`),
        ...['createdAt', ...fields].map((field) => `line 4 ${field}`),
        'line 5 deletedAt',
        'line 6 revisions',
        'line 7 createdAt',
      ]
        .map((found) => `${found}: lies in the future and is taken as now`)
        .sort(),
    )
    const rows = await imports.service.app.db.query<{ latest: Date }>(
      unnamed(
        `SELECT greatest(c.created_at, c.edited_at, c.pinned_at, c.first_approved_at, c.deleted_at, d.updated_at,
           d.last_commented_at, d.active_at, d.auto_closed_at, r.profile_issued_at, r.banned_at) AS latest
         FROM comments c
         JOIN discussions d ON d.tenant_id = c.tenant_id AND d.id = c.discussion_id
         JOIN readers r ON r.tenant_id = c.tenant_id AND r.id = c.author_id
         WHERE c.tenant_id = $1`,
      ),
      [acme.tenant.id],
    )
    expect(rows.map(({ latest }) => latest <= new Date())).toEqual([true, true, true])
  })

  test('of ids in the future are not kept', async () => {
    const acme = await addTenant()
    const ahead = 'f1a2077a-164d-77c2-b649-6092fa40e0d0'
    const report = await importInto(acme, [
      HEADER,
      reader(ahead),
      page(ahead),
      comment(ahead, 1, { authorId: ahead, discussionId: ahead }),
      audit({ id: ahead }),
      { kind: 'endpoint', id: ahead, url: 'http://127.0.0.1:9/', eventTypes: ['*'], createdAt: at(1) },
    ])
    expect(report.counts).toEqual({ readers: 1, discussions: 1, comments: 1 })
    const reason = 'id: lies in the future, and becomes another one'
    expect(report.changed.first).toEqual([2, 3, 4].map((line) => ({ place: `line ${line}`, reason })))
    expect(new Set(report.refused.first.map((found) => `${found.place} ${found.reason}`))).toEqual(
      new Set(['line 5 id: lies in the future', 'line 6 id: lies in the future']),
    )
  })

  test('that only this service knows are accepted only from its exports', async () => {
    const acme = await addTenant()
    const known = { seq: 7, lastCommentedAt: at(50), activeAt: at(50) }
    const items = [
      reader('ann', { profileIssuedAt: at(50), formerly: [{ id: newId(), externalId: 'old', mergedAt: at(50) }] }),
      page('p', known),
      comment('1', 1, { revision: 7 }),
      comment('2', 2, { revision: 2, revisions: [{ body: 'Before', createdAt: at(2) }] }),
    ]
    const report = await importInto(acme, items)
    expect(reasonsOf(report).map((reason) => reason.split(':')[0])).toEqual([
      'line 1 profileIssuedAt',
      'line 1 formerly',
      'line 2 seq',
      'line 2 lastCommentedAt',
      'line 2 activeAt',
      'line 3 revision',
    ])
    expect(await get(acme, '/discussions/by-external/page-p')).toMatchObject({
      lastEventId: '0',
      lastCommentedAt: at(2),
    })
    const other = await addTenant()
    expect(reasonsOf(await importInto(other, [HEADER, ...items]))).toEqual([])
    expect(await get(other, '/discussions/by-external/page-p')).toMatchObject({
      lastEventId: '7',
      lastCommentedAt: at(50),
    })
  })
})

/** As the driver says it. */
const lostAnswer = (): Error => Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })

test("a lost answer to any of its writes changes nothing, not even the import's report", async () => {
  const items = [
    comment('waits', 3, { parentId: 'late', authorId: 'ben' }),
    ...GOOD,
    reaction({}),
    reaction({ commentId: 'nowhere' }),
    ...Array.from({ length: BATCH_ITEMS }, () => 'no item'),
    reader('ben'),
    comment('late', 2, { parentId: 'good' }),
    comment('orphan', 4, { parentId: 'nowhere' }),
  ]
  const { db } = imports.service.app
  const audited = async (tenant: TestTenant) => (await get(tenant, '/audit-log?action=import.finish')).data.length
  const run = async (lost: number) => {
    const acme = await addTenant()
    // The first transaction on a server holds the lock, and has no answer to lose.
    let left = db.connections === 1 ? lost : lost + 1
    const transaction: typeof db.transaction = async (work, lockWaitMs) => {
      const isLost = left-- === 0
      const result = await db.transaction(work, lockWaitMs)
      if (isLost) throw lostAnswer()
      return result
    }
    const query: Sql = async (asked, params) => {
      const rows = await db.query(asked, params)
      if (asked.name === 'begin_import' && left-- === 0) throw lostAnswer()
      return rows
    }
    const lossy = { ...imports.service.app, db: { ...db, transaction, query } }
    const { id: _, file: __, ...report } = await importInto(acme, items, { app: lossy })
    expect(await findWrongCounts(db, acme.tenant.id)).toEqual([])
    return { isPast: left >= 0, told: { report, finished: await audited(acme) } }
  }
  const undisturbed = await run(Infinity)
  expect(undisturbed.told).toMatchObject({ report: { counts: { readers: 2, comments: 4, reactions: 1 } }, finished: 1 })
  let lost = 0
  // On the embedded defaults to a third of them.
  for (; ; lost += effort(1, 3)) {
    const { isPast, told } = await run(lost)
    if (isPast) break
    expect({ lost, ...told }).toEqual({ lost, ...undisturbed.told })
  }
  expect(lost).toBeGreaterThan(8)
})
