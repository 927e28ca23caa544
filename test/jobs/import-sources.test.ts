import { join } from 'node:path'

import { describe, expect, test } from 'vitest'

import { Pairs } from '../../src/transfer/csv.ts'
import { type ImportFile, importFile, type ImportReport } from '../../src/transfer/import/import.ts'
import { keyOfAddress } from '../../src/transfer/pages.ts'
import { useFolder } from '../harness/folders.ts'
import { type TestTenant, useService } from '../harness/service.ts'
import { fixture, makeIssoDatabase } from '../harness/sources.ts'

const service = useService()
const folder = useFolder()
let names = 0

interface Imported {
  tenant: TestTenant
  report: ImportReport
  /** Reads of the tenant, as its backend does. */
  get: (path: string) => Promise<{ data: Read[] }>
}

/** Moves a file into a new tenant. */
async function importInto(
  source: ImportFile['source'],
  path: string,
  how: Partial<ImportFile> = {},
): Promise<Imported> {
  const tenant = await service.addTenant(`sources-${++names}`)
  const report = await importFile(service.app, tenant.tenant.id, { source, path, ...how })
  const get = async (url: string) => (await service.call('GET', url, { headers: { 'x-api-key': tenant.apiKey } })).json
  return { tenant, report, get }
}

interface Read {
  id: string
  author: { name: string } | null
  body: string | null
  createdAt: string
  editedAt: string | null
  pinnedAt: string | null
  status: string
  replyCount: number
  reactionCounts: Record<string, number>
}

/** The thread of a page as indented lines: author, time, text and what has come of it. */
async function threadOf(imported: Imported, externalId: string, parent: Read | null = null): Promise<string[]> {
  const path = `/discussions/by-external/${encodeURIComponent(externalId)}/comments?sort=oldest`
  const { data } = await imported.get(parent === null ? path : `${path}&parentId=${parent.id}`)
  const lines: string[] = []
  for (const comment of data) {
    lines.push(lineOf(comment))
    const replies = comment.replyCount === 0 ? [] : await threadOf(imported, externalId, comment)
    lines.push(...replies.map((line) => `  ${line}`))
  }
  return lines
}

/** A comment as a line. */
function lineOf({ author, body, createdAt, editedAt, pinnedAt, status, reactionCounts }: Read): string {
  const marks = [
    ...(status === 'approved' ? [] : [status]),
    ...(editedAt === null ? [] : ['edited']),
    ...(pinnedAt === null ? [] : ['pinned']),
    ...Object.entries(reactionCounts).flatMap(([type, count]) => (count === 0 ? [] : [`${count} ${type}`])),
  ]
  return `${author?.name ?? '-'} ${createdAt}: ${JSON.stringify(body)}${marks.map((mark) => ` (${mark})`).join('')}`
}

/** State, title and address of a page. */
async function pageOf({ tenant }: Imported, externalId: string): Promise<(string | null)[]> {
  const path = `/discussions/by-external/${encodeURIComponent(externalId)}`
  const { json } = await service.call('GET', path, { headers: { 'x-api-key': tenant.apiKey } })
  return [json.state, json.title, json.url]
}

/** What waits for a moderator. */
async function pendingIn({ tenant }: Imported): Promise<string[]> {
  const { json } = await service.call('GET', '/moderation/queue', { headers: { 'x-api-key': tenant.apiKey } })
  return (json.data as { comment: Read }[]).map(({ comment }) => comment.body ?? '').sort()
}

describe('an import of another system, read over REST', () => {
  test('disqus', async () => {
    const imported = await importInto('disqus', fixture('disqus.xml'))
    expect(await threadOf(imported, 'story-101')).toEqual([
      'Ann 2019-05-02T09:15:00.000Z: "Is it 5 > 3 \\\\*really\\\\*?\\n\\n> 1\\\\. a quote"',
      '  Ben K. 2019-05-02T10:30:00.000Z: "Agreed, **entirely**. See [the plan](https://city.example/plan?a=1\\\\&b=2)."',
    ])
    expect(await pageOf(imported, 'story-101')).toEqual([
      'locked',
      'Boats & bridges: “the new harbour”',
      'https://daily.example/2019/05/harbour?edition=1&page=2',
    ])
    expect(await threadOf(imported, 'https://daily.example/2019/06/tram')).toEqual([
      'Ann 2019-06-03T12:00:00.000Z: "The same Ann, on another page. Right, @benk? Not ann@benk:disqus."',
    ])
    expect(await threadOf(imported, 'story-100')).toEqual([])
    expect(imported.report).toMatchObject({
      counts: { comments: 5, discussions: 3, readers: 4 },
      refused: { total: 1 },
    })
  })

  test('wordpress, with pages by their paths, new addresses and own ids of authors', async () => {
    const imported = await importInto('wordpress', fixture('wordpress.xml'), {
      page: 'path',
      addresses: new Pairs([[keyOfAddress('/2019/05/harbour/'), 'https://new.example/harbour']]),
      authors: new Pairs([['ann@reader.example', 'subscriber-1']]),
    })
    expect(await threadOf(imported, '/harbour')).toEqual([
      'Ann 2019-05-02T09:15:00.000Z: "First line\\\\\\nsecond line with a ]]> in it.\\n\\n\\\\# Not a heading, and *emphasis* & more."',
      '  Editor & Co. 2019-05-02T10:00:00.000Z: "Thank you, Ann."',
    ])
    expect(await pageOf(imported, '/harbour')).toEqual(['locked', 'Boats & bridges', 'https://new.example/harbour'])
    expect((await imported.get('/readers?externalId=subscriber-1')).data).toMatchObject([{ name: 'Ann' }])
    expect((await imported.get('/readers?externalId=wordpress:3')).data).toMatchObject([{ name: 'Editor & Co.' }])
    expect(await pendingIn(imported)).toEqual(['Waiting for approval'])
    expect(imported.report).toMatchObject({
      counts: { comments: 4, discussions: 1, readers: 4 },
      refused: { total: 3 },
    })
  })

  test('coral', async () => {
    const imported = await importInto('coral', fixture('coral'))
    expect(await threadOf(imported, 'https://daily.example/harbour')).toEqual([
      'Ann 2020-03-01T09:00:00.000Z: "I like **boats**.\\n\\nAnd bridges.\\n\\n<https://media.example/boat.gif>" (edited) (1 like)',
    ])
    expect(await threadOf(imported, 'https://daily.example/tram')).toEqual([
      '- 2020-04-01T09:00:00.000Z: null (deleted)',
      '  Ann 2020-04-01T10:00:00.000Z: "A reply to someone who has left."',
    ])
    expect((await pageOf(imported, 'https://daily.example/harbour'))[0]).toBe('locked')
    expect(await pendingIn(imported)).toEqual(['Waiting', 'Withheld by the system'])
    expect((await imported.get('/readers?externalId=subscriber-7')).data).toMatchObject([{ name: 'Ann', ban: null }])
    expect((await imported.get('/readers?externalId=coral:u-ben')).data).toMatchObject([
      { name: 'Ben', ban: { bannedAt: '2020-03-01T00:00:00.000Z', until: null, reason: 'Insults' } },
    ])
    expect(imported.report.counts).toMatchObject({ comments: 6, revisions: 1, reactions: 1, reports: 2 })
  })

  test('remark42', async () => {
    const imported = await importInto('remark42', fixture('remark42.jsonl'))
    expect(await threadOf(imported, 'https://daily.example/harbour')).toEqual([
      'Ann O\'Hara 2020-03-01T09:00:00.123Z: "I like **boats**, see <https://city.example/plan>" (edited) (pinned) (2 like)',
      '  - 2020-03-01T10:00:00.000Z: null (deleted)',
      '    Ann O\'Hara 2020-03-01T10:05:00.000Z: "A reply to what is gone\\\\\\nin two lines"',
    ])
    expect((await pageOf(imported, 'https://daily.example/harbour'))[0]).toBe('locked')
    expect((await imported.get('/readers?externalId=remark42:github_b1')).data).toMatchObject([
      { name: 'Ben', ban: { until: null } },
    ])
    // A line that is no comment, votes without voters, and a type of reaction unknown here.
    expect(imported.report).toMatchObject({ counts: { comments: 4, readers: 5, reactions: 2 }, refused: { total: 3 } })
  })

  test('commento', async () => {
    const imported = await importInto('commento', fixture('commento.json'), { page: 'path' })
    expect(await threadOf(imported, '/harbour')).toEqual([
      'Ann 2020-03-01T09:00:00.000Z: "I like *boats*"',
      '  Ben 2020-03-01T10:00:00.500Z: "Agreed, see <https://city.example/plan> and **more**"',
    ])
    expect(await pendingIn(imported)).toEqual(['Only as HTML', 'Who am I?'])
  })

  test('isso', async () => {
    const imported = await importInto('isso', makeIssoDatabase(join(folder, 'isso.db')))
    expect(await threadOf(imported, '/2020/harbour/')).toEqual([
      'Ann 2020-03-01T09:00:00.250Z: "I like *boats*\\nin two lines" (edited)',
      '  - 2020-03-01T09:11:40.000Z: null (deleted)',
      '    Guest 2020-03-01T09:13:20.000Z: "A reply to what is gone"',
    ])
    expect(await pendingIn(imported)).toEqual(['**Raw** HTML'])
  })

  test('artrans', async () => {
    const imported = await importInto('artrans', fixture('artrans.json'))
    expect(await threadOf(imported, 'https://daily.example/harbour/')).toEqual([
      'Ann 2021-12-02T14:00:00.123Z: "First line\\\\\\nsecond line :smile:\\n\\n**bold** <https://emoji.example/smile.png>" (pinned)',
    ])
    expect(await threadOf(imported, 'https://daily.example/tram')).toEqual([
      'Cem 2021-12-03T09:00:00.000Z: "Of another tool, whose fields are no texts"',
    ])
    expect(await pendingIn(imported)).toEqual(['A reply'])
  })

  test('a repeated import brings nothing', async () => {
    const { tenant } = await importInto('coral', fixture('coral'))
    const again = await importFile(service.app, tenant.tenant.id, { source: 'coral', path: fixture('coral') })
    expect(again.counts).toEqual({})
  })
})

test('a person without an account is the same in each import, and their address cannot be guessed from the id', async () => {
  const path = fixture('wordpress.xml')
  const externalIdsIn = async ({ get }: Imported): Promise<string[]> =>
    ((await get('/readers?limit=100')).data as unknown as { externalId: string }[])
      .map(({ externalId }) => externalId)
      .filter((externalId) => externalId.startsWith('wordpress:guest-'))
      .sort()
  const [one, other] = [await importInto('wordpress', path), await importInto('wordpress', path)]
  const ids = await externalIdsIn(one)
  expect(ids.length).toBeGreaterThan(0)
  await importFile(service.app, one.tenant.tenant.id, { source: 'wordpress', path })
  expect(await externalIdsIn(one)).toEqual(ids)
  // What two tenants make of the same address has nothing in common.
  expect((await externalIdsIn(other)).filter((id) => ids.includes(id))).toEqual([])
})
