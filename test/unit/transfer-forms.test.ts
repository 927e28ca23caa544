import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'

import { describe, expect, test } from 'vitest'

import type { Found } from '../../src/transfer/item.ts'
import { identifyPage } from '../../src/transfer/pages.ts'
import type { SourceName } from '../../src/domains/imports/options.ts'
import { readSource, SOURCES } from '../../src/transfer/sources.ts'
import { People } from '../../src/transfer/sources/people.ts'
import { readAddresses, readAuthors } from '../../src/transfer/csv.ts'
import { useFolder } from '../harness/folders.ts'
import { fixture, makeIssoDatabase } from '../harness/sources.ts'

const folder = useFolder()

let names = 0
function fileOf(content: string | Uint8Array): string {
  const path = join(folder, `file-${++names}`)
  writeFileSync(path, content)
  return path
}

async function readAll(name: SourceName, path: string): Promise<Found[]> {
  const all: Found[] = []
  for await (const found of readSource(name, path)) all.push(found)
  return all
}

const FILES: Record<SourceName, string> = {
  disqus: fixture('disqus.xml'),
  wordpress: fixture('wordpress.xml'),
  coral: fixture('coral'),
  remark42: fixture('remark42.jsonl'),
  commento: fixture('commento.json'),
  isso: makeIssoDatabase(join(folder, 'isso.db')),
  artrans: fixture('artrans.json'),
  jsonl: fileOf('{"kind":"reader","id":"1","name":"Ann"}\n{"id":"2","kind":"reader"}\n'),
}

describe('a file of another source', () => {
  test.each(Object.keys(SOURCES) as SourceName[])(
    'is refused by %s in words that name what it looks like',
    async (name) => {
      for (const [other, path] of Object.entries(FILES) as [SourceName, string][]) {
        if (other === name) expect((await readAll(name, path)).length).toBeGreaterThan(0)
        else await expect(readAll(name, path), other).rejects.toThrow(`import it with --from ${other}`)
      }
    },
  )

  test('is recognised when compressed, in UTF-16, or on one line', async () => {
    await expect(readAll('remark42', fileOf(gzipSync(readFileSync(FILES.commento))))).rejects.toThrow('--from commento')
    const wide = Buffer.from(`\uFEFF${readFileSync(FILES.disqus, 'utf8')}`, 'utf16le')
    await expect(readAll('wordpress', fileOf(wide))).rejects.toThrow('--from disqus')
    const line = JSON.stringify(JSON.parse(readFileSync(FILES.commento, 'utf8')))
    await expect(readAll('jsonl', fileOf(line))).rejects.toThrow('--from commento')
  })

  test.each([
    ['<!doctype html><p>Sign in', 'a page of HTML'],
    ['<rss version="2.0"></rss>', 'XML of another kind'],
    ['{"a":1}', 'JSON of another kind'],
    ['[{"storyID":"1","body":"x"}]', 'a collection of Coral'],
  ])('%s is recognised', async (content, look) => {
    for (const name of ['disqus', 'remark42', 'commento', 'jsonl'] as const) {
      await expect(readAll(name, fileOf(content)), name).rejects.toThrow(look)
    }
  })
})

describe('JSON with other fields', () => {
  const others = (n: number) =>
    Array.from({ length: n }, (_, id) => ({ id: `${id}`, markdown: 'x', createdTime: '2024' }))

  test.each([
    ['commento', 1],
    ['commento', 5000],
    ['remark42', 500],
  ] as const)('is one error for %s, and not one for each of its %d items', async (name, n) => {
    const list = others(n)
    const files = {
      commento: JSON.stringify({ version: 3, pages: list, commenters: list, comments: list }),
      remark42: ['{"version":1}', ...list.map((each) => JSON.stringify(each))].join('\n'),
    }
    await expect(readAll(name, fileOf(files[name]))).rejects.toThrow(/^it is a file of another system: .*: \w+: /)
  })

  test('that only some items have is told of each of them', async () => {
    const { comments } = JSON.parse(readFileSync(FILES.commento, 'utf8')) as { comments: object[] }
    const list = [...others(3), ...comments.slice(0, 1), ...others(2)]
    const found = await readAll('commento', fileOf(JSON.stringify({ version: 1, comments: list })))
    expect(found.filter((each) => 'refused' in each && each.isForeign === true)).toHaveLength(5)
    expect(found.filter((each) => 'item' in each && each.item.kind === 'comment')).toHaveLength(1)
  })
})

describe('items that lack one required field', () => {
  const BROKEN = 150
  const comment = (n: number) => ({
    commentHex: `h${n}`,
    domain: 'a.example',
    url: '/x',
    commenterHex: 'anonymous',
    markdown: 'hi',
    parentHex: 'root',
    creationDate: '2020-01-01T00:00:00Z',
  })
  const commenter = { commenterHex: 'c', email: 'a@b.example', name: 'A', link: '', photo: '', joinDate: '2020' }
  const artran = (n: number) => ({
    id: `${n}`,
    content: 'x',
    created_at: '2020-01-01T00:00:00Z',
    nick: 'A',
    email: 'a@b.example',
    page_key: '/x',
  })
  const line = (n: number) => ({
    id: `${n}`,
    text: 'x',
    user: { id: 'u', name: 'U', picture: '' },
    locator: { site: 's', url: 'https://a.example/x' },
    time: '2020-01-01T00:00:00Z',
    score: 0,
    pid: '',
  })
  const times = <T>(make: (n: number) => T) => Array.from({ length: BROKEN }, (_, n) => make(n))
  const files: [string, SourceName, string][] = [
    [
      'creationDate',
      'commento',
      JSON.stringify({ comments: [...times((n) => ({ ...comment(n), creationDate: undefined })), comment(BROKEN)] }),
    ],
    [
      'commenterHex',
      'commento',
      JSON.stringify({ commenters: times(() => ({ ...commenter, commenterHex: undefined })), comments: [comment(1)] }),
    ],
    ['page_key', 'artrans', JSON.stringify([...times((n) => ({ ...artran(n), page_key: '' })), artran(BROKEN)])],
    [
      'time',
      'remark42',
      [{ version: 1 }, ...times((n) => ({ ...line(n), time: undefined })), line(BROKEN)]
        .map((each) => JSON.stringify(each))
        .join('\n'),
    ],
  ]

  test.each(files)('%s is told of each item of %s, and the others are read', async (_, name, content) => {
    const found = await readAll(name, fileOf(content))
    expect(found.filter((each) => 'refused' in each)).toHaveLength(BROKEN)
    expect(found.filter((each) => 'item' in each && each.item.kind === 'comment')).toHaveLength(1)
  })
})

test('a file that is cut off says what was refused before its end', async () => {
  const content = JSON.stringify({ version: 1, comments: Array.from({ length: 3 }, (_, id) => ({ id, text: 'x' })) })
  const found: Found[] = []
  const read = async () => {
    for await (const each of readSource('commento', fileOf(content.slice(0, -2)))) found.push(each)
  }
  await expect(read()).rejects.toThrow('it ends in the middle')
  expect(found.map(({ place }) => place)).toEqual(['comments[0]', 'comments[1]', 'comments[2]'])
})

test("no message of a source quotes people's texts", async () => {
  const secret = 'Hello I am Ann'
  const broken: [SourceName, string][] = [
    ['remark42', `{"version":1,"users":[],"posts":[]}\n{"id":"1","text":"x"} ${secret}\n${secret}\n`],
    ['remark42', `{"version":1,"users":[]} ${secret}`],
    ['remark42', `{"version":1}\n{"id":"1","votes":{"${secret}":"x"},"user":{"id":7},"time":"","locator":{"url":"/"}}`],
    ['commento', `{"version":1,"commenters":[],"comments":[{"commentHex":"1"} ${secret}]}`],
    ['commento', `{"version":1,"comments":[{"commentHex":7,"${secret}":1,"creationDate":"${secret}"}]}`],
    ['artrans', `[{"id":"1","page_key":"/"} ${secret}]`],
    ['artrans', `[{"id":["${secret}"],"page_key":{"${secret}":1}}]`],
    ['jsonl', `{"kind":"reader","id":"1"}\n{"kind":"reader" ${secret}\n`],
    ['disqus', `<disqus xmlns="http://disqus.com"></${secret}>`],
    ['disqus', `<disqus xmlns="http://disqus.com"><post ${secret}></post></disqus>`],
    ['wordpress', `<rss xmlns:wp="http://wordpress.org/export/1.2/"><a>${secret}</b></rss>`],
  ]
  for (const [name, content] of broken) {
    const told = await readAll(name, fileOf(content)).then(
      (found) => found.flatMap((each) => ('refused' in each ? [each.refused] : [])),
      (error: Error) => [error.message],
    )
    expect(told.join(), content).toMatch(/./)
    expect(told.join(), content).not.toMatch(/Hello|I am|Ann/)
  }
  for (const table of [
    'ann@reader.example,1\nben"@reader.example,2\n',
    'a,b\nann@reader.example\n',
    '"ann@reader.example,1',
  ]) {
    const told = await readAuthors(fileOf(table)).catch((error: Error) => error.message)
    expect(told, table).toMatch(/^\S+: (?:line|row) \d/)
    expect(told, table).not.toContain('reader.example')
  }
})

describe('--map', () => {
  const movedBy = async (table: string, url: string): Promise<string> => {
    const addresses = await readAddresses(fileOf(table))
    return identifyPage({ kind: 'discussion', id: '1', url }, 'wordpress', {
      page: 'url',
      addresses,
      keepsQuery: false,
    }).externalId
  }
  const OLD = 'https://old.example/2019/05/harbour/'

  test.each([
    [
      'two columns',
      'https://old.example/2019/05/harbour/,https://new.example/harbour\n',
      'https://new.example/harbour',
    ],
    [
      'another scheme',
      'http://old.example/2019/05/harbour/,https://new.example/harbour\n',
      'https://new.example/harbour',
    ],
    ['no last slash', 'https://old.example/2019/05/harbour,/harbour\n', 'https://old.example/harbour'],
    [
      'Redirection',
      'source,target,regex,code,type,hits,title,status\n/2019/05/harbour,/harbour/,0,301,url,12,,active\n',
      'https://old.example/harbour/',
    ],
    [
      'Yoast SEO',
      'Origin,Target,Type,Format\n"2019/05/harbour","harbour","301","plain"\n',
      'https://old.example/harbour',
    ],
    [
      'Rank Math',
      'id,source,matching,destination,type,category,status\n1,2019/05/harbour/,exact,https://new.example/h,301,,active\n',
      'https://new.example/h',
    ],
    ['a pattern', 'source,target,regex,code\n/2019/05/harbour/,/harbour,1,301\n/a,,0,410\n', OLD],
    [
      'its path, and the whole address',
      '/2019/05/harbour/,/x\nhttp://old.example/2019/05/harbour,/y\n',
      'https://old.example/y',
    ],
    ['another page', '/2019/05/,/x\nhttps://other.example/2019/05/harbour/,/x\n', OLD],
  ])('%s', async (_, table, expected) => {
    expect(await movedBy(table, OLD)).toBe(expected)
  })

  test('a path with non-ASCII letters is found as written or encoded', async () => {
    expect(await movedBy('/straße/,/street/\n', 'https://old.example/stra%C3%9Fe/')).toBe('https://old.example/street/')
    expect(await movedBy('/stra%C3%9Fe/,/street/\n', 'https://old.example/straße/')).toBe('https://old.example/street/')
    expect(await movedBy('stra%c3%9fe,/street/\n', 'https://old.example/stra%C3%9Fe/')).toBe(
      'https://old.example/street/',
    )
  })
})

test('a guest is one person for an address and a name, and the address cannot be guessed from the id', () => {
  const people = new People('salt')
  const id = (name: string, email: string, by = people): string => by.guest({ name, email }).id
  expect(id('Ann', 'family@reader.example')).not.toBe(id('Ben', 'family@reader.example'))
  expect(id('Ann', 'family@reader.example')).toBe(id(' Ann ', 'Family@Reader.example'))
  expect(id('Ann', 'ann@reader.example')).not.toBe(id('Ann', 'other@reader.example'))
  expect(id('Ann', '')).not.toBe(id('', 'Ann'))
  expect(id('', '')).toBe('guest')
  expect(id('Ann', 'ann@reader.example', new People('other'))).not.toBe(id('Ann', 'ann@reader.example'))
})

test("a WordPress time without a zone is in the site's zone, as far as the file shows", async () => {
  const comment = (id: number, local: string, utc: string): string =>
    `<wp:comment><wp:comment_id>${id}</wp:comment_id><wp:comment_author>A</wp:comment_author>
     <wp:comment_date>${local}</wp:comment_date><wp:comment_date_gmt>${utc}</wp:comment_date_gmt>
     <wp:comment_content>Text</wp:comment_content><wp:comment_approved>1</wp:comment_approved></wp:comment>`
  const post = (dates: string, comments: string): string =>
    `<item><link>https://a.example/</link><wp:post_id>1</wp:post_id>${dates}${comments}</item>`
  const file = (posts: string): string =>
    fileOf(`<rss xmlns:wp="http://wordpress.org/export/1.2/"><channel>${posts}</channel></rss>`)
  const NONE = '0000-00-00 00:00:00'
  const timesIn = async (path: string): Promise<unknown[]> =>
    (await readAll('wordpress', path)).flatMap((found) =>
      'item' in found && found.item.kind === 'comment' ? [[found.item.createdAt, found.changed]] : [],
    )
  const dates =
    '<wp:post_date>2019-07-01 14:00:00</wp:post_date><wp:post_date_gmt>2019-07-01 18:00:00</wp:post_date_gmt>'
  expect(await timesIn(file(post(dates, comment(1, '2019-07-02 20:30:00', NONE))))).toEqual([
    ['2019-07-03T00:30:00.000Z', undefined],
  ])
  const earlier = comment(1, '2019-07-02 10:00:00', '2019-07-02 08:00:00') + comment(2, '2019-07-02 12:00:00', NONE)
  expect(await timesIn(file(post('', earlier)))).toEqual([
    ['2019-07-02T08:00:00.000Z', undefined],
    ['2019-07-02T10:00:00.000Z', undefined],
  ])
  expect(await timesIn(file(post('', comment(1, '2019-07-02 12:00:00', NONE))))).toEqual([
    ['2019-07-02T12:00:00.000Z', 'has only a local time, which is taken as UTC'],
  ])
})
