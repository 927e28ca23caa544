import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'

import fc from 'fast-check'
import { describe, expect, onTestFinished, test, vi } from 'vitest'

import { Pace } from '../../src/core/queues/pace.ts'
import { foldWaiting } from '../../src/domains/analytics/fold.ts'
import {
  holdingImports,
  type ImportFile,
  importFile,
  type ImportReport,
  ImportRunning,
} from '../../src/transfer/import/import.ts'
import { ImportStopped } from '../../src/transfer/import/run.ts'
import { listImports } from '../../src/domains/imports/imports.ts'
import { type Item, SourceError } from '../../src/transfer/item.ts'
import { rehearseImport } from '../../src/transfer/rehearsal/rehearse.ts'
import { readAddresses, readAuthors } from '../../src/transfer/csv.ts'
import { BATCH_ITEMS } from '../../src/transfer/import/read-batches.ts'
import { undoImport } from '../../src/transfer/undo/undo.ts'
import { onServer } from '../harness/database.ts'
import { dumpTables } from '../harness/dump.ts'
import { effort } from '../harness/effort.ts'
import { useFolder } from '../harness/folders.ts'
import { last } from '../harness/processes.ts'
import { type TestTenant, useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'
import { at, comment, dumpImported, findWrongCounts, page, reader, writeItems } from '../harness/transfer.ts'

const DELTAS = unnamed('SELECT id FROM analytics_deltas WHERE tenant_id = $1')

const service = useService()
const folder = useFolder()
let names = 0

const addTenant = (): Promise<TestTenant> => service.addTenant(`imports-${++names}`)

function fileOf(items: readonly (Item | string)[]): string {
  const path = join(folder, `${++names}.jsonl`)
  writeItems(path, items)
  return path
}

const importInto = (
  { tenant }: TestTenant,
  items: readonly (Item | string)[],
  how: Partial<ImportFile> = {},
): Promise<ImportReport> => importFile(service.app, tenant.id, { source: 'jsonl', path: fileOf(items), ...how })

/** All but keys: when one was last used is written a while later. */
const dump = async (): Promise<string[]> =>
  (await dumpTables(service.app.db))
    .split('\n')
    // When keys and members were last used is written late.
    .filter((line) => !/^(api_keys|members) /.test(line))
    .sort()

const get = async ({ apiKey }: TestTenant, path: string) =>
  (await service.call('GET', path, { headers: { 'x-api-key': apiKey } })).json

const asAdmin = async ({ admin }: TestTenant, path: string) => {
  const { json } = await service.call('POST', '/admin/auth/login', { headers: { 'x-api-key': '' }, body: admin })
  const headers = { 'x-api-key': '', authorization: `Bearer ${json.token}` }
  return (await service.call('GET', path, { headers })).json
}

const commentsOf = async (tenant: TestTenant, externalId: string) =>
  (await get(tenant, `/discussions/by-external/${encodeURIComponent(externalId)}/comments?replies=3&sort=oldest`)).data

const THREAD: Item[] = [
  reader('ann'),
  reader('ben'),
  page('p', { title: 'A page', url: 'https://news.example/p' }),
  comment('1', 1),
  comment('2', 2, { parentId: '1', authorId: 'ben', body: 'A *reply*' }),
  comment('3', 3, { parentId: '2', status: 'deleted', body: null, deletedAt: at(9) }),
  comment('4', 4, { parentId: '3' }),
  comment('5', 5, { status: 'rejected' }),
  comment('6', 6, { revisions: [{ body: 'Before', createdAt: at(6) }], editedAt: at(8) }),
  { kind: 'reaction', commentId: '1', readerId: 'ben', type: 'like', createdAt: at(7) },
  { kind: 'reaction', commentId: '1', readerId: 'ann', type: 'love' },
  { kind: 'report', commentId: '2', readerId: 'ann', reason: 'spam', note: 'Really', createdAt: at(8) },
]

/** Counts only once, and is soon read. */
const LIKE: Item = { kind: 'reaction', commentId: '0', readerId: 'ann', type: 'like', createdAt: at(7) }

describe('an import of our own form', () => {
  test('imports threads with times, authors, states, edits, reactions and reports, and counts them', async () => {
    const acme = await addTenant()
    const report = await importInto(acme, THREAD)
    expect(report).toMatchObject({
      counts: { readers: 2, discussions: 1, comments: 6, revisions: 1, reactions: 2, reports: 1 },
      refused: { total: 0 },
      changed: { total: 0 },
      already: 0,
    })
    const [first, sixth] = await commentsOf(acme, 'page-p')
    expect(first).toMatchObject({
      body: 'Comment 1',
      createdAt: at(1),
      author: { externalId: 'jsonl:ann', name: 'Reader ann' },
      reactionCounts: { like: 1, love: 1 },
      replyCount: 1,
      replies: { data: [{ bodyHtml: '<p>A <em>reply</em></p>\n', replyCount: 1, depth: 1 }] },
    })
    expect(sixth).toMatchObject({ body: 'Comment 6', revision: 2, editedAt: at(8) })
    expect((await get(acme, `/comments/${sixth.id}/revisions`)).data).toMatchObject([
      { revision: 2, body: 'Comment 6', createdAt: at(8) },
      { revision: 1, body: 'Before', createdAt: at(6), replacedAt: at(8) },
    ])
    expect(await get(acme, '/discussions/by-external/page-p')).toMatchObject({
      commentCount: 4,
      lastCommentedAt: at(6),
      title: 'A page',
      url: 'https://news.example/p',
      lastEventId: '0',
    })
    expect(await findWrongCounts(service.app.db, acme.tenant.id)).toEqual([])
  })

  test('imports a compressed file, with the same result', async () => {
    const acme = await addTenant()
    const path = join(folder, 'packed')
    writeFileSync(path, gzipSync(THREAD.map((item) => JSON.stringify(item)).join('\n')))
    const file = { source: 'jsonl', path } as const
    expect((await importFile(service.app, acme.tenant.id, file)).counts).toMatchObject({ comments: 6 })
    const before = await dump()
    const again = await importFile(service.app, acme.tenant.id, file)
    expect(again).toMatchObject({ counts: {}, already: THREAD.length, refused: { total: 0 } })
    expect(await dump()).toEqual(before)
  })

  test('gives the same result for any order of items, with exact counts', async () => {
    const ordered = await addTenant()
    await importInto(ordered, THREAD)
    const expected = await dumpImported(service.app.db, ordered.tenant.id, ['imports'])
    await fc.assert(
      fc.asyncProperty(fc.shuffledSubarray(THREAD, { minLength: THREAD.length }), async (items) => {
        const shuffled = await addTenant()
        const { refused, changed } = await importInto(shuffled, items)
        expect([refused.total, changed.total]).toEqual([0, 0])
        expect(await dumpImported(service.app.db, shuffled.tenant.id, ['imports'])).toEqual(expected)
      }),
      { numRuns: effort(8, 2) },
    )
  })

  test('sends no event, no delivery, no message', async () => {
    const acme = await addTenant()
    const heard: string[] = []
    const { bus } = service.app
    const publish = bus.publish
    bus.publish = (channel, ...rest) => {
      if (!channel.startsWith('probe')) heard.push(channel)
      return publish.call(bus, channel, ...rest)
    }
    await importInto(acme, THREAD)
    bus.publish = publish
    expect(heard).toEqual([])
    const lines = await dumpImported(service.app.db, acme.tenant.id)
    expect(lines.filter((line) => /^(events|deliveries) /.test(line))).toEqual([])
  })

  test('is found by searches, and sort=top has its replies and reactions', async () => {
    const acme = await addTenant()
    await importInto(acme, [
      ...THREAD,
      comment('7', 7),
      { kind: 'reaction', commentId: '6', readerId: 'ben', type: 'like', createdAt: at(9) },
      comment('8', 8, { parentId: '7' }),
    ])
    const { id, lastCommentedAt } = await get(acme, '/discussions/by-external/page-p')
    expect(lastCommentedAt).toBe(at(8))
    const { data } = await get(acme, `/discussions/${id}/comments?sort=top`)
    expect(data.map(({ body }: { body: string }) => body)).toEqual(['Comment 1', 'Comment 6', 'Comment 7'])
    expect((await get(acme, '/discussions?search=page')).data).toMatchObject([{ id }])
    expect((await get(acme, '/readers?search=Reader%20ben')).data).toMatchObject([{ externalId: 'jsonl:ben' }])
  })

  test('shows on a page that was cached before', async () => {
    const acme = await addTenant()
    const post = (body: string) =>
      acme.as('live').then((identity) =>
        service.call('POST', '/discussions/by-external/page-p/comments', {
          headers: { 'x-api-key': acme.apiKey, ...identity },
          body: { body },
        }),
      )
    expect((await post('Live')).status).toBe(201)
    expect(await commentsOf(acme, 'page-p')).toHaveLength(1)
    await importInto(acme, THREAD)
    const listed = await commentsOf(acme, 'page-p')
    expect(listed.map(({ body }: { body: string }) => body)).toEqual(['Comment 1', 'Comment 6', 'Live'])
    expect((await get(acme, '/discussions/by-external/page-p')).commentCount).toBe(5)
    expect((await post('Live again')).status).toBe(201)
    expect(await findWrongCounts(service.app.db, acme.tenant.id)).toEqual([])
  })

  test('leaves analytics exact, and nothing to fold', async () => {
    const acme = await addTenant()
    await importInto(acme, THREAD)
    const rows = async () => dumpImported(service.app.db, acme.tenant.id)
    const lines = await rows()
    expect(lines.filter((line) => line.startsWith('analytics_deltas'))).toEqual([])
    await foldWaiting(service.app)
    expect(await rows()).toEqual(lines)
    const day = { interval: 'day', comments_approved: 4, comments_deleted: 1, comments_rejected: 1, reactions: 2 }
    const buckets = lines
      .filter((line) => line.startsWith('analytics_buckets'))
      .map((line) => JSON.parse(line.slice(18)))
    expect(buckets).toContainEqual(expect.objectContaining({ ...day, reports: 1, active_readers: 2 }))
  })

  test('writes an audit entry, and a row in the list of imports', async () => {
    const acme = await addTenant()
    const { id } = await importInto(acme, THREAD)
    expect((await get(acme, '/audit-log?action=import.finish')).data).toMatchObject([
      { targetId: id, actor: { kind: 'system' }, after: { counts: { comments: 6 }, refused: 0 } },
    ])
  })
})

describe('the beginning of a file', () => {
  const HEADER: Item = { kind: 'header', form: 'engagement-service', version: 1, tenant: 'other', exportedAt: at(59) }
  const READER_ID = '01890a5d-ac96-774b-bcce-b302099a8057'
  const ITEMS = [HEADER, reader(READER_ID)].map((item) => JSON.stringify(item))

  test.each([
    [
      'what npm says first',
      ['', '> engagement-service@0.1.0 cli', '> npm run --silent build && node cli.js', '', ...ITEMS],
    ],
    ['a byte order mark', ITEMS.map((line, n) => (n === 0 ? `\uFEFF${line}` : line))],
  ])('%s hides no header: ids stay', async (_, lines) => {
    const acme = await addTenant()
    const report = await importInto(acme, lines)
    expect(report).toMatchObject({ counts: { readers: 1 }, refused: { total: 0 } })
    expect((await service.call('GET', `/readers/${READER_ID}`, { headers: { 'x-api-key': acme.apiKey } })).status).toBe(
      200,
    )
  })

  test('anything else is refused, and a run without new items has no id', async () => {
    const acme = await addTenant()
    await expect(importInto(acme, ['hello', ...ITEMS])).rejects.toThrow('its first line is no item')
    expect((await importInto(acme, ITEMS)).id).not.toBeNull()
    expect(await importInto(acme, ITEMS)).toMatchObject({ id: null, already: 1 })
  })
})

describe('an item that does not fit', () => {
  test('goes to the nearest possible place, and is reported with its place', async () => {
    const acme = await addTenant()
    await service.call('PATCH', '/settings', { headers: { 'x-api-key': acme.apiKey }, body: { maxDepth: 1 } })
    const report = await importInto(acme, [
      reader('ann'),
      page('p'),
      page('q'),
      comment('1', 1),
      comment('2', 2, { parentId: '1' }),
      comment('3', 3, { parentId: '2' }),
      comment('lost', 4, { parentId: 'nowhere' }),
      comment('moved', 5, { parentId: '1', discussionId: 'q' }),
      comment('nobody', 6, { authorId: 'gone' }),
      comment('a', 7, { parentId: 'b' }),
      comment('b', 8, { parentId: 'a' }),
      comment('self', 9, { parentId: 'self' }),
    ])
    expect(report.counts.comments).toBe(9)
    expect(report.refused.total).toBe(0)
    const reasons = new Map(report.changed.first.map(({ place, reason }) => [place, reason]))
    expect(reasons.get('line 6')).toMatch(/deeper than 1/)
    expect(reasons.get('line 7')).toMatch(/not in the file/)
    expect(reasons.get('line 8')).toMatch(/another page/)
    expect(reasons.get('line 9')).toMatch(/no author/)
    expect(reasons.get('line 12')).toMatch(/circle/)
    expect(
      [reasons.get('line 10'), reasons.get('line 11')].filter((reason) => /circle/.test(reason ?? '')),
    ).toHaveLength(1)
    expect(await findWrongCounts(service.app.db, acme.tenant.id)).toEqual([])
  })

  test('is refused with its place and reason, and no other item is', async () => {
    const acme = await addTenant()
    const path = fileOf([
      reader('ann'),
      page('p'),
      comment('long', 1, { body: 'x'.repeat(10_001) }),
      comment('edge', 2, { body: 'é'.repeat(10_000) }),
      comment('blank', 3, { body: ' \u200B ' }),
      comment('none', 4, { body: null }),
      comment('future', 5, { createdAt: '2999-01-01T00:00:00Z' }),
      comment('old', 6, { createdAt: '1969-12-31T23:59:59Z' }),
      comment('elsewhere', 7, { discussionId: 'unknown' }),
      { kind: 'reaction', commentId: 'edge', readerId: 'ann', type: 'unheard-of' },
      { kind: 'reaction', commentId: 'long', readerId: 'ann', type: 'like' },
      'no JSON',
      '{"kind":"comment"}',
      reader('x', { externalId: 'x'.repeat(513) }),
      comment('reply', 8, { parentId: 'long' }),
      '{"id":"1"}',
      '[]',
      '{"kind":"coment"}',
      page('dots', { externalId: '..' }),
      page('dot', { externalId: '.' }),
    ])
    const file = { source: 'jsonl', path } as const
    const rehearsed = await rehearseImport(service.app, acme.tenant.id, file)
    const report = await importFile(service.app, acme.tenant.id, file)
    expect(report.counts).toEqual({ readers: 1, discussions: 1, comments: 2 })
    expect(Object.fromEntries(report.refused.first.map(({ place, reason }) => [place, reason]))).toEqual({
      'line 3': expect.stringMatching(/10001 characters as Markdown/),
      'line 5': expect.stringMatching(/can be seen/),
      'line 6': 'has no text',
      'line 7': expect.stringMatching(/future/),
      'line 8': expect.stringMatching(/1970/),
      'line 9': expect.stringMatching(/page/),
      'line 10': expect.stringMatching(/reactionTypes/),
      'line 11': expect.stringMatching(/comment that was not taken/),
      'line 12': 'is not a JSON object',
      'line 13': expect.stringMatching(/id/),
      'line 14': expect.stringMatching(/externalId/),
      'line 16': expect.stringMatching(/^kind is required: one of header, /),
      'line 17': 'is not a JSON object',
      'line 18': expect.stringMatching(/^kind must be one of header, /),
      'line 19': 'externalId must not be . or .., which URLs drop from a path',
      'line 20': 'externalId must not be . or .., which URLs drop from a path',
    })
    expect(report.changed.first).toEqual([{ place: 'line 15', reason: expect.stringMatching(/top level/) }])
    expect(rehearsed.refused.first.map(({ place }) => place).sort()).toEqual(
      report.refused.first.map(({ place }) => place).sort(),
    )
    expect(rehearsed.counts).toMatchObject({ readers: 1, discussions: 1 })
    const again = await importFile(service.app, acme.tenant.id, file)
    expect(again.counts).toEqual({})
    const inOrder = ({ refused }: Pick<typeof again, 'refused'>): string[] =>
      refused.first.map(({ place, reason }) => `${place} ${reason}`).sort()
    expect(inOrder(again), 'a second run says again what is not taken').toEqual(inOrder(report))
  })

  test('of a repeated id only the first counts, wherever the second one is', async () => {
    const acme = await addTenant()
    const many = effort(2100, 200)
    const items = [
      reader('ann'),
      reader('ann', { name: 'Another' }),
      page('p'),
      comment('1', 1),
      comment('1', 2, { body: 'Another' }),
      ...Array.from({ length: many }, (_, n) => comment(`many-${n}`, 3, { status: 'rejected' })),
      comment('1', 4, { body: 'Yet another' }),
      page('p', { title: 'Another' }),
    ]
    const file = { source: 'jsonl', path: fileOf(items) } as const
    const rehearsed = await rehearseImport(service.app, acme.tenant.id, file)
    const { refused, counts } = await importFile(service.app, acme.tenant.id, file)
    expect(refused.first).toEqual([
      { place: 'line 2', reason: 'has the id of a reader further up, which counts' },
      { place: 'line 5', reason: 'has the id of a comment further up, which counts' },
      { place: `line ${many + 6}`, reason: 'has the id of a comment further up, which counts' },
      { place: `line ${many + 7}`, reason: 'has the id of a discussion further up, which counts' },
    ])
    expect([rehearsed.refused, rehearsed.counts]).toEqual([refused, counts])
    expect(await commentsOf(acme, 'page-p')).toMatchObject([{ body: 'Comment 1', author: { name: 'Reader ann' } }])
  })

  test('a report by the author of the comment is refused, in the same file and in a later one', async () => {
    const acme = await addTenant()
    const report = (readerId: string): Item => ({ kind: 'report', commentId: '1', readerId, reason: 'spam' })
    const files: [Item[], string, object][] = [
      [
        [reader('ann'), reader('ben'), page('p'), report('ann'), comment('1', 1), report('ben')],
        'line 4',
        { reports: 1 },
      ],
      [[report('ann')], 'line 1', {}],
    ]
    for (const [items, place, counts] of files) {
      const file = { source: 'jsonl', path: fileOf(items) } as const
      const rehearsed = await rehearseImport(service.app, acme.tenant.id, file)
      const imported = await importFile(service.app, acme.tenant.id, file)
      const first = [{ place, reason: 'is a report by the author of the comment' }]
      expect(imported).toMatchObject({ refused: { total: 1, first }, counts, already: 0 })
      expect(rehearsed).toMatchObject({ refused: { total: 1, first }, counts: imported.counts, already: 0 })
    }
    const { data } = await get(acme, '/moderation/queue?status=reported')
    expect(data).toMatchObject([{ reportCount: 1 }])
    expect(await findWrongCounts(service.app.db, acme.tenant.id)).toEqual([])
  })

  test('a file of another form is refused as a whole, and is no import', async () => {
    const acme = await addTenant()
    await expect(importInto(acme, ['<?xml version="1.0"?>'])).rejects.toThrow(SourceError)
    await expect(
      importFile(service.app, acme.tenant.id, { source: 'jsonl', path: join(folder, 'nowhere') }),
    ).rejects.toThrow('there is no such file')
    expect(await listImports(service.app, acme.tenant.id)).toEqual([])
    const path = join(folder, 'cut.gz')
    writeFileSync(path, gzipSync(JSON.stringify(reader('ann'))).subarray(0, 40))
    await expect(importFile(service.app, acme.tenant.id, { source: 'jsonl', path })).rejects.toThrow(/damaged/)
  })

  test('an error further down in a file says what was imported, and how to undo it', async () => {
    const acme = await addTenant()
    const comments = Array.from({ length: effort(BATCH_ITEMS, 100) }, (_, n) => comment(`${n}`, n % 60))
    // Twice as many items as are read together, most of them soon stored.
    const likes = Array.from({ length: 2 * BATCH_ITEMS - comments.length }, () => LIKE)
    const path = join(folder, 'cut-late.gz')
    const items = [reader('ann'), page('p'), ...comments, ...likes]
    writeFileSync(path, gzipSync(items.map((item) => JSON.stringify(item)).join('\n')).subarray(0, -8))
    const cut = await importFile(service.app, acme.tenant.id, { source: 'jsonl', path }).catch(String)
    const found = last(await listImports(service.app, acme.tenant.id))
    expect(found).toMatchObject({ finishedAt: null, refused: { total: 0, first: [] } })
    const told = found.counts as { comments: number }
    expect(cut).toBe(
      `Error: ${path}: the file is damaged: unexpected end of file. What came before that stays (comments: ${told.comments}): import a whole file, which adds the rest, or take it back by \`import undo ${found.id}\``,
    )
    expect(await undoImport(service.app, acme.tenant.id, found.id)).toMatchObject({
      removed: { comments: told.comments },
    })
  })

  test('a leading code block keeps its indent, and a line break is one', async () => {
    const acme = await addTenant()
    const code = '    a\n    b\n\n> q\nanswer\nagain'
    await importInto(acme, [
      reader('ann'),
      page('p'),
      comment('1', 1, { body: `\n${code}\n`, revisions: [{ body: '\n    a\n', createdAt: at(6) }], editedAt: at(8) }),
    ])
    const [one] = await commentsOf(acme, 'page-p')
    expect(one).toMatchObject({
      body: code,
      bodyHtml: '<pre><code>a\nb\n</code></pre>\n<blockquote>\n<p>q</p>\n</blockquote>\n<p>answer<br>\nagain</p>\n',
    })
    expect((await get(acme, `/comments/${one.id}/revisions`)).data).toMatchObject([{ body: code }, { body: '    a' }])
  })

  test('hostile text does no harm', async () => {
    const acme = await addTenant()
    const body = '<img src=x onerror=alert(1)> [a](javascript:alert(1)) \0 \uD800'
    await importInto(acme, [
      reader('ann', { name: 'A\0nn', avatarUrl: 'javascript:x' }),
      reader('ben', { name: '\u3164 \u200B' }),
      page('p'),
      comment('1', 1, { body }),
      comment('2', 2, { authorId: 'ben' }),
    ])
    const [one, two] = await commentsOf(acme, 'page-p')
    expect(one.bodyHtml).not.toMatch(/<img|href="javascript/)
    expect(one.body).toContain('\uFFFD')
    expect(one.author).toMatchObject({ name: 'A\uFFFDnn', avatarUrl: null })
    expect(two.author).toMatchObject({ externalId: 'jsonl:ben', name: null })
  })

  test('the same id with different content is the same item', async () => {
    const acme = await addTenant()
    await importInto(acme, THREAD)
    const report = await importInto(acme, [...THREAD, comment('1', 1, { body: 'Another' }), comment('7', 7)])
    expect(report).toMatchObject({ counts: { comments: 1 }, already: THREAD.length })
    expect(report.refused.first).toEqual([
      { place: `line ${THREAD.length + 1}`, reason: 'has the id of a comment further up, which counts' },
    ])
    // Under a name of its own, another site's ids are others.
    const other = await importInto(acme, THREAD, { as: 'second' })
    expect(other.counts).toMatchObject({ readers: 2, comments: 6 })
    expect(await commentsOf(acme, 'page-p')).toHaveLength(5)
    expect(await findWrongCounts(service.app.db, acme.tenant.id)).toEqual([])
  })
})

describe('pages and readers', () => {
  test.each([
    [undefined, 'https://news.example/2015/a-story/?id=7'],
    ['url', 'https://news.example/2015/a-story/?id=7'],
    ['path', '/2015/a-story/?id=7'],
    ['slug', 'a-story'],
    ['id', '77'],
  ] as const)('--page %s makes the external id', async (rule, expected) => {
    const acme = await addTenant()
    const url = 'https://news.example/2015/a-story/?id=7'
    await importInto(acme, [{ kind: 'discussion', id: '77', url }], { page: rule })
    expect((await get(acme, '/discussions')).data).toMatchObject([{ externalId: expected, url }])
  })

  test('a page without an address is reported', async () => {
    const acme = await addTenant()
    const { changed } = await importInto(acme, [{ kind: 'discussion', id: '77' }])
    expect(changed.first).toEqual([{ place: 'line 1', reason: expect.stringMatching(/no address/) }])
    expect((await get(acme, '/discussions')).data).toMatchObject([{ externalId: 'jsonl:77', url: null }])
  })

  test('--map gives pages their new addresses, by address or by path', async () => {
    const acme = await addTenant()
    const path = join(folder, 'map.csv')
    writeFileSync(path, '\uFEFFold,new\nhttps://old.example/a,https://new.example/a\n"/b","/articles/b"\n/z,/y\n')
    const url = (id: string, address: string): Item => ({
      kind: 'discussion',
      id,
      url: address,
      createdAt: at(Number(id)),
    })
    const items = [
      url('1', 'https://old.example/a'),
      url('2', 'https://old.example/b'),
      url('3', 'https://old.example/c'),
    ]
    const addresses = await readAddresses(path)
    const { id, tables } = await importInto(acme, items, { addresses })
    expect(tables).toEqual({ map: { rows: 3, used: 2, firstUnused: ['row 4'] } })
    const kept = { map: { rows: 3, used: 2, firstUnused: ['row 4'] }, authors: null }
    expect(await asAdmin(acme, `/imports/${id}`)).toMatchObject({ state: 'finished', tables: kept })
    expect((await asAdmin(acme, '/imports')).data).toMatchObject([{ id, tables: kept }])
    const [audited] = (await get(acme, '/audit-log?action=import.finish')).data
    expect(audited.after.tables).toEqual({ map: { rows: 3, used: 2 } })
    expect((await get(acme, '/discussions')).data.map((each: { externalId: string }) => each.externalId)).toEqual([
      'https://old.example/c',
      'https://old.example/articles/b',
      'https://new.example/a',
    ])
  })

  test.each([
    ['--map', readAddresses, 'old,new\n/a,/b\n/c,/d\n/a,/b\n/a,/e\n', 2],
    [
      '--map by another scheme',
      readAddresses,
      'http://a.example/a,/b\n/a,/c\n/d,/e\n/f,/g\nhttps://a.example/a,/h\n',
      1,
    ],
    ['--map with a last slash', readAddresses, '/a?b=/,/1\n/a?b=,/2\n/a/?c=1,/3\n/,/4\n/a?c=1,/5\n', 3],
    ['--map without a first slash', readAddresses, '/a/b,/1\nb,/2\n/a,/3\n/b/a,/4\na/b/,/5\n', 1],
    ['--map that is encoded', readAddresses, '/%C3%A4,/1\n/%c3%b6,/2\n/%C3%A4,/1\n/100%,/3\n/ä,/4\n', 1],
    [
      '--map in another case',
      readAddresses,
      'HTTP://A.example/a,/1\n/%2F,/2\n/A,/3\n/a,/4\nhttps://a.Example/a,/5\n',
      1,
    ],
    ['--map that is encoded in another case', readAddresses, '/a%2F,/1\n/%E9,/2\n/A%2F,/3\n/b,/4\n/%e9,/5\n', 2],
    ['--authors', readAuthors, 'email,id\nann@example.com,1\nben,2\nAnn@example.com,1\nANN@example.com,3\n', 2],
  ])('%s with two values for one is refused', async (_, read, text, other) => {
    const path = join(folder, 'twice.csv')
    writeFileSync(path, text)
    await expect(read(path)).rejects.toThrow(`${path}: row 5 has another value than row ${other} for the same`)
  })

  test('--map finds a page without its campaign parameters, unless it has the address with them as well', async () => {
    const acme = await addTenant()
    const path = join(folder, 'campaigns.csv')
    writeFileSync(path, '/a,/articles/a\n/b,/articles/b\nhttps://old.example/b?utm_source=x,/articles/special\n')
    const items = ['a', 'a?utm_source=x', 'b/?utm_source=y&page=2', 'b?page=2', 'b?utm_source=x'].map(
      (address, n): Item => ({
        kind: 'discussion',
        id: `${n}`,
        url: `https://old.example/${address}`,
        createdAt: at(n),
      }),
    )
    await importInto(acme, items, { page: 'path', addresses: await readAddresses(path) })
    expect((await get(acme, '/discussions')).data.map((each: { externalId: string }) => each.externalId)).toEqual([
      '/articles/special',
      '/b?page=2',
      '/b/?page=2',
      '/articles/a',
    ])
  })

  test.each([
    ['in another order', 'id,email\nuser-1,ann@example.com\n'],
    ['among others', 'Name,E-Mail,User ID\nAnn,ann@example.com,user-1\n'],
    ['by other names', 'source id,sub\nann@example.com,user-1\n'],
    ['not at all', 'ann@example.com,user-1\n'],
  ])('the table of --authors names its columns %s', async (_, text) => {
    const path = join(folder, 'named.csv')
    writeFileSync(path, text)
    expect([...(await readAuthors(path))]).toEqual([['ann@example.com', 'user-1']])
  })

  test.each([
    ['foo,bar,baz\n1,2,3\n', 'row 1 does not say which columns count: name them email,id'],
    ['login,email\nann,ann@example.com\n', 'row 1 does not say which columns count: name them email,id'],
    ['email,name\nann@example.com,Ann\n', 'row 1 does not say which columns count: name them email,id'],
    ['ann,sub\nben,user-2\n', 'row 1 does not say which columns count: name them email,id'],
    ['email;id\nann@example.com;user-1\n', 'row 1 has not two columns, with a comma between them'],
  ])('an ambiguous table of --authors is refused: %j', async (text, reason) => {
    const path = join(folder, 'unnamed.csv')
    writeFileSync(path, text)
    await expect(readAuthors(path)).rejects.toThrow(`${path}: ${reason}`)
  })

  test('--authors gives readers the tenant’s own ids; existing readers do not change', async () => {
    const acme = await addTenant()
    const identity = await acme.as('user-1')
    await service.call('GET', '/readers/me', { headers: { 'x-api-key': acme.apiKey, ...identity } })
    const path = join(folder, 'emails.csv')
    writeFileSync(path, 'email,id\nAnn@Example.com,user-1\nben,user-2\nbenny,user-2\n')
    const people = [reader('ann', { email: 'ann@example.COM' }), reader('ben'), reader('benny'), reader('cem')]
    const reacted = ['ben', 'benny'].map((readerId): Item => ({
      kind: 'reaction',
      commentId: '1',
      readerId,
      type: 'like',
    }))
    const items = [...people, page('p'), comment('1', 1), ...reacted]
    const { counts, tables } = await importInto(acme, items, { authors: await readAuthors(path) })
    expect(tables).toEqual({ authors: { rows: 3, used: 3, firstUnused: [] } })
    expect(counts).toMatchObject({ readers: 2, reactions: 1 })
    const [one] = await commentsOf(acme, 'page-p')
    expect(one).toMatchObject({ author: { externalId: 'user-1', name: 'Reader user-1' }, reactionCounts: { like: 1 } })
    const rows = await service.app.db.query(unnamed('SELECT item::text FROM import_waiting'))
    expect(rows).toEqual([])
    expect(await dumpTables(service.app.db)).not.toContain('ann@example')
  })

  test("the tenant’s own profile replaces the source's", async () => {
    const acme = await addTenant()
    await importInto(acme, [reader('ann', { externalId: 'user-1' }), page('p'), comment('1', 1)])
    const identity = await acme.as('user-1', { name: 'Ann herself' })
    await service.call('GET', '/readers/me', { headers: { 'x-api-key': acme.apiKey, ...identity } })
    expect((await commentsOf(acme, 'page-p'))[0].author).toMatchObject({ externalId: 'user-1', name: 'Ann herself' })
  })

  test('the erasure of a reader leaves nothing of them, nor of their ids at the source', async () => {
    const acme = await addTenant()
    await importInto(acme, THREAD)
    const { data } = await get(acme, '/readers?externalId=jsonl:ann')
    const path = `/readers/${data[0].id}`
    expect((await service.call('DELETE', path, { headers: { 'x-api-key': acme.apiKey } })).status).toBe(204)
    const lines = await dumpImported(service.app.db, acme.tenant.id)
    expect(lines.filter((line) => line.includes(data[0].id) || line.includes('jsonl:ann'))).toEqual([])
    // The same file brings neither the reader nor anything of theirs.
    expect(await importInto(acme, THREAD)).toMatchObject({ counts: {}, refused: { total: 3 } })
    expect((await commentsOf(acme, 'page-p')).map(({ body }: { body: string | null }) => body)).toEqual([null])
    expect(await findWrongCounts(service.app.db, acme.tenant.id)).toEqual([])
  })
})

test('a misspelt field is reported, whatever its name, and is kept while the item waits', async () => {
  const acme = await addTenant()
  const odd = (item: Item, fields: object): Item => ({ ...item, ...fields })
  const items = [
    odd(comment('2', 2, { parentId: '1' }), { autorId: 'ann', ['__proto__']: 1, [`\0${'x'.repeat(100)}`]: 1 }),
    odd(reader('ann'), { ban: { at: null, untill: null } }),
    page('p'),
    odd(comment('3', 3), { body: undefined, text: 'Where does it stand?' }),
    odd(comment('1', 1), { revisions: [{ body: 'a', createdAt: '2020-01-01T00:00:00Z', at: 1 }] }),
    odd(reader('bob'), { ['\u009b2J\u202eevil']: 1 }),
    odd(reader('eve'), Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`field${n}`, n]))),
  ]
  const file = { source: 'jsonl', path: fileOf(items) } as const
  const rehearsed = await rehearseImport(service.app, acme.tenant.id, file)
  const { counts, changed, refused } = await importFile(service.app, acme.tenant.id, file)
  expect(counts).toMatchObject({ comments: 2, readers: 3, revisions: 1 })
  const reasons = Object.fromEntries(changed.first.map(({ place, reason }) => [place, reason]))
  expect(reasons).toMatchObject({
    'line 1': 'leaves out "autorId", which is no field of this kind, and 2 more like it',
    'line 2': 'leaves out "ban.untill", which is no field of this kind',
    'line 5': 'leaves out "revisions.at", which is no field of this kind',
    // A terminal would take it for a command.
    'line 6': String.raw`leaves out "\u{9b}2J\u{202e}evil", which is no field of this kind`,
    'line 7': 'leaves out "field0", which is no field of this kind, and more than 99 more like it',
  })
  const reason = 'has no text; it has "text", which is no field of this kind'
  expect(refused).toEqual({ total: 1, first: [{ place: 'line 4', reason }] })
  expect(rehearsed).toMatchObject({ changed: { total: changed.total }, refused })
})

test('a misspelt field is reported in items that only an export has, too', async () => {
  const acme = await addTenant()
  const odd = (item: object, fields: object): string => JSON.stringify({ ...item, ...fields })
  const id = '01a2077a-164d-77c2-b649-6092fa40e0d1'
  const audit = { kind: 'audit', id, actorKind: 'system', action: 'tenant.update', targetType: 'tenant', at: at(1) }
  const endpoint = {
    kind: 'endpoint',
    id,
    url: 'https://hooks.example.com/a',
    eventTypes: ['comment_created'],
    createdAt: at(1),
  }
  const items = [
    { kind: 'header', form: 'engagement-service', version: 1, tenant: 'x', exportedAt: at(59) },
    odd({ kind: 'settings', settings: { maxDepth: 3 } }, { setings: 1 }),
    odd(endpoint, { polcy: 1 }),
    odd(audit, { befor: 1 }),
  ].map((item) => (typeof item === 'string' ? item : JSON.stringify(item)))
  const file = { source: 'jsonl', path: fileOf(items) } as const
  const told: string[] = []
  const onFinding = (kind: string, { place, reason }: { place: string; reason: string }): void =>
    void told.push(`${kind} ${place} ${reason}`)
  const rehearsed = await rehearseImport(service.app, acme.tenant.id, file, { onFinding })
  const atFirst = told.splice(0)
  const imported = await importFile(service.app, acme.tenant.id, file, { onFinding })
  expect(imported.refused.first).toEqual([])
  expect(imported).toMatchObject({ counts: { settings: 1, endpoints: 1, auditEntries: 1 }, refused: { total: 0 } })
  expect(told).toEqual(
    ['setings', 'polcy', 'befor'].map(
      (name, n) => `changed line ${n + 2} leaves out "${name}", which is no field of this kind`,
    ),
  )
  expect(atFirst).toEqual(told)
  expect(rehearsed.changed).toEqual(imported.changed)
  expect(await importFile(service.app, acme.tenant.id, file)).toMatchObject({ already: 3, changed: { total: 0 } })
})

describe('an import in steps of one item', () => {
  const inSteps = (): void => {
    const sized = vi.spyOn(Pace.prototype, 'sized').mockReturnValue(1)
    onTestFinished(() => sized.mockRestore())
  }

  test('gives the same result as one in a single step', async () => {
    const items: (Item | string)[] = [
      { kind: 'reader', id: 'ann' },
      { kind: 'discussion', id: 'p', externalId: 'page-p' },
      { kind: 'reaction', commentId: '2', readerId: 'ann', type: 'like', createdAt: at(5) },
      comment('2', 2, { parentId: '1' }),
      { kind: 'reaction', commentId: '2', readerId: 'ann', type: 'love', createdAt: at(6) },
      // So many that the parent is not read with its reply.
      ...Array.from({ length: BATCH_ITEMS }, () => 'no item'),
      comment('1', 1),
    ]
    const outcomeOf = async () => {
      const { tenant } = await addTenant()
      const file = { source: 'jsonl', path: fileOf(items) } as const
      const rehearsed = await rehearseImport(service.app, tenant.id, file)
      const { counts, already, refused, changed } = await importFile(service.app, tenant.id, file)
      expect(rehearsed).toMatchObject({ counts, already, refused, changed })
      return { counts, already, refused, changed, rows: await dumpImported(service.app.db, tenant.id, ['imports']) }
    }
    const whole = await outcomeOf()
    expect(whole).toMatchObject({ counts: { readers: 1, comments: 2, reactions: 1 }, already: 1 })
    inSteps()
    expect(await outcomeOf()).toEqual(whole)
  })

  test('reports changes by its source to items that have to wait', async () => {
    const { tenant } = await addTenant()
    const commentOf = (id: number, parent: number): string =>
      `<wp:comment><wp:comment_id>${id}</wp:comment_id><wp:comment_date>2019-07-02 10:00:0${id}</wp:comment_date>
       <wp:comment_parent>${parent}</wp:comment_parent><wp:comment_content>Hi</wp:comment_content></wp:comment>`
    const path = join(folder, `${++names}.xml`)
    writeFileSync(
      path,
      `<rss xmlns:wp="http://wordpress.org/export/1.2/"><channel><item><link>https://a.example/x</link>
       <wp:post_id>1</wp:post_id>${commentOf(1, 2)}${commentOf(2, 1)}</item></channel></rss>`,
    )
    inSteps()
    const { counts, changed } = await importFile(service.app, tenant.id, { source: 'wordpress', path })
    expect(counts).toMatchObject({ comments: 2 })
    // Their times, and that one of them leaves the circle.
    expect(changed).toMatchObject({ total: 3 })
  })

  test('ends with the error of analytics, which are folded beside it', async () => {
    const acme = await addTenant()
    const run = (text: string) => service.app.db.query(unnamed(text))
    await run(`CREATE FUNCTION refuse_fold() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no fold'; END $$`)
    onTestFinished(async () => void (await run('DROP FUNCTION refuse_fold CASCADE')))
    await run('CREATE TRIGGER refuse_fold BEFORE DELETE ON analytics_deltas EXECUTE FUNCTION refuse_fold()')
    inSteps()
    await expect(importInto(acme, THREAD)).rejects.toThrow('no fold')
  })
})

describe('an interrupted import', () => {
  /** The comments among the items that are stored together at first. */
  const FIRST = effort(BATCH_ITEMS - 2, 300)
  const LATER = effort(1002, 300)
  const commentsFrom = (from: number, to: number): Item[] =>
    Array.from({ length: to - from }, (_, n) => comment(`${from + n}`, n % 60))
  const ITEMS = [
    reader('ann'),
    page('p'),
    ...commentsFrom(0, FIRST),
    ...Array.from({ length: BATCH_ITEMS - 2 - FIRST }, () => LIKE),
    ...commentsFrom(FIRST, FIRST + LATER),
  ]

  test('stops between two transactions on request, and continues with the same file', async () => {
    const acme = await addTenant()
    const path = fileOf(ITEMS)
    const controller = new AbortController()
    const file = { source: 'jsonl', path } as const
    const stopped = importFile(service.app, acme.tenant.id, file, {
      signal: controller.signal,
      onProgress: () => controller.abort(),
    })
    await expect(stopped).rejects.toThrow(ImportStopped)
    // Its work for analytics is over, too: who stopped it may close the database.
    expect(await service.app.db.query(DELTAS, [acme.tenant.id])).toEqual([])
    const { data } = await get(acme, '/discussions')
    expect(data[0].commentCount).toBe(FIRST)
    const report = await importFile(service.app, acme.tenant.id, file)
    expect(report).toMatchObject({ counts: { readers: 1, comments: FIRST + LATER }, already: BATCH_ITEMS })
    expect(await findWrongCounts(service.app.db, acme.tenant.id)).toEqual([])
  })

  test('keeps the use of its tables, including that of a run before the interruption', async () => {
    const acme = await addTenant()
    const file = { source: 'jsonl', path: fileOf([...ITEMS, reader('ben')]) } as const
    const table = join(folder, 'ids.csv')
    writeFileSync(table, 'ann,user-1\ncem,user-3\nben,user-2\n')
    const controller = new AbortController()
    const watching = { signal: controller.signal, onProgress: () => controller.abort() }
    const authors = await readAuthors(table)
    const stopped = importFile(service.app, acme.tenant.id, { ...file, authors }, watching)
    await expect(stopped).rejects.toThrow(ImportStopped)
    expect(await listImports(service.app, acme.tenant.id)).toMatchObject([{ finishedAt: null, tables: null }])
    const { id } = await importFile(service.app, acme.tenant.id, { ...file, authors: await readAuthors(table) })
    const tables = { authors: { rows: 3, used: 2, firstUnused: ['row 2'] } }
    expect(await listImports(service.app, acme.tenant.id)).toMatchObject([{ id, tables }])
  })

  test('an import without tables reports none', async () => {
    const acme = await addTenant()
    const { id, tables } = await importInto(acme, THREAD)
    expect(tables).toBeNull()
    expect(await asAdmin(acme, `/imports/${id}`)).toMatchObject({ tables: null })
  })

  test.runIf(onServer)('excludes a second one of the tenant', async () => {
    const acme = await addTenant()
    await holdingImports(service.app, acme.tenant.id, async () => {
      await expect(importInto(acme, THREAD)).rejects.toThrow(ImportRunning)
      expect((await importInto(service, THREAD)).counts).toMatchObject({ comments: 6 })
    })
    expect((await importInto(acme, THREAD)).counts).toMatchObject({ comments: 6 })
  })

  test.runIf(onServer)('holds no snapshot, for which PostgreSQL would keep replaced row versions', async () => {
    const holders = unnamed(`SELECT backend_xmin AS snapshot FROM pg_stat_activity WHERE datname = current_database()
       AND state = 'idle in transaction' AND query = 'SHOW transaction_isolation'`)
    await holdingImports(service.app, service.tenant.id, async () => {
      expect(await service.app.db.query(holders)).toEqual([{ snapshot: null }])
    })
  })

  test('a rehearsal reports what would be imported, and writes nothing', async () => {
    const acme = await addTenant()
    const before = await dump()
    const path = fileOf(THREAD)
    const table = join(folder, 'rehearsed.csv')
    writeFileSync(table, 'ann,user-1\nnobody,user-2\n')
    const authors = await readAuthors(table)
    const rehearsed = await rehearseImport(service.app, acme.tenant.id, { source: 'jsonl', path, authors })
    expect(rehearsed.tables).toEqual({ authors: { rows: 2, used: 1, firstUnused: ['row 2'] } })
    expect(await dump()).toEqual(before)
    const { counts } = await importFile(service.app, acme.tenant.id, { source: 'jsonl', path })
    const { revisions: _, ...rest } = counts
    expect(rehearsed).toMatchObject({ counts: rest, already: 0, pagesWithoutAddress: 0, refused: { total: 0 } })
  })

  test('a rehearsal counts pages without an address and comments without an author', async () => {
    const acme = await addTenant()
    const written = { kind: 'comment', discussionId: '1', body: 'Text', createdAt: '2020-01-01T00:00:00Z' } as const
    const path = fileOf([
      { kind: 'reader', id: 'ann', name: 'Ann' },
      { kind: 'discussion', id: '1', url: 'https://news.example/1' },
      { kind: 'discussion', id: '2' },
      { kind: 'discussion', id: '3', url: '' },
      { ...written, id: '1', authorId: 'ann' },
      { ...written, id: '2' },
      { ...written, id: '3', authorId: 'nobody' },
    ])
    const rehearsed = await rehearseImport(service.app, acme.tenant.id, { source: 'jsonl', path })
    expect(rehearsed).toMatchObject({
      counts: { readers: 1, discussions: 3, comments: 3 },
      pagesWithoutAddress: 2,
      commentsWithoutAuthor: 2,
    })
  })
})

test('pages that become one are reported, once for each except the first', async () => {
  const acme = await addTenant()
  const url = (id: string, address: string): Item => ({ kind: 'discussion', id, url: address, createdAt: at(0) })
  const items = [
    reader('ann'),
    url('1', 'https://old.example/2015/story'),
    url('2', 'https://old.example/other'),
    url('3', 'https://old.example/2016/story'),
    comment('a', 1, { discussionId: '1' }),
    comment('b', 2, { discussionId: '3' }),
    url('4', 'https://old.example/story'),
  ]
  const file = { source: 'jsonl', path: fileOf(items), page: 'slug' } as const
  const reason = 'becomes one page with an item further up, whose title counts: story'
  const changed = {
    total: 2,
    first: [
      { place: 'line 4', reason },
      { place: 'line 7', reason },
    ],
  }
  expect(await rehearseImport(service.app, acme.tenant.id, file)).toMatchObject({ counts: { discussions: 2 }, changed })
  expect(await importFile(service.app, acme.tenant.id, file)).toMatchObject({ counts: { discussions: 2 }, changed })
  expect(await get(acme, '/discussions/by-external/story')).toMatchObject({ commentCount: 2 })
  // Nothing of it is new the second time.
  expect(await importFile(service.app, acme.tenant.id, file)).toMatchObject({ id: null, changed: { total: 0 } })
})

describe('an undo', () => {
  test('removes everything that was not touched, except pages; the file can bring it again', async () => {
    const acme = await addTenant()
    const { id } = await importInto(acme, THREAD)
    const before = await dumpImported(service.app.db, acme.tenant.id, ['imports'])
    expect(await undoImport(service.app, acme.tenant.id, id!)).toEqual({
      id,
      removed: { readers: 2, comments: 6 },
      stays: { readers: 0, comments: 0 },
    })
    const left = await dumpImported(service.app.db, acme.tenant.id, [
      'imports',
      'analytics_buckets',
      'analytics_discussions',
    ])
    expect(left).toEqual([expect.stringMatching(/^discussions .*"comment_count": 0/)])
    expect(await get(acme, '/discussions/by-external/page-p')).toMatchObject({ commentCount: 0, lastCommentedAt: null })
    const undoneAt = async () =>
      (await listImports(service.app, acme.tenant.id)).find((each) => each.id === id)?.undoneAt
    const first = await undoneAt()
    expect(first).toEqual(expect.any(Date))
    // Asked for again, it does nothing.
    expect(await undoImport(service.app, acme.tenant.id, id!)).toEqual({
      id,
      removed: { readers: 2, comments: 6 },
      stays: { readers: 0, comments: 0 },
    })
    expect((await get(acme, '/audit-log?action=import.undo')).data).toHaveLength(1)
    const report = await asAdmin(acme, `/imports/${id}`)
    expect(report).toMatchObject({ state: 'undone', removed: { readers: 2, comments: 6 } })
    expect(await undoneAt()).toEqual(first)
    await importInto(acme, THREAD)
    const made = (lines: string[]) => lines.filter((line) => !/^(discussions|import_items) /.test(line))
    expect(made(await dumpImported(service.app.db, acme.tenant.id, ['imports']))).toEqual(made(before))
  })

  test('leaves what was touched since, and its ancestors', async () => {
    const acme = await addTenant()
    const { id } = await importInto(acme, [
      ...THREAD,
      comment('7', 7, { parentId: '6' }),
      comment('8', 8, { authorId: 'ben' }),
      comment('9', 9, { authorId: 'ben' }),
      comment('10', 10, { authorId: 'ben', status: 'rejected' }),
    ])
    const ids = new Map<string, string>()
    for (const { id: commentId, body } of await service.app.db.query<{ id: string; body: string }>(
      unnamed('SELECT id, body FROM comments WHERE tenant_id = $1'),
      [acme.tenant.id],
    )) {
      ids.set(body, commentId)
    }
    const identity = await acme.as('live')
    const send = (method: string, path: string, body: object, as = {}) =>
      service.call(method, path, { headers: { 'x-api-key': acme.apiKey, ...as }, body })
    const { discussionId } = await get(acme, `/comments/${ids.get('Comment 7')}`)
    const answers = [
      await send(
        'POST',
        `/discussions/${discussionId}/comments`,
        { body: 'Live', parentId: ids.get('Comment 7') },
        identity,
      ),
      await send('POST', `/comments/${ids.get('Comment 8')}/reactions`, { type: 'like' }, identity),
      await send('POST', `/comments/${ids.get('Comment 9')}/report`, { reason: 'spam' }, identity),
      await send('POST', `/comments/${ids.get('Comment 10')}/approve`, {}),
    ]
    expect(answers.map(({ status }) => status)).toEqual([201, 200, 201, 200])
    // 7 has a reply, which keeps 6 too.
    expect(await undoImport(service.app, acme.tenant.id, id!)).toMatchObject({
      removed: { readers: 0, comments: 5 },
      stays: { readers: 2, comments: 5 },
    })
    expect((await commentsOf(acme, 'page-p')).map(({ body }: { body: string }) => body)).toEqual([
      'Comment 6',
      'Comment 8',
      'Comment 9',
      'Comment 10',
    ])
    expect(await findWrongCounts(service.app.db, acme.tenant.id)).toEqual([])
  })
})
