import { createServer, type RequestListener } from 'node:http'

import { parseDocument } from 'htmlparser2'
import { describe, expect, test } from 'vitest'

import type { RenderOptions } from '../../src/clients/backend/backend.ts'
import { newId } from '../../src/core/ids.ts'
import { fetchSite, open, shut } from '../harness/backends.ts'
import { useService } from '../harness/service.ts'

const service = useService()

const post = async (page: string, as: string, body: string, parentId?: string): Promise<string> => {
  const path = `/discussions/by-external/${encodeURIComponent(page)}/comments`
  return (await service.ok('POST', path, { body, parentId }, await service.as(as))).id
}

type Given = Partial<RenderOptions<Request>>
type Options = Parameters<typeof fetchSite>[1]
const render = (externalId: string, given: Given = {}, options: Options = {}) =>
  fetchSite(service, options).backend.renderThread({ externalId, ...given })

/** One element of a parsed page. */
interface Found {
  name: string
  attributes: Record<string, string>
  text: string
}

/** All elements of a page, and its text without that of scripts and styles. */
function read(html: string): { elements: Found[]; text: string } {
  const elements: Found[] = []
  const walk = (node: object): string => {
    if ('data' in node && 'type' in node && node.type === 'text') return String(node.data)
    const children = 'children' in node && Array.isArray(node.children) ? (node.children as object[]) : []
    const text = children.map(walk).join('')
    if (!('name' in node && 'attribs' in node)) return text
    const name = String(node.name)
    elements.push({ name, attributes: node.attribs as Record<string, string>, text })
    return /^(script|style)$/.test(name) ? '' : text
  }
  return { text: walk(parseDocument(html)), elements }
}

const scriptOf = (html: string, type: string) => {
  const scripts = read(html).elements.filter(({ name }) => name === 'script')
  expect(scripts.map(({ attributes }) => attributes)).toEqual([{ type }])
  return JSON.parse(scripts[0]?.text ?? '')
}
const dataOf = (html: string) => scriptOf(html, 'application/json')
const postingOf = (head: string) => scriptOf(head.replace(/^<link [^>]*>/, ''), 'application/ld+json')

test('draws the first page with the data that it was drawn from, at one position of the stream', async () => {
  const page = `/2026/11/${newId()}?a=b`
  const first = await post(page, 'ann', 'The **first** one')
  await post(page, 'bob', 'An answer', first)
  await post(page, 'bob', 'The second')
  const { html, head, etag, lastEventId } = await render(page)
  const { text, elements } = read(html)
  expect(text).toMatch(/Comments 3[^]*The second[^]*The first one[^]*An answer/)
  expect(elements.find(({ name }) => name === 'engagement-thread')?.attributes).toEqual({
    discussion: page,
    backend: '/engagement',
    sort: 'newest',
    'page-size': '20',
    lang: 'en',
  })
  expect(elements.find(({ name }) => name === 'template')?.attributes).toEqual({ shadowrootmode: 'open' })
  const thread = await fetchSite(service).ask(
    'GET',
    `/thread?externalId=${encodeURIComponent(page)}&sort=newest&limit=20&replies=3`,
  )
  expect(dataOf(html)).toEqual({ ...thread.json, ticket: null })
  expect(lastEventId).toBe(thread.json.discussion.lastEventId)
  expect(await render(page)).toEqual({ html, head, etag, lastEventId })
  expect(etag).toMatch(/^"[\w-]{43}"$/)
  await post(page, 'cat', 'The third')
  const after = await render(page)
  expect(after.etag).not.toBe(etag)
  expect(Number(after.lastEventId)).toBeGreaterThan(Number(lastEventId))
})

test('a page without a discussion has an empty thread, and begins none', async () => {
  const page = newId()
  const { html, head, lastEventId } = await render(page)
  expect(read(html).text).toContain('No comments yet.')
  expect([head, lastEventId]).toEqual(['', '0'])
  expect((await service.call('GET', `/discussions/by-external/${page}`)).status).toBe(404)
})

test('readers without JavaScript page by links, which the page makes', async () => {
  const page = newId()
  for (let n = 1; n <= 5; n++) await post(page, 'ann', `Comment ${n}.`)
  const hrefOf = (cursor: string): string => `/story?after=${encodeURIComponent(cursor)}&b="1"`
  const seen: string[][] = []
  for (let cursor: string | null = null, pages = 0; pages < 5; pages++) {
    const { html, head } = await render(page, { pageSize: 2, cursor, hrefOf })
    // Without its data the widget loads the first page: newer comments would be missing else.
    expect(html.includes('<script type="application/json">')).toBe(cursor === null)
    const { text, elements } = read(html)
    seen.push(text.match(/Comment \d/g) ?? [])
    const link = elements.find(({ name, attributes }) => name === 'a' && attributes['rel'] === 'next')
    expect(read(head).elements.find(({ name }) => name === 'link')?.attributes['href']).toBe(link?.attributes['href'])
    if (link === undefined) break
    expect(html).toContain(`<noscript><a href="`)
    cursor = new URL(link.attributes['href'] ?? '', 'http://site').searchParams.get('after')
  }
  expect(seen).toEqual([['Comment 5', 'Comment 4'], ['Comment 3', 'Comment 2'], ['Comment 1']])
  expect((await render(page, { pageSize: 2 })).html).not.toContain('<noscript>')
})

test('says whether the reader of the request is signed in, and nothing without a request', async () => {
  const page = newId()
  await post(page, 'ann', 'Hello')
  const signedIn = async (given: Given, options: Options = {}): Promise<unknown> => {
    const { html } = await render(page, given, options)
    expect(dataOf(html)).toMatchObject({ reader: null, own: null })
    return read(html).elements.find(({ name }) => name === 'engagement-thread')?.attributes['signed-in']
  }
  const from = (cookie: string): Given => ({
    request: new Request('https://www.example.com/', { headers: { cookie } }),
  })
  expect(await signedIn({})).toBeUndefined()
  expect(await signedIn(from('reader=ann'))).toBe('yes')
  expect(await signedIn(from('reader=nobody'))).toBe('no')
  const errors: unknown[] = []
  expect(await signedIn(from('reader=broken'), { onError: (error) => errors.push(error) })).toBeUndefined()
  expect(errors).toEqual([new Error('the session store is down')])
})

test('speaks the language of the page, with texts of its own', async () => {
  const page = newId()
  await post(page, 'ann', 'مرحبا')
  const section = async (given: Given) => {
    const { elements, text } = read((await render(page, given)).html)
    return { ...elements.find(({ name }) => name === 'section')?.attributes, text }
  }
  expect(await section({ lang: 'ar' })).toMatchObject({
    lang: 'ar',
    dir: 'rtl',
    text: expect.stringMatching(/التعليقات/),
  })
  expect(await section({ strings: { title: 'Letters' } })).toMatchObject({
    dir: 'ltr',
    text: expect.stringMatching(/Letters/),
  })
})

test('a text that was deleted or waits for a moderator is in no part of the page, also with a key that may moderate', async () => {
  const page = newId()
  const gone = await post(page, 'ann', 'A regretted text')
  await post(page, 'bob', 'A standing answer', gone)
  const alone = await post(page, 'ann', 'Another regretted text')
  for (const id of [gone, alone])
    expect((await service.call('DELETE', `/comments/${id}`, { headers: await service.as('ann') })).status).toBe(204)
  const hidden = await post(page, 'bob', 'A hidden text')
  expect((await service.call('POST', `/comments/${hidden}/reject`)).status).toBe(200)
  const { html, head } = await render(page, {}, { apiKey: service.apiKey })
  expect(html + head).not.toMatch(/regretted|hidden text/)
  expect(read(html).text).toMatch(/This comment was deleted\.[^]*A standing answer/)
  expect(postingOf(head).comment).toMatchObject([{ text: 'A standing answer' }])
})

describe('with a service that does not answer as it should', () => {
  const serve = async (answer: RequestListener, use: (url: string) => Promise<void>): Promise<void> => {
    const server = createServer(answer)
    const url = await open(server)
    try {
      await use(url)
    } finally {
      await shut(server)
    }
  }
  const BARE =
    '<engagement-thread theme="dark" discussion="a" backend="/engagement" sort="newest" page-size="20" lang="en"></engagement-thread>'
  const bare = { html: BARE, head: '', etag: null, lastEventId: null }
  const attributes = { theme: 'dark' }

  test.each([
    ['an error', 500, '{"code":"internal"}'],
    ['a proxy’s page', 200, '<html>'],
    ['a refusal', 403, '{"code":"origin_not_allowed"}'],
    ['other JSON', 200, '{"data":[{}]}'],
  ])('the page gets the element alone after %s, and its log the reason', async (_what, status, body) => {
    const errors: unknown[] = []
    await serve(
      (_request, response) => {
        const type = body.startsWith('{') ? 'application/json' : 'text/html'
        response.writeHead(status, { 'content-type': type }).end(body)
      },
      async (url) => {
        const onError = (error: unknown): unknown => errors.push(error)
        expect(await render('a', { attributes }, { url, onError })).toEqual(bare)
      },
    )
    expect(errors.length).toBeGreaterThan(0)
  })

  test('the page gets the element alone while the service is away', async () => {
    const errors: unknown[] = []
    const options = { url: 'http://127.0.0.1:9', onError: (error: unknown) => errors.push(error) }
    expect(await render('a', { attributes }, options)).toEqual(bare)
    expect(errors.length).toBeGreaterThan(0)
  })

  const NASTY = `</script></style></template><script>alert(1)</script><!--<script>"'\u2028\u2029&lt;\u0000<img src=x onerror=alert(1)>`

  test('nothing of a comment, its author, the page or the options becomes markup', async () => {
    const author = {
      id: newId(),
      externalId: NASTY,
      name: NASTY,
      avatarUrl: 'javascript:alert(1)',
      profileUrl: ' javascript:alert(1)',
      badges: ['b'],
    }
    const comment = (more: object) => ({
      id: newId(),
      parentId: null,
      depth: 0,
      author,
      body: NASTY,
      bodyHtml: `<p onclick="x()">safe ${NASTY}</p><a href="javascript:x()">l</a><svg><a href="https://a.example/">m</a></svg></div></template>`,
      status: 'approved',
      pinnedAt: null,
      editedAt: null,
      deletedAt: null,
      revision: 1,
      replyCount: 0,
      reactionCounts: { [NASTY]: 2 },
      viewerReaction: null,
      authorMuted: null,
      createdAt: '2026-01-02T03:04:05.678Z',
      ...more,
    })
    const data = [
      comment({}),
      comment({ status: 'pending', body: 'a secret', bodyHtml: 'a secret' }),
      comment({ status: 'rejected', replyCount: 1, body: 'a secret', bodyHtml: 'a secret' }),
    ]
    const answers: Record<string, unknown> = {
      public: {
        reactionTypes: ['like', NASTY],
        editWindowSeconds: 900,
        maxDepth: 10,
        badges: [{ id: 'b', label: NASTY, tone: NASTY }],
      },
      comments: { data, nextCursor: NASTY, hasMore: true },
      // Of the discussion, whose path ends with its external id.
      '': {
        id: newId(),
        externalId: NASTY,
        title: NASTY,
        url: NASTY,
        state: 'open',
        commentCount: 3,
        lastEventId: '7',
        createdAt: '2026-01-02T03:04:05.678Z',
      },
    }
    await serve(
      (request, response) => {
        const last = new URL(request.url ?? '', 'http://service').pathname.split('/').at(-1) ?? ''
        response.setHeader('content-type', 'application/json')
        response.end(JSON.stringify(answers[last] ?? answers['']))
      },
      async (url) => {
        const given: Given = {
          nonce: NASTY,
          attributes: { theme: NASTY },
          hrefOf: (cursor) => cursor,
          page: {
            title: NASTY,
            url: `https://www.example.com/${NASTY}`,
            text: NASTY,
            author: { name: NASTY, url: 'javascript:alert(1)' },
          },
        }
        const { html, head, lastEventId } = await render(NASTY.replace('\u0000', ''), given, { url })
        expect(lastEventId).toBe('7')
        const { elements } = read(`${html}<p>after</p>`)
        // The element is closed by its own end alone.
        expect(elements.at(-1)).toMatchObject({ name: 'p', text: 'after' })
        expect(
          elements
            .filter(({ name }) => /^(script|style|template|engagement-thread)$/.test(name))
            .map(({ name }) => name)
            .sort(),
        ).toEqual(['engagement-thread', 'script', 'style', 'template'])
        expect(elements.filter(({ name }) => /^(img|svg|iframe|object|base|form|meta|link)$/.test(name))).toEqual([])
        for (const { attributes: held } of elements) {
          expect(Object.keys(held).filter((name) => /^on|^style$/.test(name))).toEqual([])
          for (const name of ['href', 'src']) expect(held[name] ?? '').not.toMatch(/^\s*javascript:/i)
        }
        expect(html + head).not.toMatch(/<!--|a secret/)
        const scripts = read(html + head).elements.filter(({ name }) => name === 'script')
        expect(scripts.map(({ text }) => /[<>&\u2028\u2029]/.test(text))).toEqual([false, false])
        expect(dataOf(html).comments.data).toMatchObject([
          { body: NASTY, author: { name: NASTY, avatarUrl: null, profileUrl: null } },
          { status: 'withheld', author: null, body: null },
        ])
        expect(postingOf(head)).toMatchObject({
          headline: NASTY,
          author: { name: NASTY },
          comment: [{ author: { name: NASTY } }],
        })
      },
    )
  })
})

test("reactions stand in the order of the tenant's list", async () => {
  const page = newId()
  const id = await post(page, 'ann', 'A comment')
  for (const [as, type] of [
    ['cat', 'angry'],
    ['ann', 'wow'],
    ['bob', 'love'],
  ] as const)
    await service.call('PUT', `/comments/${id}/reaction`, { body: { type }, headers: await service.as(as) })
  const names = read((await render(page)).html).elements.flatMap(
    ({ attributes }) => /^(Like|Love|Wow|Angry)\b/.exec(attributes['aria-label'] ?? '')?.[0] ?? [],
  )
  expect(names).toEqual(['Like', 'Love', 'Wow', 'Angry'])
})

test('the data for search engines has what Google requires', async () => {
  const page = newId()
  const first = await post(page, 'ann', 'The **first** one')
  await post(page, 'bob', 'An answer </script>', first)
  await service.call('PUT', `/comments/${first}/reaction`, { body: { type: 'like' }, headers: await service.as('bob') })
  await service.ok('PATCH', `/comments/${first}`, { body: 'The first, edited' }, await service.as('ann'))
  const url = 'https://www.example.com/story'
  const known = {
    title: 'A story',
    url: `${url}#x`,
    author: { name: 'Eva', url: 'https://www.example.com/eva' },
    datePublished: '2026-11-01T08:00:00Z',
    text: 'It begins.',
  }
  const told = postingOf((await render(page, { page: known })).head)
  expect(told).toMatchObject({
    '@type': 'DiscussionForumPosting',
    headline: 'A story',
    url,
    text: 'It begins.',
    datePublished: '2026-11-01T08:00:00Z',
    author: { '@type': 'Person', name: 'Eva' },
    comment: [
      {
        '@type': 'Comment',
        text: 'The first, edited',
        url: `${url}#comment-${first}`,
        dateModified: expect.any(String),
        comment: [{ text: 'An answer </script>', author: { name: 'Reader bob' } }],
      },
    ],
  })
  const untold = postingOf((await render(page)).head)
  for (const one of [told, untold, ...told.comment, ...untold.comment, ...told.comment[0].comment]) {
    expect(one).toMatchObject({
      author: { name: expect.stringMatching(/./) },
      datePublished: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      text: expect.stringMatching(/./),
    })
  }
})

test.each([
  [{ externalId: '' }, 'externalId'],
  [{ externalId: '..' }, 'externalId'],
  [{ externalId: 'a', sort: 'best' }, 'sort'],
  [{ externalId: 'a', pageSize: 0 }, 'pageSize'],
  [{ externalId: 'a', lang: 5 }, 'lang'],
  [{ externalId: 'a', hrefOf: '/' }, 'hrefOf'],
  [{ externalId: 'a', attributes: { onclick: 'x()' } }, 'onclick'],
  [{ externalId: 'a', attributes: { discussion: 'b' } }, 'discussion'],
  [{ externalId: 'a', attributes: { 'a b': 'c' } }, 'a b'],
])('renderThread rejects with a TypeError that names a wrong option: %j', async (options, name) => {
  const rejected = fetchSite(service).backend.renderThread(options as never)
  await expect(rejected).rejects.toThrow(TypeError)
  await expect(rejected).rejects.toThrow(
    `renderThread: ${/^(externalId|sort|pageSize|lang|hrefOf)$/.test(name) ? name : `attributes cannot have ${name}`}`,
  )
})
