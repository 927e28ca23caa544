import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { CAUSES } from '../../src/domains/notices/causes.ts'
import { isEndedKeyOfOther, keepEndedKey, removeSites } from '../../src/domains/sites/ended-keys.ts'
import { exportLines } from '../../src/transfer/export/export.ts'
import { importFile } from '../../src/transfer/import/import.ts'
import { rehearseImport } from '../../src/transfer/rehearsal/rehearse.ts'
import { effort } from '../harness/effort.ts'
import { exportText } from '../harness/exports.ts'
import { useFolder } from '../harness/folders.ts'
import { type TestTenant, useService } from '../harness/service.ts'
import { dumpImported, findWrongCounts } from '../harness/transfer.ts'

const service = useService({ env: { WEBHOOK_ALLOW_HTTP: 'true' } })
const folder = useFolder()
let names = 0

const addTenant = (): Promise<TestTenant> => service.addTenant(`exports-${++names}`)

/** The lines of an export, and its header apart. */
async function exported(tenant: TestTenant): Promise<{ header: string; lines: string[] }> {
  const text = await exportText(service.app, tenant)
  const [header = '', ...lines] = text.trimEnd().split('\n')
  return { header, lines }
}

function fileOf({ header, lines }: { header: string; lines: readonly string[] }): string {
  const path = join(folder, `${++names}.jsonl`)
  writeFileSync(path, [header, ...lines].join('\n'))
  return path
}

/** What an import that brings nothing may change: it remembers items, and folds. */
const NOT_CONTENT = [
  'imports',
  'import_items',
  'analytics_deltas',
  'analytics_buckets',
  'analytics_activity',
  'analytics_discussions',
]

const importInto = ({ tenant }: TestTenant, path: string) =>
  importFile(service.app, tenant.id, { source: 'jsonl', path })

type Step = { by: number; on: number; what: (typeof WHAT)[number]; text: string }

const WHAT = [
  'post',
  'reply',
  'edit',
  'delete',
  'like',
  'love',
  'report',
  'reject',
  'approve',
  'pin',
  'lock',
  'unlock',
  'ban',
  'shadow',
  'erase',
  'merge',
  'mute',
  'settings',
  'endpoint',
  'title',
] as const

/** What a random tenant has gone through, by the API. */
async function live(acme: TestTenant, steps: readonly Step[]): Promise<void> {
  const comments: { id: string; discussionId: string; by: number }[] = []
  const call = async (method: string, path: string, body?: object, by?: number) => {
    const identity = by === undefined ? {} : await acme.as(`reader-${by}`)
    return service.call(method, path, { headers: { 'x-api-key': acme.apiKey, ...identity }, body })
  }
  const take = (answer: { status: number; json: { id: string; discussionId: string } }, by: number): void => {
    if (answer.status === 201) comments.push({ id: answer.json.id, discussionId: answer.json.discussionId, by })
  }
  for (const { by, on, what, text } of steps) {
    const comment = comments[on % Math.max(1, comments.length)]
    const path = `/comments/${comment?.id}`
    const body = `${text} ${by}`
    if (what === 'post') take(await call('POST', `/discussions/by-external/page-${on % 3}/comments`, { body }, by), by)
    if (what === 'title')
      await call('POST', '/discussions', { externalId: `page-${on % 3}`, title: text, url: 'https://a.example/x' })
    if (what === 'settings')
      await call('PATCH', '/settings', {
        maxDepth: 3 + (on % 4),
        reportThreshold: 1 + (on % 2),
        moderationMode: on % 3 === 0 ? 'post' : 'none',
        suspectWords: [text.trim() || 'x'],
      })
    if (what === 'endpoint')
      await call('POST', '/webhooks', {
        url: `http://127.0.0.1:${9000 + on}/hook`,
        eventTypes: ['*'],
        policy: { maxAttempts: 2 },
        ...(comment && { discussionIds: [comment.discussionId] }),
      })
    if (comment === undefined) continue
    const readerPath = async (): Promise<string> =>
      `/readers/${(await call('GET', `/readers?externalId=reader-${comment.by}`)).json.data[0]?.id}`
    if (what === 'reply')
      take(await call('POST', `/discussions/${comment.discussionId}/comments`, { body, parentId: comment.id }, by), by)
    if (what === 'edit') await call('PATCH', path, { body: `${body} again` }, comment.by)
    if (what === 'delete') await call('DELETE', path, { asAuthor: true }, comment.by)
    if (what === 'like' || what === 'love') await call('POST', `${path}/reactions`, { type: what }, by)
    // Nobody reports their own comment.
    const reporter = comment.by === by ? 1 + (by % 4) : by
    if (what === 'report') await call('POST', `${path}/report`, { reason: 'spam', note: text }, reporter)
    if (what === 'reject' || what === 'approve' || what === 'pin') await call('POST', `${path}/${what}`, {})
    if (what === 'lock' || what === 'unlock') await call('POST', `/discussions/${comment.discussionId}/${what}`, {})
    if (what === 'ban' || what === 'shadow')
      await call('POST', `${await readerPath()}/ban`, { reason: text || null, shadow: what === 'shadow' })
    if (what === 'erase') await call('DELETE', await readerPath())
    const idOf = async (n: number): Promise<string> => (await call('GET', '/readers/me', undefined, n)).json.id
    if (what === 'mute') await call('PUT', `/readers/${await idOf(1 + ((by + on) % 4))}/mute`, {}, by)
    if (what === 'merge') {
      await call('POST', `/readers/${await idOf(by)}/merge`, { into: await idOf(1 + (by % 4)) })
    }
  }
}

const step: fc.Arbitrary<Step> = fc.record({
  by: fc.integer({ min: 1, max: 4 }),
  on: fc.nat({ max: 30 }),
  what: fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom('post' as const, 'reply' as const) },
    { weight: 5, arbitrary: fc.constantFrom(...WHAT) },
  ),
  text: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 30 }),
})

// A history with an item of each kind: random ones have not always all of them.
const OF_EACH_KIND: Step[] = ['post' as const, 'post' as const, ...WHAT.filter((what) => what !== 'erase')].map(
  (what, on) => ({ by: 1 + (on % 4), on, what, text: 'A text' }),
)
const IN_SHADOW: Step[] = [
  { by: 1, on: 0, what: 'post', text: 'A text' },
  { by: 2, on: 0, what: 'post', text: 'A text' },
  { by: 1, on: 1, what: 'like', text: 'A text' },
  { by: 2, on: 0, what: 'shadow', text: 'A text' },
  { by: 1, on: 1, what: 'like', text: 'A text' },
  { by: 1, on: 0, what: 'love', text: 'A text' },
  // The merge of the history above takes its report back.
  { by: 3, on: 0, what: 'report', text: 'A text' },
]

test('an export imported into an empty tenant exports the same bytes, except its header', async () => {
  let kinds = new Set<string>()
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 25, maxLength: 60 }), async (steps) => {
      const [acme, empty] = [await addTenant(), await addTenant()]
      await live(acme, steps)
      const before = await exported(acme)
      const rehearsed = await rehearseImport(service.app, empty.tenant.id, { source: 'jsonl', path: fileOf(before) })
      const report = await importInto(empty, fileOf(before))
      expect(report.refused.first).toEqual([])
      expect(rehearsed.counts).toMatchObject(report.counts.mutes === undefined ? {} : { mutes: report.counts.mutes })
      expect(report.changed.first).toEqual([])
      const after = await exported(empty)
      expect(after.lines).toEqual(before.lines)
      expect(await findWrongCounts(service.app.db, empty.tenant.id)).toEqual([])
      // Again, it changes nothing.
      expect((await importInto(empty, fileOf(before))).counts).toEqual({})
      expect((await exported(empty)).lines).toEqual(before.lines)
      const formerly = before.lines.filter((line) => line.includes('"formerly":[{"id":'))
      kinds = new Set([
        ...kinds,
        ...formerly.map(() => 'formerly'),
        ...before.lines.filter((line) => /"kind":"reaction".*"counted":false/.test(line)).map(() => 'own reaction'),
        ...before.lines.map((line) => (JSON.parse(line) as { kind: string }).kind),
      ])
    }),
    { numRuns: Number(process.env.EXPORT_RUNS ?? effort(6, 3)), examples: [[OF_EACH_KIND], [IN_SHADOW]] },
  )
  expect([...kinds].sort()).toEqual([
    'audit',
    'comment',
    'discussion',
    'endpoint',
    'formerly',
    'mute',
    'own reaction',
    'reaction',
    'reader',
    'report',
    'settings',
  ])
})

test('a caller within a transaction gets the same lines', async () => {
  const acme = await addTenant()
  await live(acme, [{ by: 1, on: 0, what: 'post', text: 'Mine' }])
  const text = await service.app.db.transaction(async (sql) => {
    let lines = ''
    for await (const piece of exportLines(sql, acme.tenant.id)) lines += piece
    return lines
  })
  expect(text.trimEnd().split('\n').slice(1)).toEqual((await exported(acme)).lines)
})

test('an export contains no secret, and nothing of another tenant', async () => {
  const acme = await addTenant()
  await live(acme, [
    { by: 1, on: 0, what: 'post', text: 'Mine' },
    { by: 1, on: 0, what: 'endpoint', text: '' },
  ])
  const { header, lines } = await exported(acme)
  expect(JSON.parse(header)).toMatchObject({ kind: 'header', version: 1, tenant: acme.tenant.slug })
  const text = lines.join('\n')
  for (const secret of [acme.apiKey, acme.identitySecret.secret, acme.admin.password, 'sealed', 'secret"']) {
    expect(text).not.toContain(secret)
  }
  const other = await addTenant()
  await live(other, [{ by: 1, on: 0, what: 'post', text: 'Theirs' }])
  expect((await exported(acme)).lines.join('\n')).not.toContain('Theirs')
})

test('importing an export into its own tenant changes no existing row and restores missing ones', async () => {
  const acme = await addTenant()
  await live(acme, [
    { by: 1, on: 0, what: 'post', text: 'One' },
    { by: 2, on: 0, what: 'reply', text: 'Two' },
    { by: 2, on: 0, what: 'like', text: '' },
  ])
  const before = await exported(acme)
  const rows = await dumpImported(service.app.db, acme.tenant.id, NOT_CONTENT)
  expect(await importInto(acme, fileOf(before))).toMatchObject({ counts: {}, refused: { total: 0 } })
  expect(await dumpImported(service.app.db, acme.tenant.id, NOT_CONTENT)).toEqual(rows)
  await live(acme, [{ by: 3, on: 0, what: 'post', text: 'Three' }])
  expect(await importInto(acme, fileOf(before))).toMatchObject({ counts: {} })
  expect(await findWrongCounts(service.app.db, acme.tenant.id)).toEqual([])
})

test('a tenant with own settings does not take those of another tenant', async () => {
  const [acme, other] = [await addTenant(), await addTenant()]
  await live(acme, [{ by: 1, on: 0, what: 'settings', text: 'x' }])
  await live(other, [{ by: 1, on: 1, what: 'settings', text: 'y' }])
  const { refused } = await importInto(other, fileOf(await exported(acme)))
  expect(refused.first).toEqual([
    { place: 'line 2', reason: 'the tenant has settings of its own' },
    { place: 'line 3', reason: 'is left out: the tenant has an audit log of its own' },
  ])
})

describe('the audit log of an export', () => {
  const read = async ({ apiKey }: TestTenant) =>
    (await service.call('GET', '/audit-log?limit=100', { headers: { 'x-api-key': apiKey } })).json.data as {
      action: string
      actor: { kind: string }
      importId: string | null
      after: object
    }[]
  const forged = (id: string, more: object = {}): string =>
    JSON.stringify({
      kind: 'audit',
      id,
      actorKind: 'key',
      action: 'api_key.revoke',
      targetType: 'api_key',
      at: '2026-01-01T00:00:00Z',
      ...more,
    })

  test("is imported into an empty audit log with a mark, beside the import's own entries", async () => {
    const [acme, empty] = [await addTenant(), await addTenant()]
    await live(acme, [
      { by: 1, on: 0, what: 'settings', text: 'x' },
      { by: 1, on: 0, what: 'endpoint', text: '' },
    ])
    const { id } = await importInto(empty, fileOf(await exported(acme)))
    const entries = await read(empty)
    expect(entries.map(({ action, actor, importId }) => [action, actor.kind, importId])).toEqual([
      ['import.finish', 'system', id],
      ['webhook.create', 'system', id],
      ['settings.update', 'system', id],
      ['webhook.create', 'key', id],
      ['settings.update', 'key', id],
    ])
    expect(entries[1]?.after).toMatchObject({ url: 'http://127.0.0.1:9000/hook', state: 'disabled', kids: [] })
    expect(entries[2]?.after).toEqual(entries[4]?.after)
    expect((await read(acme)).map(({ importId }) => importId)).toEqual([null, null])
  })

  test('is not imported into an audit log with own entries; entries that exist count as imported already', async () => {
    const acme = await addTenant()
    await live(acme, [{ by: 1, on: 0, what: 'settings', text: 'x' }])
    const { header, lines } = await exported(acme)
    const before = await read(acme)
    const ids = [1, 2, 3].map((n) => `01a2077a-164d-77c2-b649-6092fa40e0d${n}`)
    const path = fileOf({ header, lines: [...lines, ...ids.map((id) => forged(id))] })
    expect(await importInto(acme, path)).toMatchObject({
      already: 2,
      counts: {},
      refused: {
        total: 1,
        first: [
          {
            place: 'line 4',
            reason: 'is left out, as are 2 further on: the tenant has an audit log of its own',
          },
        ],
      },
    })
    expect(await read(acme)).toEqual(before)
  })

  test('has no entries about imports, and only valid ids', async () => {
    const empty = await addTenant()
    const { header } = await exported(empty)
    const id = '01a2077a-164d-77c2-b649-6092fa40e0d1'
    const lines = [
      forged(id, { actorKind: 'system', action: 'settings.update', targetType: 'settings' }),
      forged(id, { action: 'import.undo', targetType: 'import' }),
      forged('00000000-0000-0000-0000-000000000000'),
      forged(id, { actorId: 'root' }),
    ]
    const { refused, counts } = await importInto(empty, fileOf({ header, lines }))
    expect([counts, refused.total]).toEqual([{}, 4])
    expect(await read(empty)).toEqual([])
  })
})

test('a mute is refused without its readers or after an erasure, and counts once', async () => {
  const [acme, other] = [await addTenant(), await addTenant()]
  await live(acme, [
    { by: 1, on: 0, what: 'post', text: 'A text' },
    { by: 2, on: 0, what: 'post', text: 'A text' },
    { by: 1, on: 1, what: 'mute', text: '' },
    { by: 3, on: 0, what: 'post', text: 'A text' },
    { by: 3, on: 1, what: 'mute', text: '' },
  ])
  const { header, lines } = await exported(acme)
  const isMute = (line: string): boolean => line.includes('"kind":"mute"')
  const mutes = lines.filter(isMute)
  expect(mutes).toHaveLength(2)
  const lost = JSON.stringify({ ...(JSON.parse(mutes[0] ?? '') as object), mutedId: 'nobody' })
  const unnamed = JSON.stringify({ ...(JSON.parse(mutes[0] ?? '') as object), id: '0 is no id' })
  const path = fileOf({ header, lines: [...lines, ...mutes, lost, unnamed] })
  const file = { source: 'jsonl', path } as const
  const rehearsed = await rehearseImport(service.app, other.tenant.id, file)
  const imported = await importFile(service.app, other.tenant.id, file)
  expect(imported.counts).toMatchObject({ mutes: 2 })
  const reasons = ({ refused }: typeof rehearsed | typeof imported) => refused.first.map(({ reason }) => reason).sort()
  expect(reasons(imported)).toEqual(['id: is not a UUID', 'is of a reader who was not taken'])
  expect(reasons(rehearsed)).toEqual(reasons(imported))
  expect([rehearsed.counts.mutes, rehearsed.already]).toEqual([imported.counts.mutes, imported.already])
  // The readers of the other tenant have muted as they did.
  const headers = { 'x-api-key': other.apiKey, ...(await other.as('reader-3')) }
  const list = await service.call('GET', '/readers/me/mutes', { headers })
  expect(list.json.data).toMatchObject([{ reader: { externalId: 'reader-1' } }])
  // Who was erased since comes back with none.
  const [erased] = (
    await service.call('GET', '/readers?externalId=reader-3', { headers: { 'x-api-key': other.apiKey } })
  ).json.data
  await service.call('DELETE', `/readers/${erased.id}`, { headers: { 'x-api-key': other.apiKey } })
  const again = await importFile(service.app, other.tenant.id, file)
  expect(reasons(again)).toContain('is of a reader who was erased')
  expect(reasons(await rehearseImport(service.app, other.tenant.id, file))).toEqual(reasons(again))
  expect(again.counts.mutes).toBeUndefined()
})

test('notice channels come without their addresses, and are told nothing until they have one', async () => {
  const [acme, other, full] = [await addTenant(), await addTenant(), await addTenant()]
  const call = ({ apiKey }: TestTenant, method: string, path: string, body?: object) =>
    service.call(method, path, { headers: { 'x-api-key': apiKey }, ...(body && { body }) })
  const url = 'https://hooks.example.com/secret-path'
  const given = { kind: 'slack', url, on: ['export_ready', 'comment_waiting'] }
  const { json: made } = await call(acme, 'POST', '/notice-channels', given)
  const file = await exported(acme)
  expect(file.lines.join()).not.toContain('secret-path')
  const path = fileOf(file)
  const { counts } = await importInto(other, path)
  expect(counts.notices).toBe(1)
  const lastError = 'imported without its address: edit it to give one'
  const at = `/notice-channels/${made.id}`
  expect((await call(other, 'GET', at)).json).toEqual({ ...made, lastError })
  expect((await call(other, 'POST', `${at}/test`)).json.errors).toMatchObject([{ pointer: '/url', code: 'required' }])
  expect((await exported(other)).lines).toEqual(file.lines)
  const { json: log } = await call(other, 'GET', '/audit-log')
  expect(log.data).toContainEqual(expect.objectContaining({ action: 'notice_channel.create', targetId: made.id }))

  await call(other, 'PATCH', at, { url })
  expect((await call(other, 'GET', at)).json).toEqual(made)
  // What is there stays.
  await importInto(other, path)
  expect((await call(other, 'GET', at)).json).toEqual(made)

  for (let n = 0; n < 10; n++) await call(full, 'POST', '/notice-channels', given)
  const { refused } = await importInto(full, path)
  expect(refused.first.map(({ reason }) => reason)).toContain('the tenant has as many notice channels as there can be')
})

test.each<[string, string[]]>([
  ['more causes than there are', [...CAUSES, CAUSES[0]]],
  ['a cause twice', [CAUSES[0], CAUSES[0]]],
  ['no cause', []],
  ['an unknown cause', ['weather']],
])('a notice channel with %s is refused', async (_what, on) => {
  const other = await addTenant()
  const { header } = await exported(other)
  const channel = {
    kind: 'notice',
    id: newId(),
    form: 'slack',
    host: 'hooks.example.com',
    on,
    createdAt: '2026-01-01T00:00:00.000Z',
  }
  const { refused, counts } = await importInto(other, fileOf({ header, lines: [JSON.stringify(channel)] }))
  expect([refused.first[0]?.reason, counts.notices]).toEqual([expect.stringMatching(/^on\b/), undefined])
})

describe('the sites of an export', () => {
  const call = ({ apiKey }: TestTenant, method: string, path: string, body?: object) =>
    service.call(method, path, { headers: { 'x-api-key': apiKey }, body })
  const sitesOf = async (of: TestTenant) => (await call(of, 'GET', '/sites')).json.data as { id: string }[]
  const addSite = async (of: TestTenant) =>
    (await call(of, 'POST', '/sites', { name: 'Blog', origins: ['https://a.example'], posting: false })).json
  const refusedIn = ({ refused }: { refused: { first: { reason: string }[] } }) =>
    refused.first.map(({ reason }) => reason)

  test('keep their public keys, so that their pages go on with another service', async () => {
    const [acme, other] = [await addTenant(), await addTenant()]
    const site = await addSite(acme)
    const path = fileOf(await exported(acme))
    await call(acme, 'DELETE', `/sites/${site.id}`)
    // Another service has never had the site.
    await service.app.prisma.endedSiteKey.deleteMany()
    await importInto(other, path)
    expect(await sitesOf(other)).toEqual([site])
    const { json: log } = await call(other, 'GET', '/audit-log')
    expect(log.data).toContainEqual(expect.objectContaining({ action: 'site.create', targetId: site.id }))
    // Again: nothing is there to take.
    await importInto(other, path)
    expect(await sitesOf(other)).toEqual([site])
  })

  test('are left out, with the reason, where another site has the key or the tenant has no room', async () => {
    const [acme, other, full] = [await addTenant(), await addTenant(), await addTenant()]
    const site = await addSite(acme)
    const path = fileOf(await exported(acme))
    expect(refusedIn((await importInto(other, path)) as never)).toContain('another site has its public key')
    expect(await sitesOf(other)).toEqual([])
    await call(acme, 'DELETE', `/sites/${site.id}`)
    await service.app.prisma.endedSiteKey.deleteMany()
    for (let n = 0; n < 50; n++) await addSite(full)
    expect(refusedIn((await importInto(full, path)) as never)).toContain('the tenant has as many sites as there can be')
  })

  test('give the key of a deleted site back to its own tenant alone, also once that tenant is gone', async () => {
    const [acme, other] = [await addTenant(), await addTenant()]
    const site = await addSite(acme)
    const path = fileOf(await exported(acme))
    await call(acme, 'DELETE', `/sites/${site.id}`)
    expect(refusedIn((await importInto(other, path)) as never)).toContain('another site has its public key')
    await importInto(acme, path)
    expect(await sitesOf(acme)).toEqual([site])
    await service.app.db.transaction((sql) =>
      removeSites(sql.prisma, { where: { tenantId: acme.tenant.id }, limit: 500 }),
    )
    expect(refusedIn((await importInto(other, path)) as never)).toContain('another site has its public key')
    expect(await sitesOf(other)).toEqual([])
  })

  test('are kept of a tenant as the keys of its last 1000 deleted sites', async () => {
    const [acme, other] = [await addTenant(), await addTenant()]
    const { prisma } = service.app
    const keys = Array.from({ length: 1002 }, (_, n) => `pk_${String(n).padStart(64, '0')}`)
    const data = keys.slice(0, 1000).map((publicKey, n) => ({ publicKey, endedAt: new Date(n) }))
    await prisma.endedSiteKey.createMany({ data: data.map((each) => ({ ...each, ownerId: acme.tenant.id })) })
    await keepEndedKey(prisma, other.tenant.id, keys[1000] ?? '')
    await keepEndedKey(prisma, acme.tenant.id, keys[1001] ?? '')
    const isKept = (n: number) => isEndedKeyOfOther(prisma, 'another', keys[n] ?? '')
    expect(await Promise.all([0, 1, 999, 1000, 1001].map(isKept))).toEqual([false, true, true, true, true])
    expect(await prisma.endedSiteKey.count({ where: { ownerId: acme.tenant.id } })).toBe(1000)
  })

  test.each([
    ['publicKey', 'pk_short'],
    ['origins', ['https://*.example.com']],
    ['name', ''],
  ])('are refused with a wrong %s', async (field, value) => {
    const other = await addTenant()
    const { header } = await exported(other)
    const item = {
      kind: 'site',
      id: '01a2077a-164d-77c2-b649-6092fa40e0d1',
      name: 'Blog',
      origins: ['https://a.example'],
      publicKey: `pk_${'0'.repeat(64)}`,
      posting: true,
      createdAt: '2026-01-01T00:00:00.000Z',
      [field]: value,
    }
    const report = await importInto(other, fileOf({ header, lines: [JSON.stringify(item)] }))
    expect(refusedIn(report as never).join()).toContain(field)
    expect(await sitesOf(other)).toEqual([])
  })
})
