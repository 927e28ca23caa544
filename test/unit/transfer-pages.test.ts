import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'

import type { Found } from '../../src/transfer/item.ts'
import { identifyPage } from '../../src/transfer/pages.ts'
import type { PageRule, SourceName } from '../../src/domains/imports/options.ts'
import { readSource } from '../../src/transfer/sources.ts'
import { anyTimeOf } from '../../src/transfer/sources/times.ts'
import { useFolder } from '../harness/folders.ts'

const folder = useFolder()

async function readAll(name: SourceName, content: string): Promise<Found[]> {
  const path = join(folder, 'file')
  writeFileSync(path, content)
  const all: Found[] = []
  for await (const found of readSource(name, path)) all.push(found)
  return all
}

/** Items in brief: what a page or a comment is called, its state, and what was changed. */
const inBrief = (found: readonly Found[]): string[] =>
  found.flatMap((each) => {
    if (!('item' in each)) return [`refused: ${each.refused}`]
    const { item, changed } = each
    const note = changed === undefined ? '' : ', changed'
    if (item.kind === 'discussion') return [`page ${item.id} ${item.state}${note}`]
    return item.kind === 'comment' ? [`comment ${item.id} ${item.status}${note}`] : []
  })

const page = (url: string, rule: PageRule | null = 'url', keepsQuery = false) =>
  identifyPage({ kind: 'discussion', id: '7', url }, 'disqus', { page: rule, addresses: new Map(), keepsQuery })

describe('the external id of a page', () => {
  test.each<[PageRule, string, string]>([
    ['url', 'https://a.example/%E0%B8%95%E0%B8%A5%E0%B8%B2%E0%B8%94/', 'https://a.example/ตลาด/'],
    ['path', 'https://a.example/caf%C3%A9', '/café'],
    ['slug', 'https://a.example/2024/%e6%96%87%e7%ab%a0%EF%BC%9A%e9%a2%98/?p=1', '文章：题'],
    ['path', 'https://a.example/a%20b%2Fc%3fd%25%41%00', '/a%20b%2Fc%3Fd%25A%00'],
    ['path', 'https://a.example/latin%E9/x%E2%80%AEy', '/latin%E9/x%E2%80%AEy'],
    ['path', 'https://a.example/?s=%C3%BC%26', '/?s=ü%26'],
    ['id', 'https://a.example/caf%C3%A9', '7'],
  ])('by %s of %s is %s', (rule, url, externalId) => {
    expect(page(url, rule).externalId).toBe(externalId)
  })

  test('is the same however often it was encoded, and means the same address', () => {
    fc.assert(
      fc.property(fc.webUrl({ withQueryParameters: true }), fc.string({ unit: 'grapheme' }), (base, text) => {
        const url = `${base.split('#')[0]?.split('?')[0]}/${encodeURIComponent(text.toWellFormed())}`
        const { externalId } = page(url)
        expect(page(externalId).externalId).toBe(externalId)
        expect(new URL(externalId).href).toBe(new URL(url).href)
      }),
    )
  })

  test.each([
    'utm_source=tw utm_medium=x UTM_Campaign=y fbclid=1 gclid=2 gbraid=3 msclkid=4 mc_cid=5 _hsenc=6 igshid=7',
    'yclid=1 twclid=2 ttclid=3 mtm_source=4 pk_campaign=5 gad_source=1 srsltid=x _gl=y replytocom=12 ref_src=tw',
  ])('has none of %s', (parameters) => {
    for (const parameter of parameters.split(' ')) {
      expect(page(`https://a.example/p?${parameter}&id=1`)).toMatchObject({
        externalId: 'https://a.example/p?id=1',
        url: 'https://a.example/p?id=1',
        changes: [expect.stringContaining('--keep-query')],
      })
      expect(page(`https://a.example/p?${parameter}#disqus_thread`, 'path').externalId).toBe('/p')
      const kept = `https://a.example/p?${parameter}`
      expect(page(kept, 'url', true)).toMatchObject({ externalId: kept, url: kept, changes: [] })
    }
  })

  test.each(['?p=12', '?page_id=3', '?id=gclid', '?media=utm_x', '?fid=1', '?source=a&ref=b', '#!/page', '#/page'])(
    'keeps %s, which may distinguish pages',
    (query) => {
      const url = `https://a.example/p${query}`
      expect(page(url)).toMatchObject({ externalId: url, changes: [] })
    },
  )

  test('says that letters were decoded', () => {
    expect(page('https://a.example/caf%C3%A9').changes).toEqual([expect.stringContaining('codes')])
    expect(page('https://a.example/cafe').changes).toEqual([])
  })
})

describe('deleted threads of Disqus', () => {
  const thread = (id: number, isDeleted: boolean, link: string) =>
    `<thread dsq:id="${id}"><link>${link}</link><isClosed>true</isClosed><isDeleted>${isDeleted}</isDeleted></thread>`
  const post = (id: number, of: number, isDeleted = false) =>
    `<post dsq:id="${id}"><message><![CDATA[<p>x</p>]]></message><createdAt>2020-01-01T02:00:00Z</createdAt>` +
    `<isDeleted>${isDeleted}</isDeleted><author><name>A</name></author><thread dsq:id="${of}"/></post>`
  const file = (...parts: string[]) =>
    `<disqus xmlns="https://disqus.com" xmlns:dsq="https://disqus.com/disqus-internals">${parts.join('')}</disqus>`

  test('come archived after the others of the file, and their comments rejected', async () => {
    const found = await readAll(
      'disqus',
      file(
        thread(1, true, 'https://a.example/p'),
        thread(2, false, 'https://a.example/p'),
        thread(3, true, 'https://a.example/q'),
        post(11, 1),
        post(12, 2),
        post(13, 3, true),
      ),
    )
    expect(inBrief(found)).toEqual([
      'page 2 locked',
      'page 1 archived, changed',
      'page 3 archived, changed',
      'comment 11 rejected',
      'comment 12 approved',
      'comment 13 deleted',
    ])
  })

  test('come without a comment, too', async () => {
    expect(inBrief(await readAll('disqus', file(thread(1, true, 'x'))))).toEqual(['page 1 archived, changed'])
  })
})

describe('posts of WordPress', () => {
  const file = (of: string, namespace = 'http://wordpress.org/export/1.2/') =>
    `<?xml version="1.0"?><!-- a --><!-- b --><rss xmlns:wp="${namespace}"><channel><item><link>https://a.example/p</link>` +
    `<wp:post_id>1</wp:post_id><wp:comment_status>open</wp:comment_status>${of}` +
    '<wp:comment><wp:comment_id>5</wp:comment_id><wp:comment_author>A</wp:comment_author>' +
    '<wp:comment_date_gmt>2024-05-01 10:00:00</wp:comment_date_gmt><wp:comment_content>x</wp:comment_content>' +
    '<wp:comment_approved>1</wp:comment_approved></wp:comment></item></channel></rss>'

  test.each(['draft', 'private', 'trash', 'pending', 'future', 'auto-draft', 'wc-completed'])(
    'that are %s come archived, and their comments rejected',
    async (status) => {
      const found = await readAll('wordpress', file(`<wp:status>${status}</wp:status>`))
      expect(inBrief(found)).toEqual(['page 1 archived, changed', 'comment 5 rejected'])
    },
  )

  test('that have a password come archived, and their comments rejected', async () => {
    const found = await readAll(
      'wordpress',
      file('<wp:status>publish</wp:status><wp:post_password>x</wp:post_password>'),
    )
    expect(inBrief(found)).toEqual(['page 1 archived, changed', 'comment 5 rejected'])
  })

  test.each([
    '<wp:status>publish</wp:status>',
    '<wp:status>inherit</wp:status>',
    '<wp:post_password></wp:post_password>',
  ])('with %s are public', async (of) => {
    expect(inBrief(await readAll('wordpress', file(of)))).toEqual(['page 1 open', 'comment 5 approved'])
  })

  test.each([
    'https://wordpress.org/export/1.2/',
    'http://wordpress.org/export/1.1',
    'https://wordpress.org/export/1.0/',
  ])('are read with the namespace %s', async (namespace) => {
    expect(inBrief(await readAll('wordpress', file('', namespace)))).toEqual(['page 1 open', 'comment 5 approved'])
  })
})

describe('a time of Artrans', () => {
  const AT = '2022-06-09T22:29:12.000Z'
  test.each([
    '2022-06-09 22:29:12',
    '2022-06-09T22:29:12Z',
    '2022-06-10 06:29:12 +0800',
    '2022-06-10 06:29:12 +0800 CST',
    '2022/06/09 22:29:12',
    '2022/6/9 22:29:12',
    '2022.06.09 22:29:12',
    '2022:06:09 22:29:12',
    '2022年06月09日 22:29:12',
    '06/09/2022 22:29:12',
    '6/9/2022 10:29:12 PM',
    '06/09/2022 10:29:12 pm',
    '2022-06-09 10:29:12 PM',
    'Jun 9, 2022 10:29:12 PM',
    'June 9th, 2022, 22:29:12',
    '9 Jun 2022 22:29:12',
    '09-Jun-2022 22:29:12',
    'Thu, 09 Jun 2022 22:29:12 GMT',
    'Thu, 9 Jun 2022 22:29:12 +0000',
    'Thursday, 09-Jun-2022 22:29:12 UTC',
    'Thu Jun  9 22:29:12 2022',
    'Thu Jun 09 22:29:12 UTC 2022',
    'Thu Jun 9 22:29:12 +0000 2022',
    'Fri Jun 10 2022 06:29:12 GMT+0800 (China Standard Time)',
    'Thu Jun 09 2022 14:29:12 GMT-0800',
    '1654813752',
    '1654813752000',
    '1654813752000000',
    '1654813752000000000',
    '20220609222912',
  ])('%s is read', (written) => {
    expect(anyTimeOf(written)).toBe(AT)
  })

  test.each([
    ['2022-06-09', '2022-06-09T00:00:00.000Z'],
    ['20220609', '2022-06-09T00:00:00.000Z'],
    ['2022-06', '2022-06-01T00:00:00.000Z'],
    ['2022/06/09 22:29', '2022-06-09T22:29:00.000Z'],
    ['2022/06/09 22:29:12.5', '2022-06-09T22:29:12.500Z'],
    ['12/31/2022 12:00 AM', '2022-12-31T00:00:00.000Z'],
  ])('%s is %s', (written, at) => {
    expect(anyTimeOf(written)).toBe(at)
  })

  test.each([
    '',
    'yesterday',
    '2022-02-30 10:00:00',
    '13/13/2022',
    '2022/06/09 25:00',
    '123',
    '0000-00-00 00:00:00',
    '9 Xyz 2022',
  ])('%s is not a time', (written) => {
    expect(anyTimeOf(written)).toBe(null)
  })

  test('any text is read as a time or as null', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => void anyTimeOf(text)))
  })
})
