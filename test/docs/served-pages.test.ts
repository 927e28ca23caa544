import { readdirSync } from 'node:fs'
import { get } from 'node:http'
import { join, relative } from 'node:path'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { readPages, ROOT } from '../harness/markdown.ts'
import { startService, type TestService } from '../harness/service.ts'

let service: TestService

beforeAll(async () => {
  service = await startService({ worker: false })
})
afterAll(() => service.close())

test('GET /docs/guides/ leads to every page of the documentation, and every link has its target', async () => {
  const seen = new Map<string, string>()
  const broken: string[] = []
  const waiting = [`${service.url}/docs/guides/`]
  for (const address of waiting) {
    if (seen.has(address)) continue
    const answer = await fetch(address)
    const html = await answer.text()
    seen.set(address, html)
    if (answer.status !== 200) broken.push(address)
    if (new URL(address).pathname === '/docs') continue
    for (const [, href = ''] of html.matchAll(/<a href="([^"]*)"/g)) {
      const target = new URL(href, address)
      if (target.origin === service.url) waiting.push(target.href.replace(/#.*$/, ''))
    }
  }
  for (const [address, html] of seen) {
    // Its anchors are those of the reference that its script opens (test/browser/guides).
    if (new URL(address).pathname === '/docs') continue
    for (const [, href = ''] of html.matchAll(/<a href="([^"]*#[^"]+)"/g)) {
      const target = new URL(href, address)
      const page = seen.get(target.href.replace(/#.*$/, '')) ?? ''
      if (target.origin === service.url && !page.includes(`id="${target.hash.slice(1)}"`)) broken.push(target.href)
    }
  }
  expect(broken).toEqual([])
  const count = readPages().filter(({ path }) => path.startsWith('docs/')).length
  const schemas = readdirSync(join(ROOT, 'docs', 'reference')).filter((name) => name.endsWith('.json')).length
  // And `/docs` itself.
  expect(seen.size).toBe(count + schemas + 1)
})

test('serves and shows the pictures of the guides', async () => {
  const shown = new Set<string>()
  for (const name of ['architecture', 'guides/widget', 'guides/console']) {
    const address = `${service.url}/docs/${name}`
    const html = await (await fetch(address)).text()
    for (const [, source = ''] of html.matchAll(/<img src="([^"]*)"/g)) shown.add(new URL(source, address).href)
  }
  const pictures = readdirSync(join(ROOT, 'docs/pictures'))
  expect([...shown].toSorted()).toEqual(pictures.map((name) => `${service.url}/docs/pictures/${name}`).toSorted())
  for (const address of shown) {
    const answer = await fetch(address)
    expect(answer.status).toBe(200)
    const begin = Buffer.from(await answer.arrayBuffer())
      .subarray(0, 4)
      .toString('latin1')
    expect([answer.headers.get('content-type'), begin]).toEqual(
      address.endsWith('.svg') ? ['image/svg+xml', '<svg'] : ['image/png', '\x89PNG'],
    )
  }
})

test('a page runs no script, loads nothing, and is not sent again to a client that has it', async () => {
  const page = await fetch(`${service.url}/docs/reference/errors`)
  expect(page.headers.get('content-type')).toMatch(/^text\/html/)
  expect(page.headers.get('content-security-policy')).toMatch(
    /^default-src 'none'; img-src 'self' data:; style-src 'sha256-/,
  )
  const html = await page.text()
  expect(html).toContain('<h2 id="discussion_locked">')
  expect(html).not.toMatch(/<script|<img|src=|Made from/)
  const headers = { 'if-none-match': page.headers.get('etag') ?? '' }
  expect((await fetch(page.url, { headers })).status).toBe(304)
})

test.each(['guides/nothing', 'guides/rest.md', '%2e%2e%2fpackage.json'])(
  'GET /docs/%s answers 404 not_found',
  async (path) => {
    const answer = await fetch(`${service.url}/docs/${path}`)
    expect(answer.status).toBe(404)
    expect((await answer.json()) as object).toMatchObject({ code: 'not_found' })
  },
)

// fetch would resolve the dots by itself.
test.each(['/docs/../package.json', '/docs/..%2fpackage.json', '/docs/guides/../../package.json'])(
  'GET %s leads out of no folder',
  async (path) => {
    const { port } = new URL(service.url)
    const status = await new Promise((resolve, reject) => {
      get({ port, path, host: '127.0.0.1' }, (response) => resolve(response.resume().statusCode)).on('error', reject)
    })
    expect(status).toBe(404)
  },
)

const folders = readdirSync(join(ROOT, 'docs'), { withFileTypes: true, recursive: true })
  .filter((each) => each.isDirectory())
  .map(({ parentPath, name }) => relative(join(ROOT, 'docs'), join(parentPath, name)))

test.each(folders.filter((name) => name !== 'pictures'))(
  'GET /docs/%s leads to an index of all its pages',
  async (name) => {
    const answer = await fetch(`${service.url}/docs/${name}`)
    expect(answer.url).toBe(`${service.url}/docs/${name}/`)
    expect(answer.status).toBe(200)
    const html = await answer.text()
    const entries = readdirSync(join(ROOT, 'docs', name), { withFileTypes: true })
    const pages = entries
      .filter((entry) => entry.name !== 'README.md')
      .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name.replace('.md', '')))
    expect(pages.filter((page) => !html.includes(`href="${page}"`))).toEqual([])
  },
)
