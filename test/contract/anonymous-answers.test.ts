import { expect, test } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { fetchSite } from '../harness/backends.ts'
import { useService } from '../harness/service.ts'

// The answers that may stand beside the thread of a reader who is banned in shadow, as
// docs/reference/page-routes.md lists them. The reader sees their own comment, others do not.

const service = useService()

const SECRET = 'only the banned reader sees this'

/** A page with a comment of Bob, and one that Ann has written in shadow. */
async function pageInShadow() {
  const site = fetchSite(service)
  const page = newId()
  const at = `?externalId=${page}`
  await site.ask('POST', `/comments${at}`, { as: 'bob', body: { body: `all see ${page}` } })
  const first = await site.ask('POST', `/comments?externalId=${newId()}`, { as: 'ann', body: { body: newId() } })
  const ban = `/readers/${first.json.author.id}`
  expect((await service.call('POST', `${ban}/ban`, { body: { shadow: true } })).status).toBe(200)
  expect(
    (await site.ask('POST', `/comments${at}`, { as: 'ann', body: { body: `${SECRET} ${page}` } })).json.status,
  ).toBe('approved')
  return { site, page, at, unban: () => service.call('POST', `${ban}/unban`) }
}

test('what a signed-in reader is told agrees with their thread, and no cache keeps it', async () => {
  const { site, at, unban } = await pageInShadow()
  const countsOf = async (as?: string) => {
    const options = as === undefined ? {} : { as }
    const [thread, discussion, comments, counts] = await Promise.all(
      ['thread', 'discussion', 'comments', 'counts'].map((path) => site.ask('GET', `/${path}${at}`, options)),
    )
    const cacheable = [thread, discussion, comments, counts].map((one) => one!.headers.get('cache-control'))
    const numbers = [
      thread!.json.discussion.commentCount,
      thread!.json.comments.data.length,
      discussion!.json.commentCount,
      comments!.json.data.length,
      counts!.json.data[0].commentCount,
    ]
    return { numbers, isKept: cacheable.map((one) => one?.includes('public') ?? false) }
  }
  expect(await countsOf('ann')).toEqual({ numbers: [2, 2, 2, 2, 2], isKept: [false, false, false, false] })
  expect(await countsOf('bob')).toEqual({ numbers: [1, 1, 1, 1, 1], isKept: [false, false, false, false] })
  expect(await countsOf()).toEqual({ numbers: [1, 1, 1, 1, 1], isKept: [false, false, false, true] })
  await unban()
})

test('caches tell signed-in readers from others where their answers differ', async () => {
  const { site, at, unban } = await pageInShadow()
  const { headers } = await site.ask('GET', `/counts${at}`)
  expect(headers.get('vary')).toContain('Cookie, Authorization')
  await unban()
})

test('settings and lists over all pages are the same for everyone, and have nothing of a reader in shadow', async () => {
  const { site, page, unban } = await pageInShadow()
  for (const path of ['/settings', '/latest-comments?limit=50', '/most-discussed?window=day&limit=50']) {
    const [own, others] = [await site.ask('GET', path, { as: 'ann' }), await site.ask('GET', path)]
    expect(own.json, path).toEqual(others.json)
    expect(own.text, path).not.toContain(SECRET)
    expect(own.headers.get('cache-control'), path).toMatch(/^public/)
    expect(own.headers.get('vary'), path).toBe('Accept-Encoding')
  }
  const { json } = await site.ask('GET', '/latest-comments?limit=50', { as: 'ann' })
  expect(json.data.map((each: { discussion: { externalId: string } }) => each.discussion.externalId)).toContain(page)
  await unban()
})

test('a rendered page and its JSON-LD are those of a reader who is not signed in, and the widget loads the rest', async () => {
  const { site, page, unban } = await pageInShadow()
  const asked = (as: string) => new Request('https://www.example.com/', { headers: { cookie: `reader=${as}` } })
  const rendered = { externalId: page, page: { title: 'A page', url: 'https://www.example.com/a' } }
  // The first one tells the service the title and the address of the page.
  await site.backend.renderThread(rendered)
  const own = await site.backend.renderThread({ ...rendered, request: asked('ann') })
  const others = await site.backend.renderThread({ ...rendered, request: asked('nobody') })
  expect(own.html + own.head).not.toContain(SECRET)
  expect(own.head).toBe(others.head)
  expect(own.head).toContain('"userInteractionCount":1')
  expect(own.html.replace('signed-in="yes"', 'signed-in="no"')).toBe(others.html)
  // By which the widget asks for the reader's own thread.
  expect(own.html).toContain('signed-in="yes"')
  await unban()
})
