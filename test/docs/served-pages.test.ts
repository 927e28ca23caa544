import { readdirSync } from 'node:fs'
import { get } from 'node:http'
import { join, relative } from 'node:path'

import MiniSearch from 'minisearch'
import { beforeAll, describe, expect, test } from 'vitest'

import { type CompactIndex, expand } from '../../src/docs/compact-index.ts'
import { type Found, OPTIONS } from '../../src/docs/search-options.ts'
import { readPages, ROOT } from '../harness/markdown.ts'
import { useService } from '../harness/service.ts'

const service = useService()

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
    for (const [, href = ''] of html.matchAll(/<a href="([^"]*)"/g)) {
      const target = new URL(href, address)
      if (target.origin === service.url && !target.pathname.endsWith('.md'))
        waiting.push(target.href.replace(/#.*$/, ''))
    }
  }
  for (const [address, html] of seen) {
    for (const [, href = ''] of html.matchAll(/<a href="([^"]*#[^"]+)"/g)) {
      const target = new URL(href, address)
      const page = seen.get(target.href.replace(/#.*$/, '')) ?? ''
      if (target.origin === service.url && !page.includes(`id="${target.hash.slice(1)}"`)) broken.push(target.href)
    }
  }
  expect(broken).toEqual([])
  const count = readPages().filter(({ path }) => path.startsWith('docs/')).length
  const schemas = readdirSync(join(ROOT, 'docs', 'reference')).filter((name) => name.endsWith('.json')).length
  expect(seen.size).toBe(count + schemas)
})

test.each(['/', '/guides/', '/reference/errors', '/guides/graphql/apollo', '/architecture'])(
  '/docs%s leads to all parts',
  async (path) => {
    const address = `${service.url}/docs${path}`
    const [, links = ''] =
      /<nav class="parts" aria-label="Documentation">(.*?)<\/nav>/.exec(await (await fetch(address)).text()) ?? []
    const led = [...links.matchAll(/href="([^"]*)"/g)].map(([, href = '']) => new URL(href, address).pathname)
    expect(led).toEqual(
      ['guides/', 'reference/rest/', 'reference/graphql', 'reference/', 'operations/', 'decisions/'].map(
        (part) => `/docs/${part}`,
      ),
    )
  },
)

test('serves and shows the pictures of the guides', async () => {
  const shown = new Set<string>()
  for (const name of ['architecture', 'guides/widget', 'guides/console']) {
    const address = `${service.url}/docs/${name}`
    const html = await (await fetch(address)).text()
    for (const [, source = ''] of html.matchAll(/<img src="([^"]*)"/g))
      if (source.includes('pictures/')) shown.add(new URL(source, address).href)
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

test('a page loads files of the service alone, which browsers keep for good', async () => {
  const page = await fetch(`${service.url}/docs/reference/errors`)
  expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
  expect(page.headers.get('content-security-policy')).toBe(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  )
  const html = await page.text()
  expect(html).toContain('<h2 id="discussion_locked">')
  // The policy forbids scripts, styles and handlers in the page itself.
  expect(html).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\sstyle=|\bon\w+=|Made from/)
  const names = ['data-search', 'data-index', '<script src', 'rel="stylesheet" href']
  for (const name of names) {
    const [, file = ''] = new RegExp(`${name}="([^"]*)"`).exec(html) ?? []
    const answer = await fetch(new URL(file, page.url))
    await answer.arrayBuffer()
    expect([file, answer.status, answer.headers.get('cache-control')]).toEqual([
      file,
      200,
      'public, max-age=31536000, immutable',
    ])
  }
})

describe('the search', () => {
  let index: MiniSearch<Found>
  let bytes = 0

  beforeAll(async () => {
    const html = await (await fetch(`${service.url}/docs/`)).text()
    const [, file = ''] = /data-index="([^"]*)"/.exec(html) ?? []
    const address = new URL(file, `${service.url}/docs/`)
    bytes = await new Promise<number>((resolve, reject) => {
      get(address, { headers: { 'accept-encoding': 'gzip' } }, (response) => {
        let sum = 0
        response.on('data', (chunk: Buffer) => (sum += chunk.length)).on('end', () => resolve(sum))
      }).on('error', reject)
    })
    index = MiniSearch.loadJS<Found>(expand((await (await fetch(address)).json()) as CompactIndex), OPTIONS)
  })

  test('takes at most 150 KB', () => {
    expect(bytes).toBeGreaterThan(50_000)
    expect(bytes).toBeLessThan(150_000)
  })

  test.each([
    ['webhooks', 'guides/webhooks'],
    ['webhook signature', 'guides/webhook-signatures'],
    ['import from disqus', 'guides/moving-from-disqus'],
    ['guests', 'guides/guests'],
    ['stream ticket', 'guides/stream'],
    ['erase a reader', 'guides/privacy#erase-a-reader'],
    ['rotate the encryption key', 'operations/operate#rotate-encryption_key'],
    ['backup', 'operations/operate#backups'],
    ['the single sign-on', 'guides/single-sign-on/'],
    ['discussion_locked', 'reference/errors#discussion_locked'],
    ['createComment', 'reference/graphql#mutation-createcomment'],
    ['create API key', 'reference/rest/keys#create-an-api-key'],
    // The beginning of a word, and a letter too few.
    ['webhook signatu', 'guides/webhook-signatures'],
    ['encrypton key', 'operations/operate#rotate-encryption_key'],
  ])('finds for "%s" first %s', (words, address) => {
    const found = index.search(words).map((each) => each['address'] as string)
    expect(found[0]).toBe(address)
  })

  test('finds no section for words that no section has', () => {
    expect(index.search('zzzzzz')).toEqual([])
    expect(index.search('the of and')).toEqual([])
  })
})

test('a page is compressed for those who take it, and not sent again to a client that has it', async () => {
  const url = `${service.url}/docs/reference/errors`
  for (const coding of ['gzip', 'identity']) {
    const page = await fetch(url, { headers: { 'accept-encoding': coding } })
    expect([page.headers.get('content-encoding'), page.headers.get('vary')]).toEqual([
      coding === 'gzip' ? 'gzip' : null,
      expect.stringContaining('Accept-Encoding'),
    ])
    expect(await page.text()).toContain('<h2 id="discussion_locked">')
    const headers = { 'accept-encoding': coding, 'if-none-match': page.headers.get('etag') ?? '' }
    expect((await fetch(url, { headers })).status).toBe(304)
  }
})

test('/docs and folders lead to their pages below any path of a proxy', async () => {
  const there = async (path: string) => {
    const { status, headers } = await fetch(service.url + path, { redirect: 'manual' })
    return [status, headers.get('location')]
  }
  expect(await there('/docs')).toEqual([308, 'docs/'])
  expect(await there('/docs/guides')).toEqual([308, 'guides/'])
})

test.each(['guides/nothing', 'guides/nothing.md', '404', '404.html', 'guides/rest.html', '%2e%2e%2fpackage.json'])(
  'GET /docs/%s answers 404 not_found',
  async (path) => {
    const answer = await fetch(`${service.url}/docs/${path}`)
    expect(answer.status).toBe(404)
    expect((await answer.json()) as object).toMatchObject({ code: 'not_found' })
  },
)

const pathsOf = (...folders: string[]): string[] =>
  readPages().flatMap(({ path }) => (folders.some((folder) => path.startsWith(`docs/${folder}`)) ? [path] : []))

test('each page is served as Markdown, whose links have their targets', async () => {
  const targets = new Set<string>()
  for (const path of pathsOf('')) {
    const address = `${service.url}/${path}`
    const answer = await fetch(address)
    const text = await answer.text()
    expect([path, answer.status, answer.headers.get('content-type')]).toEqual([
      path,
      200,
      'text/markdown; charset=utf-8',
    ])
    expect(text).toMatch(/^# /)
    expect(text).not.toContain('<!--')
    for (const [, href = ''] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
      const target = new URL(href.replace(/#.*$/, ''), address)
      if (target.origin === service.url) targets.add(target.href)
    }
  }
  expect(targets.size).toBeGreaterThan(50)
  const broken: string[] = []
  for (const target of targets) {
    const answer = await fetch(target)
    await answer.arrayBuffer()
    if (answer.status !== 200) broken.push(target)
  }
  expect(broken).toEqual([])
  const html = await (await fetch(`${service.url}/docs/guides/rest`)).text()
  expect(html).toContain('<link rel="alternate" type="text/markdown" href="rest.md">')
})

test('GET /llms.txt lists each guide, and each page of the reference and of operations, as Markdown', async () => {
  const answer = await fetch(`${service.url}/llms.txt`)
  expect(answer.headers.get('content-type')).toBe('text/plain; charset=utf-8')
  const text = await answer.text()
  expect(text).toMatch(/^# Engagement Service\n\n> .+\n\n## /)
  const links = [...text.matchAll(/^- \[.+\]\((.+)\)$/gm)].map(([, href = '']) => href)
  const pages = pathsOf('guides/', 'reference/', 'operations/').filter((path) => !/^docs\/\w+\/README\.md$/.test(path))
  expect(links.toSorted()).toEqual([...pages, 'asyncapi.json', 'openapi.json'].toSorted())
})

test.each(['guides', 'reference', 'operations'])(
  'the pages of %s lead to each other, forth and back',
  async (folder) => {
    const linkOf = async (address: string, rel: string): Promise<string | null> => {
      const html = await (await fetch(address)).text()
      const href = new RegExp(`<a href="([^"]*)" rel="${rel}"`).exec(html)?.[1]
      return href === undefined ? null : new URL(href, address).href
    }
    const seen: string[] = []
    for (let next: string | null = `${service.url}/docs/${folder}/`; next !== null; next = await linkOf(next, 'next')) {
      expect(await linkOf(next, 'prev')).toBe(seen.at(-1) ?? null)
      seen.push(next)
    }
    expect(new Set(seen).size).toBe(seen.length)
    expect(seen.length).toBe(pathsOf(`${folder}/`).length)
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
