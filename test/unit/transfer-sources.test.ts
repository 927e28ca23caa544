import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { gzipSync } from 'node:zlib'

import sqlite from 'node-sqlite3-wasm'
import { describe, expect, test, vi } from 'vitest'

import { keyOf } from '../../src/domains/imports/keys.ts'
import { addFindings, NO_FINDINGS } from '../../src/domains/imports/report.ts'
import { Survey } from '../../src/transfer/import/survey.ts'
import { item as itemSchema, type Found, type Item, type Source, SourceError } from '../../src/transfer/item.ts'
import { identifyPage } from '../../src/transfer/pages.ts'
import { artrans } from '../../src/transfer/sources/artrans.ts'
import { commento } from '../../src/transfer/sources/commento.ts'
import { coral } from '../../src/transfer/sources/coral.ts'
import { disqus } from '../../src/transfer/sources/disqus.ts'
import { readBytes } from '../../src/transfer/sources/files.ts'
import { isso } from '../../src/transfer/sources/isso.ts'
import { jsonl } from '../../src/transfer/sources/jsonl.ts'
import { Ids, Seen } from '../../src/transfer/sources/people.ts'
import { remark42 } from '../../src/transfer/sources/remark42.ts'
import { SqliteFile } from '../../src/transfer/sources/sqlite.ts'
import { Tally } from '../../src/transfer/sources/tally.ts'
import { timeOf } from '../../src/transfer/sources/times.ts'
import { wordpress } from '../../src/transfer/sources/wordpress.ts'
import { useFolder } from '../harness/folders.ts'
import { fixture, makeIssoDatabase } from '../harness/sources.ts'

const folder = useFolder()

async function readAll(source: Source, path: string): Promise<Found[]> {
  const all: Found[] = []
  for await (const found of source.read(path)) all.push(found)
  return all
}

function fileOf(name: string, content: string | Uint8Array): string {
  const path = join(folder, name)
  writeFileSync(path, content)
  return path
}

const itemsOf = <Kind extends Item['kind']>(found: readonly Found[], kind: Kind) =>
  found.flatMap((each) =>
    'item' in each && each.item.kind === kind ? [each.item as Extract<Item, { kind: Kind }>] : [],
  )
const refusedIn = (found: readonly Found[]): string[] =>
  found.flatMap((each) => ('refused' in each ? [`${each.place} ${each.refused}`] : []))

/** Comments as `id <- parent status body`. */
const threadsIn = (found: readonly Found[]): string[] =>
  itemsOf(found, 'comment').map(
    ({ id, parentId, status, body }) => `${id} <- ${parentId ?? '-'} ${status} ${JSON.stringify(body)}`,
  )

describe('disqus', () => {
  test('yields threads, posts and authors', async () => {
    const found = await readAll(disqus, fixture('disqus.xml'))
    expect(threadsIn(found)).toEqual([
      '202 <- 201 approved "Agreed, **entirely**. See [the plan](https://city.example/plan?a=1\\\\&b=2)."',
      '201 <- - approved "Is it 5 > 3 \\\\*really\\\\*?\\n\\n> 1\\\\. a quote"',
      '203 <- - deleted null',
      '204 <- - rejected "Buy now: <http://spam.example/a_b_c>"',
      '205 <- - approved "The same Ann, on another page. Right, @benk? Not ann@benk:disqus."',
    ])
    expect(itemsOf(found, 'discussion')).toEqual([
      expect.objectContaining({ id: '100', externalId: 'story-100', state: 'open' }),
      {
        kind: 'discussion',
        id: '101',
        externalId: 'story-101',
        url: 'https://daily.example/2019/05/harbour?edition=1&page=2',
        title: 'Boats & bridges: “the new harbour”',
        state: 'locked',
        createdAt: '2019-05-02T08:00:00.000Z',
      },
      expect.not.objectContaining({ externalId: expect.anything() }),
    ])
    expect(itemsOf(found, 'discussion')[2]).toMatchObject({ title: 'A tram for the <East> – soon' })
    const readers = itemsOf(found, 'reader')
    expect(readers.map(({ name }) => name)).toEqual(['Ben K.', 'Ann', 'Watches', 'Buy'])
    expect(readers[0]).toMatchObject({ id: 'benk' })
    expect(readers[1]).toMatchObject({ email: 'ann@reader.example' })
    expect(refusedIn(found)).toEqual(['line 85, post 206 has no time that can be read'])
    expect(JSON.stringify(found)).not.toContain('198.51.100.7')
  })
})

describe('wordpress', () => {
  test('yields comments of posts, and counts everything else', async () => {
    const found = await readAll(wordpress, fixture('wordpress.xml'))
    expect(threadsIn(found)).toEqual([
      '2 <- - approved "First line\\\\\\nsecond line with a ]]> in it.\\n\\n\\\\# Not a heading, and *emphasis* & more."',
      '3 <- 2 approved "Thank you, Ann."',
      '5 <- - pending "Waiting for approval"',
      '6 <- - rejected "Cheap watches"',
    ])
    expect(itemsOf(found, 'discussion')).toEqual([
      {
        kind: 'discussion',
        id: '11',
        url: 'https://daily.example/2019/05/harbour/',
        title: 'Boats & bridges',
        state: 'locked',
        createdAt: '2019-05-02T08:00:00.000Z',
      },
    ])
    expect(itemsOf(found, 'reader').map(({ name, profileUrl }) => [name, profileUrl])).toEqual([
      ['Editor & Co.', undefined],
      ['Ann', 'https://ann.example/?a=1&b=2'],
      ['Ben', null],
      ['Spam', null],
    ])
    expect(itemsOf(found, 'comment').map(({ createdAt }) => createdAt)).toEqual([
      '2019-05-02T09:15:00.000Z',
      '2019-05-02T10:00:00.000Z',
      '2019-05-03T07:00:00.000Z',
      '2019-05-03T07:00:00.000Z',
    ])
    expect(refusedIn(found)).toEqual([
      'line 119, comment 8 has no time that can be read',
      'from line 73, comment 4 on, 1 pingback is not taken: no reader wrote it here',
      'from line 107, comment 7 on, 1 trackback is not taken: no reader wrote it here',
    ])
    expect(JSON.stringify(found)).not.toMatch(/198\.51|check-ham|harbour\.jpg/)
  })

  test('lets comments with a local time wait up to a length', async () => {
    const comment = (id: number): string =>
      `<wp:comment><wp:comment_id>${id}</wp:comment_id><wp:comment_date>2015-01-01 14:00:00</wp:comment_date>
       <wp:comment_content>${'x'.repeat(1_000_000)}</wp:comment_content></wp:comment>`
    const path = join(folder, 'waiting.xml')
    const begin = '<rss xmlns:wp="http://wordpress.org/export/1.2/"><channel><item><wp:post_id>1</wp:post_id>'
    const comments = Array.from({ length: 36 }, (_, n) => comment(n + 1))
    // The date of the second post tells the offset of those that have waited.
    const end = `</item><item><wp:post_id>2</wp:post_id><wp:post_date>2015-01-02 12:00:00</wp:post_date>
      <wp:post_date_gmt>2015-01-02 10:00:00</wp:post_date_gmt></item></channel></rss>`
    writeFileSync(path, [begin, ...comments, end].join(''))
    const times: (string | null | undefined)[] = []
    for await (const found of wordpress.read(path)) {
      if ('item' in found && found.item.kind === 'comment') times.push(found.item.createdAt)
    }
    const [late, waited] = ['2015-01-01T14:00:00.000Z', '2015-01-01T12:00:00.000Z']
    expect(times).toEqual([...Array.from({ length: 2 }, () => late), ...Array.from({ length: 34 }, () => waited)])
  })

  test('takes the offset of a local time from the nearest date, even from a later one in the file', async () => {
    const dated = (id: number, local: string, inUtc: string) =>
      `<wp:comment><wp:comment_id>${id}</wp:comment_id><wp:comment_date>${local}</wp:comment_date>` +
      `<wp:comment_date_gmt>${inUtc}</wp:comment_date_gmt><wp:comment_content>x</wp:comment_content></wp:comment>`
    const post = (id: number, local: string, inUtc: string, ...comments: string[]) =>
      `<item><wp:post_id>${id}</wp:post_id><wp:post_date>${local}</wp:post_date>` +
      `<wp:post_date_gmt>${inUtc}</wp:post_date_gmt>${comments.join('')}</item>`
    const none = '0000-00-00 00:00:00'
    const posts = [
      post(1, '2015-07-10 12:00:00', '2015-07-10 10:00:00'),
      post(
        2,
        '2015-03-01 12:00:00',
        '2015-03-01 11:00:00',
        dated(10, '2015-07-01 14:00:00', none),
        dated(11, '2015-03-02 14:00:00', none),
        dated(12, '2015-10-01 14:00:00', none),
        dated(13, '2015-12-01 14:00:00', '2015-12-01 13:00:00'),
        dated(14, '2015-11-20 14:00:00', none),
        dated(15, '2014-07-01 14:00:00', none),
      ),
      post(3, '2015-10-10 12:00:00', '2015-10-10 10:00:00'),
    ]
    const wxr = `<rss xmlns:wp="http://wordpress.org/export/1.2/"><channel>${posts.join('')}</channel></rss>`
    const found = await readAll(wordpress, fileOf('local.xml', wxr))
    expect(itemsOf(found, 'comment').map(({ id, createdAt }) => [id, createdAt])).toEqual([
      ['10', '2015-07-01T12:00:00.000Z'],
      ['11', '2015-03-02T13:00:00.000Z'],
      ['13', '2015-12-01T13:00:00.000Z'],
      ['14', '2015-11-20T13:00:00.000Z'],
      ['12', '2015-10-01T12:00:00.000Z'],
      ['15', '2014-07-01T13:00:00.000Z'],
    ])
    expect(found.flatMap((each) => ('changed' in each ? [`${each.place} ${each.changed}`] : []))).toEqual([
      'line 1, comment 15 has only a local time, and no date within 30 days tells its offset',
    ])
  })

  test.each(['1.0', '1.1'])('reads WXR %s', async (version) => {
    const old = readFileSync(fixture('wordpress.xml'), 'utf8').replaceAll('export/1.2/', `export/${version}/`)
    const found = await readAll(wordpress, fileOf('old.xml', old))
    expect(itemsOf(found, 'comment')).toHaveLength(4)
  })
})

describe('coral', () => {
  test('yields stories, users, comments with revisions, reactions and reports', async () => {
    const found = await readAll(coral, fixture('coral'))
    expect(threadsIn(found)).toEqual([
      'c-1 <- - approved "I like **boats**.\\n\\nAnd bridges.\\n\\n<https://media.example/boat.gif>"',
      'c-2 <- c-1 rejected "You fool"',
      'c-3 <- - deleted null',
      'c-4 <- c-3 approved "A reply to someone who has left."',
      'c-5 <- - pending "Waiting"',
      'c-6 <- - pending "Withheld by the system"',
    ])
    expect(itemsOf(found, 'comment')[0]).toMatchObject({
      editedAt: '2020-03-01T09:05:00.000Z',
      revisions: [{ body: 'I like boots.', createdAt: '2020-03-01T09:00:00.000Z' }],
    })
    expect(itemsOf(found, 'reader')).toMatchObject([
      { id: 'u-ann', externalId: 'subscriber-7', email: 'ann@reader.example', ban: null },
      { id: 'u-ben', ban: { at: '2020-03-01T00:00:00.000Z', reason: 'Insults' } },
      { id: 'u-cem', ban: { until: '2999-01-01T00:00:00.000Z', reason: 'Calm down' } },
    ])
    expect(itemsOf(found, 'discussion')).toMatchObject([
      { id: 'story-1', state: 'locked', title: 'Boats & bridges' },
      { id: 'story-2', state: 'open', url: 'https://daily.example/tram' },
    ])
    expect(itemsOf(found, 'reaction')).toMatchObject([{ commentId: 'c-1', readerId: 'u-cem', type: 'like' }])
    expect(itemsOf(found, 'report')).toMatchObject([
      { commentId: 'c-2', readerId: 'u-ann', reason: 'abuse', note: 'He insults me', answered: true },
      { commentId: 'c-2', readerId: 'u-cem', reason: 'other', note: 'Reported as illegal', answered: false },
    ])
    expect(refusedIn(found)).toEqual([
      'comments.jsonl line 7 is not JSON',
      'from users.jsonl line 4 on, 1 ban is not taken: it is for some sites alone',
      'from comments.jsonl line 1, comment c-1 on, 1 feature is not taken: pin the comment to show it first',
      'from commentActions.jsonl line 3 on, 1 disagreement is not taken: it is no report',
      'from commentActions.jsonl line 4 on, 2 flags are not taken: Coral itself has set it, and no reader',
    ])
  })

  test('says which file is missing, and that a file alone is no folder', async () => {
    const empty = join(folder, 'empty')
    mkdirSync(empty)
    await expect(readAll(coral, empty)).rejects.toThrow('the folder has no users.json, stories.json, comments.json')
    await expect(readAll(coral, fixture('disqus.xml'))).rejects.toThrow('Coral is read from a folder')
  })
})

describe('remark42', () => {
  test.each(['plain', 'gzip'])('yields comments, votes, blocks and read-only pages of a %s backup', async (form) => {
    const plain = readFileSync(fixture('remark42.jsonl'))
    const found = await readAll(remark42, fileOf('backup', form === 'gzip' ? gzipSync(plain) : plain))
    expect(threadsIn(found)).toEqual([
      '5aab-1 <- - approved "I like **boats**, see <https://city.example/plan>"',
      '5aab-2 <- 5aab-1 deleted null',
      '5aab-3 <- 5aab-2 approved "A reply to what is gone\\\\\\nin two lines"',
      '5aab-4 <- - deleted null',
    ])
    expect(itemsOf(found, 'comment')[0]).toMatchObject({
      createdAt: '2020-03-01T09:00:00.123Z',
      editedAt: '2020-03-01T09:10:00.000Z',
      pinnedAt: '2020-03-01T09:00:00.123Z',
    })
    expect(itemsOf(found, 'reaction').map(({ readerId, type }) => [readerId, type])).toEqual([
      ['github_b1', 'like'],
      ['google_v9', 'dislike'],
      ['google_v8', 'like'],
    ])
    expect(itemsOf(found, 'reader')).toEqual([
      expect.objectContaining({ id: 'google_a1', name: "Ann O'Hara", ban: null }),
      expect.objectContaining({ id: 'github_b1', name: 'Ben', ban: { until: null } }),
      { kind: 'reader', id: 'google_v9', ban: null },
      { kind: 'reader', id: 'google_v8', ban: null },
      { kind: 'reader', id: 'github_quiet', ban: { until: '2098-01-01T10:00:00.000Z' } },
    ])
    expect(itemsOf(found, 'discussion')).toMatchObject([
      { id: 'https://daily.example/harbour', title: 'Boats & bridges', state: 'locked' },
      { id: 'https://daily.example/tram', state: 'open' },
    ])
    expect(refusedIn(found)).toEqual([
      expect.stringMatching(/^line 6 id: /),
      'from line 4, comment 5aab-3 on, 4 votes are not taken: the backup has only their sum, not who gave them',
    ])
    expect(JSON.stringify(found)).not.toContain('293ec5b0cf')
  })
})

describe('commento', () => {
  test('yields comments and commenters', async () => {
    const found = await readAll(commento, fixture('commento.json'))
    expect(threadsIn(found)).toEqual([
      'c2 <- c1 approved "Agreed, see <https://city.example/plan> and **more**"',
      'c1 <- - approved "I like *boats*"',
      'c3 <- - pending "Who am I?"',
      'c4 <- - deleted null',
      'c5 <- c4 pending "Only as HTML"',
    ])
    expect(itemsOf(found, 'reader')).toMatchObject([
      { id: 'anonymous', name: 'Anonymous' },
      { id: 'a0', name: 'Ann', email: 'ann@reader.example', avatarUrl: null, profileUrl: 'https://ann.example' },
      { id: 'b0', name: 'Ben', avatarUrl: 'https://avatars.example/b0.png', profileUrl: null },
    ])
    expect(itemsOf(found, 'discussion').map(({ url }) => url)).toEqual([
      'https://daily.example/harbour',
      'https://daily.example/tram',
    ])
    expect(refusedIn(found)).toEqual([
      expect.stringMatching(/^comments\[5\] creationDate: /),
      'from comments[0], comment c2 on, 4 votes are not taken: the export has only their sum, not who gave them',
    ])
  })
})

describe('artrans', () => {
  test('yields comments, whose fields may be texts', async () => {
    const found = await readAll(artrans, fixture('artrans.json'))
    expect(threadsIn(found)).toEqual([
      '1 <- - approved "First line\\\\\\nsecond line :smile:\\n\\n**bold** <https://emoji.example/smile.png>"',
      '2 <- 1 pending "A reply"',
      '3 <- - approved "Of another tool, whose fields are no texts"',
    ])
    expect(itemsOf(found, 'comment').map(({ createdAt, pinnedAt }) => [createdAt, pinnedAt])).toEqual([
      ['2021-12-02T14:00:00.123Z', '2021-12-02T14:00:00.123Z'],
      ['2021-12-02T14:30:00.000Z', null],
      ['2021-12-03T09:00:00.000Z', null],
    ])
    expect(itemsOf(found, 'discussion')).toMatchObject([
      { url: 'https://daily.example/harbour/', title: 'Boats & bridges', state: 'open' },
      { url: 'https://daily.example/tram', state: 'locked' },
    ])
    expect(refusedIn(found)).toEqual([
      'comment 4 of the list has no id or no page_key',
      expect.stringContaining('4 votes are not taken'),
      expect.stringContaining('1 collapse is not taken'),
    ])
    expect(JSON.stringify(found)).not.toMatch(/198\.51|Mozilla/)
  })
})

describe('isso', () => {
  test('yields threads and comments of its database', async () => {
    const found = await readAll(isso, makeIssoDatabase(join(folder, 'isso.db')))
    expect(threadsIn(found)).toEqual([
      '1 <- - approved "I like *boats*\\nin two lines"',
      '2 <- 1 pending "**Raw** HTML"',
      '3 <- 1 deleted null',
      '4 <- 3 approved "A reply to what is gone"',
    ])
    expect(itemsOf(found, 'discussion')).toMatchObject([
      { id: '1', url: '/2020/harbour/', title: 'Boats & bridges' },
      { id: '2', url: '/2020/tram/', title: null },
    ])
    expect(itemsOf(found, 'comment')[0]).toMatchObject({
      createdAt: '2020-03-01T09:00:00.250Z',
      editedAt: '2020-03-01T09:05:00.000Z',
    })
    expect(itemsOf(found, 'reader')).toMatchObject([
      { name: 'Ann', email: 'ann@reader.example', profileUrl: 'https://ann.example' },
      { name: 'Ben & <Bo>', profileUrl: 'https://ben.example/?a=1&b=2' },
      { id: 'guest', name: 'Guest' },
    ])
    expect(refusedIn(found)).toEqual([
      'comment 5 has no time',
      'from comment 1 on, 4 votes are not taken: the database has only their number, not who gave them',
    ])
    expect(JSON.stringify(found)).not.toContain('198.51.100')
  })

  test('refuses a file that is no Isso database', async () => {
    await expect(readAll(isso, fixture('disqus.xml'))).rejects.toThrow('it is no SQLite database')
    const other = join(folder, 'other.db')
    const database = new sqlite.Database(other)
    database.exec('CREATE TABLE other (id INTEGER)')
    database.close()
    await expect(readAll(isso, other)).rejects.toThrow('it is no database of Isso')
  })

  test('reads long texts, many pages, other encodings and columns that were added later', async () => {
    for (const pragmas of ['', 'PRAGMA page_size = 512;', "PRAGMA page_size = 65536; PRAGMA encoding = 'UTF-16be';"]) {
      const path = join(folder, `large-${pragmas.length}.db`)
      const bodies = Array.from(
        { length: 2000 },
        (_, n) => `${n} é${'x'.repeat((n % 7) * (n % 100 === 0 ? 9000 : 90))}`,
      )
      const database = new sqlite.Database(path)
      database.exec(`${pragmas} BEGIN; CREATE TABLE threads (id INTEGER PRIMARY KEY, uri VARCHAR(256), title VARCHAR);
        INSERT INTO threads VALUES (7, '/a', NULL);
        CREATE TABLE "comments" (id INTEGER PRIMARY KEY, tid REFERENCES threads(id), parent INTEGER, created FLOAT,
          modified FLOAT, mode INTEGER, text VARCHAR /* a, b */, author VARCHAR DEFAULT 'a,)', email VARCHAR,
          website VARCHAR, likes INTEGER DEFAULT 0, CHECK (id > 0 AND mode IN (1, 2)))`)
      const insert = database.prepare('INSERT INTO comments (id, tid, created, mode, text) VALUES (?, 7, 1e9, 1, ?)')
      bodies.forEach((body, n) => insert.run([n * 3 + 1, body]))
      insert.finalize()
      database.exec(`ALTER TABLE comments ADD COLUMN dislikes INTEGER NOT NULL DEFAULT 2;
        INSERT INTO comments (id, tid, created, mode, text, dislikes) VALUES (9000, 7, 1e9, 1, 'new', 5); COMMIT`)
      database.close()
      const found = await readAll(isso, path)
      expect(itemsOf(found, 'comment').map(({ id, body }) => `${id} ${body}`)).toEqual([
        ...bodies.map((body, n) => `${n * 3 + 1} ${body}`),
        '9000 new',
      ])
      expect(refusedIn(found)).toEqual([expect.stringContaining('comment 1 on, 4005 votes are not taken')])
    }
  })

  test.each([
    '"id" INTEGER, "uri" TEXT UNIQUE, "title" TEXT, PRIMARY KEY("id" AUTOINCREMENT)',
    "'id' INTEGER, 'uri' TEXT, title TEXT, PRIMARY KEY ('id')",
    '[id] INTEGER, uri TEXT, title TEXT, CONSTRAINT of_threads PRIMARY KEY ([id])',
    'id INTEGER NOT NULL PRIMARY KEY, uri TEXT, title TEXT',
    'id INTEGER PRIMARY KEY DESC, uri TEXT, title TEXT',
    'id INTEGER, uri TEXT, title TEXT, PRIMARY KEY (id, uri)',
  ])('reads the ids of a table that another tool has made again: %s', async (columns) => {
    const path = join(folder, `again-${columns.length}.db`)
    const database = new sqlite.Database(path)
    database.exec(`CREATE TABLE threads (${columns}); INSERT INTO threads (id, uri) VALUES (7, '/a'), (12, '/b')`)
    database.close()
    const ids: unknown[] = []
    const reading = SqliteFile.reading(path, (opened) => opened.rowsOf('threads', ['id', 'uri']))
    for await (const { values } of reading) ids.push(values)
    expect(ids).toEqual([
      { id: 7, uri: '/a' },
      { id: 12, uri: '/b' },
    ])
  })

  test.each(['--', '/*', 'a -- b /* c */', "it''s, AS (", "''--''", 'PRIMARY KEY) GENERATED'])(
    'reads a text in the statement of a table as a text: %s',
    async (quoted) => {
      const path = join(folder, 'quoted.db')
      rmSync(path, { force: true })
      const database = new sqlite.Database(path)
      database.exec(`CREATE TABLE threads (title TEXT DEFAULT '${quoted}', "a -- /* b" TEXT, -- it's a comment
        id INTEGER PRIMARY KEY /* of 'threads */); INSERT INTO threads (id) VALUES (7);
        ALTER TABLE threads ADD COLUMN uri TEXT DEFAULT '${quoted}'`)
      database.close()
      const read: unknown[] = []
      const reading = SqliteFile.reading(path, (opened) => opened.rowsOf('threads', ['id', 'uri', 'title']))
      for await (const { values } of reading) read.push(values)
      const text = quoted.replaceAll("''", "'")
      expect(read).toEqual([{ id: 7, uri: text, title: text }])
    },
  )

  test('reads at most so many blocks of an upload', async () => {
    const path = join(folder, 'blocks.db')
    const database = new sqlite.Database(path)
    database.exec(`CREATE TABLE threads (id INTEGER PRIMARY KEY, uri);
      INSERT INTO threads VALUES (1, hex(zeroblob(1000000))), (2, hex(zeroblob(1000000)))`)
    database.close()
    const content = readFileSync(path)
    const upload = {
      name: 'blocks.db',
      bytes: content.length,
      async *read(from: number) {
        yield content.subarray(from)
      },
    }
    const rowsIn = async (file: string | typeof upload, most?: number): Promise<number> => {
      let rows = 0
      const reading = SqliteFile.reading(file, (opened) => opened.rowsOf('threads', ['id']), most)
      for await (const _row of reading) rows++
      return rows
    }
    await expect(rowsIn(upload)).resolves.toBe(2)
    await expect(rowsIn(upload, 4)).resolves.toBe(2)
    await expect(rowsIn(upload, 3)).rejects.toThrow('its pages lie too far apart: run `VACUUM` on it first')
    await expect(rowsIn(path, 2)).resolves.toBe(2)
  })

  test('refuses more columns than a table of Isso has', async () => {
    const path = join(folder, 'columns.db')
    const database = new sqlite.Database(path)
    const columns = Array.from({ length: 100 }, (_, n) => `c${n}`)
    database.exec(`CREATE TABLE threads (id INTEGER PRIMARY KEY, uri, title, ${columns.join()})`)
    database.close()
    await expect(readAll(isso, path)).rejects.toThrow('it is no database of Isso')
  })

  const COMMENTS = "1 AS tid, 1 AS id, NULL AS parent, 1 AS created, NULL AS modified, 1 AS mode, 'a' AS text"
  const OTHERS = 'NULL AS author, NULL AS email, NULL AS website, 0 AS likes, 0 AS dislikes'
  test.each([
    [
      'a view that never ends',
      `CREATE VIEW comments AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
       SELECT ${COMMENTS}, ${OTHERS} FROM n WHERE i < 0`,
    ],
    [
      'a computed column',
      `CREATE TABLE comments (tid, id INTEGER PRIMARY KEY, parent, created, modified, mode, author, email, website,
         likes, dislikes, text AS (hex(zeroblob(100000000))));
       INSERT INTO comments (tid, id, created, mode) VALUES (1, 1, 1, 1)`,
    ],
    [
      'a virtual table',
      `CREATE VIRTUAL TABLE comments USING fts5(tid, parent, created, modified, mode, text, author, email, website, likes, dislikes)`,
    ],
  ])('runs nothing that a database brings along: %s', async (name, statement) => {
    const path = join(folder, `${name}.db`)
    const database = new sqlite.Database(path)
    database.exec(`CREATE TABLE threads (id INTEGER PRIMARY KEY, uri VARCHAR, title VARCHAR); ${statement}`)
    database.close()
    await expect(readAll(isso, path)).rejects.toThrow('it is no database of Isso')
  })

  test('reads each page of a database once, whatever the file says', async () => {
    const path = makeIssoDatabase(join(folder, 'sound.db'))
    const sound = readFileSync(path)
    // Each byte that may say where something lies, as another one.
    let refused = 0
    for (let at = 16; at < sound.length; at += 101) {
      const bytes = Buffer.from(sound)
      bytes.writeUInt8((bytes.readUInt8(at) + 1 + (at % 254)) & 255, at)
      const damaged = join(folder, 'damaged.db')
      writeFileSync(damaged, bytes)
      await readAll(isso, damaged).catch((error: unknown) => {
        expect(error).toBeInstanceOf(SourceError)
        refused++
      })
    }
    expect(refused).toBeGreaterThan(0)
  })
})

test.each([
  ['disqus', disqus],
  ['wordpress', wordpress],
] as const)('an element of %s with more attributes than in any export is refused', async (name, source) => {
  const attributes = Array.from({ length: 101 }, (_, n) => `a${n}=""`).join(' ')
  const sound = readFileSync(fixture(`${name}.xml`), 'utf8')
  const path = fileOf('attributes.xml', sound.replace(/<(?:category|title)(?=[ >])/, `$& ${attributes}`))
  expect(readFileSync(path, 'utf8')).not.toBe(sound)
  await expect(readAll(source, path)).rejects.toThrow('has more attributes than in any export')
})

test('an upload that unpacks to more than it may is refused', async () => {
  const content = gzipSync(Buffer.alloc(1_000_000))
  const file = {
    name: 'zeros.gz',
    bytes: content.length,
    async *read(from: number) {
      yield content.subarray(from)
    },
  }
  const unpacked = async (most: number): Promise<number> => {
    let bytes = 0
    for await (const chunk of readBytes(file, undefined, most)) bytes += chunk.length
    return bytes
  }
  expect(await unpacked(1_000_000)).toBe(1_000_000)
  await expect(unpacked(999_999)).rejects.toThrow('zeros.gz: it unpacks to more than 999999 bytes')
})

describe('what fills the memory or the main thread', () => {
  const values = '1,'.repeat(20_000)

  test.each([
    ['jsonl', jsonl, `{"kind":"comment","id":"1","revisions":[${values}1]}`],
    ['remark42', remark42, `{"version":1}\n{"id":"1","votes":{"ann":[${values}1]}}`],
  ])('%s refuses an item of too many values, before they are checked', async (name, source, content) => {
    const [first] = await readAll(source, fileOf(`values.${name}`, content))
    expect(first).toMatchObject({ refused: 'has more than 20000 values' })
  })

  test('remark42 takes a first line of many people', async () => {
    const users = Array.from({ length: 20_000 }, (_, n) => ({ id: `user-${n}`, blocked: { status: n === 0 } }))
    const found = await readAll(remark42, fileOf('people.jsonl', JSON.stringify({ version: 1, users })))
    expect(found).toMatchObject([{ item: { kind: 'reader', id: 'user-0' } }])
  })

  test('a source remembers ids up to a number of bytes', () => {
    const ids = new Ids(500)
    for (const id of ['a', 'b', 'b', 'c', 'c', 'a']) ids.add(id)
    expect([...ids]).toEqual(['a', 'b', 'c'])
    expect(() => ids.add('x'.repeat(100))).toThrow(SourceError)
  })

  test('a source holds no long ids', () => {
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    const seen = new Seen()
    const id = (n: number) => `${n} ${Buffer.alloc(1_000_000, 'a').toString('latin1')}`
    const held = (): number => {
      collect()
      return process.memoryUsage().heapUsed
    }
    const before = held()
    const isNew = Array.from({ length: 50 }, (_, n) => seen.isNew(id(n % 30)))
    expect((held() - before) / 1e6).toBeLessThan(10)
    expect(isNew.lastIndexOf(true)).toBe(29)
    expect(isNew.indexOf(false)).toBe(30)
  })

  test('the rehearsal of an upload holds a number of keys', () => {
    const survey = new Survey(2)
    const key = (id: string) => keyOf('jsonl', 'reader', id)
    for (const id of ['a', 'b', 'a']) survey.setFate(key(id), 1)
    expect(() => survey.setFate(key('c'), 1)).toThrow(SourceError)
    const pair = { kind: 'reaction', commentKey: key('a'), readerKey: key('b') } as Parameters<Survey['addPair']>[0]
    expect(() => survey.isFirst(key('d'))).toThrow(SourceError)
    expect(() => survey.addPair(pair)).toThrow(SourceError)
  })

  test('external ids that lead to each other end, whenever the tenant changes them', () => {
    const survey = new Survey()
    const [readerKey, commentKey] = ['r', 'c'].map((id) => keyOf('jsonl', 'reader', id))
    survey.setFate(readerKey!, 1)
    survey.addName(readerKey!, 'reader', 'a')
    for (const [former, now] of ['ab', 'aa', 'bc', 'ba', 'cb', 'ca']) survey.addLead('reader', former!, now!)
    const row = { kind: 'reaction', commentKey, readerKey } as Parameters<Survey['addPair']>[0]
    expect([survey.addPair(row), survey.addPair(row)]).toEqual([true, false])
  })

  test('disqus lets deleted threads wait up to a length', async () => {
    const thread = (id: string, more: string): string =>
      `<thread dsq:id="${id}"><link>https://a.example/${id}</link>${more}</thread>`
    const long = `<title>${'a'.repeat(1_000_000)}</title><isDeleted>true</isDeleted>`
    const deleted = Array.from({ length: 35 }, (_, n) => thread(`d${n}`, long))
    const content = `<?xml version="1.0"?><disqus xmlns="http://disqus.com" xmlns:dsq="http://disqus.com/disqus-internals">
      ${deleted.join('')}${thread('open', '')}</disqus>`
    const ids = itemsOf(await readAll(disqus, fileOf('waiting.xml', content)), 'discussion').map(({ id }) => id)
    expect(ids.length).toBe(36)
    expect(ids.indexOf('open')).toBeGreaterThan(30)
    expect(ids.indexOf('open')).toBeLessThan(35)
  })
})

test('deleted threads of disqus are gone through once, not again with each post', async () => {
  const thread = (n: number) =>
    `<thread dsq:id="${n}"><link>https://a.example/${n}</link><isDeleted>true</isDeleted></thread>`
  const post = (n: number) =>
    `<post dsq:id="p${n}"><message>Hi</message><createdAt>2020-01-01T00:00:00Z</createdAt><thread dsq:id="${n}"/></post>`
  const all = Array.from({ length: 300 }, (_, n) => n)
  const path = fileOf(
    'deleted.xml',
    `<disqus xmlns="http://disqus.com" xmlns:dsq="http://disqus.com/disqus-internals">${all.map(thread).join('')}${all.map(post).join('')}</disqus>`,
  )
  const steps = [Map, Set].flatMap(({ prototype }) => [
    vi.spyOn(prototype, Symbol.iterator),
    vi.spyOn(prototype as Set<unknown>, 'forEach'),
  ])
  const found = await readAll(disqus, path)
  const calls = steps.reduce((sum, { mock }) => sum + mock.calls.length, 0)
  vi.restoreAllMocks()
  expect([itemsOf(found, 'discussion').length, itemsOf(found, 'comment').length]).toEqual([300, 300])
  expect(calls).toBeLessThan(300)
})

test('a report lists at most a hundred kinds of omitted items, with short names', () => {
  const tally = new Tally()
  for (let n = 0; n < 1000; n++) tally.add(`line ${n}`, `${n} ${'x'.repeat(1000)}`, 'no reader wrote it here')
  const refused = refusedIn([...tally.found()])
  expect(refused.length).toBe(101)
  expect(refused.at(-1)).toBe('from line 100 on, 900 items are not taken: it is of another kind')
  expect(Math.max(...refused.map(({ length }) => length))).toBeLessThan(200)
})

test('a report keeps the beginnings of places and reasons, and a hundred of them', () => {
  const long = Array.from({ length: 60 }, (_, n) => ({ place: `${n} ${'x'.repeat(5000)}`, reason: '😀'.repeat(5000) }))
  const { total, first } = addFindings(addFindings(NO_FINDINGS, long), long)
  expect([total, first.length]).toEqual([120, 100])
  expect(JSON.stringify(first).length).toBeLessThan(100_000)
  expect(first.every(({ reason }) => reason.isWellFormed())).toBe(true)
})

describe('every source', () => {
  const issoFile = makeIssoDatabase(join(folder, 'every.db'))
  const SOURCES: [string, Source, string][] = [
    ['disqus', disqus, fixture('disqus.xml')],
    ['wordpress', wordpress, fixture('wordpress.xml')],
    ['coral', coral, fixture('coral')],
    ['remark42', remark42, fixture('remark42.jsonl')],
    ['commento', commento, fixture('commento.json')],
    ['artrans', artrans, fixture('artrans.json')],
    ['isso', isso, issoFile],
  ]

  test.each(SOURCES)(
    '%s yields items of the neutral form, and everything that they refer to',
    async (_, source, path) => {
      const found = await readAll(source, path)
      for (const each of found) if ('item' in each) expect(() => itemSchema.parse(each.item)).not.toThrow()
      const readers = new Set(itemsOf(found, 'reader').map(({ id }) => id))
      const discussions = new Set(itemsOf(found, 'discussion').map(({ id }) => id))
      for (const { authorId, discussionId } of itemsOf(found, 'comment')) {
        expect(discussions).toContain(discussionId)
        if (authorId != null) expect(readers).toContain(authorId)
      }
      for (const { readerId } of itemsOf(found, 'reaction')) expect(readers).toContain(readerId)
    },
  )

  test.each(SOURCES)('%s refuses a file of another form, an empty one, and a missing one', async (name, source) => {
    for (const content of ['', 'hello', '<html></html>', '{"a":1}', '[', '\0\0\0']) {
      await expect(readAll(source, fileOf('other', content)), `${name}: ${content}`).rejects.toThrow(SourceError)
    }
    await expect(readAll(source, join(folder, 'nowhere'))).rejects.toThrow(SourceError)
  })

  const FILES = SOURCES.filter(([name]) => name !== 'coral' && name !== 'isso')

  test.each(FILES)(
    '%s is read the same from gzip, with a byte order mark, and in UTF-16',
    async (name, source, path) => {
      const plain = readFileSync(path, 'utf8').replace(/ encoding="UTF-8"/i, '')
      const expected = await readAll(source, path)
      const forms: [string, Uint8Array][] = [
        ['gzip', gzipSync(plain)],
        ['mark', Buffer.from(`\uFEFF${plain}`)],
        ['utf16', Buffer.from(`\uFEFF${plain}`, 'utf16le')],
      ]
      for (const [form, bytes] of forms) {
        expect(await readAll(source, fileOf(form, bytes)), `${name} in ${form}`).toEqual(expected)
      }
    },
  )

  test.each(FILES)(
    '%s reports a truncated or damaged file, and yields the items before that',
    async (name, source, path) => {
      const whole = readFileSync(path)
      const half = fileOf('half', whole.subarray(0, whole.length >> 1))
      // Complete lines are read; the rest of a file with an end mark is reported.
      if (name === 'remark42') expect(refusedIn(await readAll(source, half)).join()).toContain('is not JSON')
      else await expect(readAll(source, half)).rejects.toThrow(SourceError)
      const packed = gzipSync(whole)
      await expect(readAll(source, fileOf('packed', packed.subarray(0, packed.length - 20)))).rejects.toThrow(
        SourceError,
      )
    },
  )

  test.each(FILES)('%s reports invalid UTF-8, and continues', async (_, source, path) => {
    const bytes = Buffer.from(readFileSync(path))
    const before = await readAll(source, path)
    bytes[bytes.indexOf(bytes.includes('ridges') ? 'ridges' : 'avatars')] = 0xff
    const found = await readAll(source, fileOf('bytes', bytes))
    expect(refusedIn(found).slice(refusedIn(before).length)).toEqual([
      `byte ${bytes.indexOf(0xff)} is no UTF-8: what cannot be read has become �`,
    ])
    expect(itemsOf(found, 'comment')).toEqual(itemsOf(before, 'comment'))
  })
})

describe('hostile XML', () => {
  const wrap = (inner: string, doctype = ''): string =>
    `<?xml version="1.0"?>${doctype}<disqus xmlns="http://disqus.com">${inner}</disqus>`

  test('a document type is refused before any of it is read', async () => {
    const levels = Array.from({ length: 10 }, (_, n) => `<!ENTITY l${n + 1} "${`&l${n};`.repeat(10)}">`).join('')
    const laughs = `<!DOCTYPE disqus [<!ENTITY l0 "${'lol'.repeat(100)}">${levels}]>`
    await expect(readAll(disqus, fileOf('laughs.xml', wrap('&l10;', laughs)))).rejects.toThrow('document type')
    const external = '<!DOCTYPE disqus SYSTEM "file:///etc/passwd">'
    await expect(readAll(disqus, fileOf('external.xml', wrap('', external)))).rejects.toThrow('document type')
  })

  test('an entity that XML does not have stays as written', async () => {
    const post = `<post dsq:id="1"><message>&xxe; &amp; &#x41;&#0;</message><createdAt>2020-01-01T00:00:00Z</createdAt><thread dsq:id="2"/></post>`
    const [comment] = itemsOf(await readAll(disqus, fileOf('entities.xml', wrap(post))), 'comment')
    expect(comment?.body).toBe('\\&xxe; & A\uFFFD')
  })
})

test.each([
  ['https://a.example/p?utm_source=tw', '/p'],
  ['http://a.example/p', '/p'],
  ['http://a.example/p/', '/p/'],
  ['http://a.example/?p=1&UTM_Medium=x&q=a?b&utm_source=tw#top', '/?p=1&q=a?b'],
  ['/p?utm_source=tw', '/p'],
])('the path of %s is %s', (url, path) => {
  expect(
    identifyPage({ kind: 'discussion', id: '1', url }, 'disqus', {
      page: 'path',
      addresses: new Map(),
      keepsQuery: false,
    }).externalId,
  ).toBe(path)
})

test.each([
  ['2021-12-02 22:00:00 +0800 CST', '2021-12-02T14:00:00.000Z'],
  ['2021-12-02 22:00:00.123456789 -0530 -0530', '2021-12-03T03:30:00.123Z'],
  ['2012-12-12T12:12:12', '2012-12-12T12:12:12.000Z'],
  ['2017-12-20T15:18:22-06:00', '2017-12-20T21:18:22.000Z'],
  ['0000-00-00 00:00:00', null],
  ['0001-01-01T00:00:00Z', null],
  ['2021-02-31x', null],
  ['2015-02-30T10:00:00Z', null],
  ['2015-02-29 10:00:00', null],
  ['2016-02-29 10:00:00', '2016-02-29T10:00:00.000Z'],
  ['2015-04-31T10:00:00+02:00', null],
  ['2015-13-01T10:00:00Z', null],
  ['2015-00-10T10:00:00Z', null],
  ['yesterday', null],
  ['', null],
])('the time %j is %j', (text, time) => {
  expect(timeOf(text)).toBe(time)
})
