import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { buildSchema, parse, validate } from 'graphql'
import { describe, expect, test } from 'vitest'

import { readSettings } from '../../src/core/settings/settings.ts'
import { schema as served } from '../../src/api/execution/schema.ts'
import { openApiDocument } from '../../src/api/reference/openapi.ts'
import { API_BASE } from '../../src/graphql/route.ts'
import { type Page, readPages, ROOT, targetOf } from '../harness/markdown.ts'
import type { Operation } from '../harness/openapi.ts'

const read = (name: string): string => readFileSync(join(ROOT, name), 'utf8')

const pages = readPages()
const byPath = new Map(pages.map((page) => [page.path, page]))
const named = pages.map((page) => [page.path, page] as const)
const schema = buildSchema(read('schema.graphql'))

const blocksOf = (language: string) =>
  pages.flatMap(({ path, blocks }) =>
    blocks
      .filter((block) => block.language === language)
      .map(({ line, content }) => [`${path}:${line}`, content] as const),
  )

describe('links', () => {
  test.each(named)('of %s lead to an existing file and heading', (_path, page) => {
    const broken = page.links.filter((link) => {
      const target = targetOf(page, link)
      if (target === null) return false
      if (!existsSync(join(ROOT, target.file))) return true
      return target.anchor !== '' && byPath.get(target.file)?.anchors.has(target.anchor) !== true
    })
    expect(broken).toEqual([])
  })

  test('lead from the README to every page', () => {
    const reached = new Set(['README.md'])
    for (const path of reached) {
      const page = byPath.get(path)
      for (const link of page?.links ?? []) {
        const target = page === undefined ? null : targetOf(page, link)
        if (target !== null && byPath.has(target.file)) reached.add(target.file)
      }
    }
    expect(pages.map(({ path }) => path).filter((path) => !reached.has(path))).toEqual([])
  })
})

test('every guide installs the client in the same way', () => {
  const { version } = JSON.parse(read('package.json')) as { version: string }
  const lines = blocksOf('sh').flatMap(([place, content]) =>
    content
      .split('\n')
      .filter((line) => /npm install\b(?!.*--global).*(engagement-service|\$|["' ]\.{0,2}\/)/.test(line))
      .map((line) => [place, line] as const),
  )
  expect(lines.length).toBeGreaterThan(1)
  const tarball = new RegExp(
    `"(engagement-service@file:.*/dist/packages/engagement-service-client|(engagement-(?:react|vue))@file:.*/dist/packages/\\2)-${version}\\.tgz"$`,
  )
  for (const [place, line] of lines) expect(line, place).toMatch(tarball)
})

test('the README has at most 150 lines', () => {
  expect(read('README.md').split('\n').length).toBeLessThanOrEqual(150)
})

test("the page's subscription stands in its guide as the ready documents have it", () => {
  const ready = read('src/clients/graphql/page.graphql')
  const shown = blocksOf('graphql').flatMap(([place, content]) =>
    place.includes('graphql/subscriptions') ? content : [],
  )
  expect(shown).toHaveLength(1)
  for (const part of shown.join('').trim().split('\n\n'))
    expect(ready, 'docs/guides/graphql/subscriptions.md copies page.graphql').toContain(part)
})

test('the guide of Next.js shows whole files of its example', () => {
  const folder = 'examples/nextjs/app'
  const files = readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => read(join(folder, name)))
  const shown = [...blocksOf('ts'), ...blocksOf('tsx')].filter(([place]) => place.includes('guides/nextjs.md'))
  expect(shown).toHaveLength(3)
  for (const [place, content] of shown) expect(files, place).toContain(content)
})

// vue-tsc 3.3 takes `//` in an attribute for a comment. Handlers of the element then lack types.
test.each(blocksOf('vue'))('%s has no address beside a handler', (_place, content) => {
  const elements = content.match(/<\w+(?:\s+[:@]?[\w-]+(?:="[^"]*")?)+\s*\/?>/g) ?? []
  expect(elements.length).toBeGreaterThan(0)
  expect(elements.filter((element) => element.includes('//') && /\s@/.test(element))).toEqual([])
})

describe('code blocks', () => {
  test.each(blocksOf('json'))('%s is JSON', (_place, content) => {
    expect(() => JSON.parse(content) as unknown).not.toThrow()
  })

  test.each(blocksOf('graphql'))('%s is valid by schema.graphql', (_place, content) => {
    expect(validate(schema, parse(content))).toEqual([])
  })

  const queries = blocksOf('sh').flatMap(([place, content]) =>
    [...content.matchAll(/^gql '(\{.*?\})'( |$)/gm)].map(([, body = '']) => [place, body] as const),
  )
  test('some send GraphQL', () => expect(queries.length).toBeGreaterThan(1))
  test.each(queries)('%s sends GraphQL that is valid by schema.graphql: %s', (_place, body) => {
    const { query, documentId }: { query?: string; documentId?: string } = JSON.parse(body)
    expect(query === undefined ? [] : validate(schema, parse(query))).toEqual([])
    expect(query ?? documentId).toMatch(/\w/)
  })
})

const settings = readSettings({}, () => ({ ADMIN_JWT_SECRET: '', ENCRYPTION_KEY: Buffer.alloc(32) }))
const routes = Object.entries(openApiDocument(served, settings, 'http://localhost').paths).flatMap(([path, methods]) =>
  Object.entries(methods as Record<string, Operation>).map(([method, { parameters = [] }]) => ({
    method: method.toUpperCase(),
    pattern: new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`),
    query: parameters.flatMap((parameter) => ('in' in parameter && parameter.in === 'query' ? parameter.name : [])),
  })),
)

/**
 * What is wrong with a request to the API; undefined if there is such a route, with these
 * parameters.
 */
function wrongWith(method: string, address: string): string | undefined {
  const [path = '', query = ''] = address.split('?')
  const route = routes.find((each) => each.method === method && each.pattern.test(path))
  if (route === undefined) return `${method} ${path}: no such route`
  const unknown = [...new URLSearchParams(query).keys()].filter((name) => !route.query.includes(name))
  return unknown.length === 0 ? undefined : `${method} ${path}: no parameter ${unknown.join(', ')}`
}

/** The requests of a shell block, by the guides' helper `api` and by curl. */
function requestsIn(block: string): [method: string, address: string][] {
  const lines = block
    .replace(/\\\n\s*/g, ' ')
    .replace(/\s#\s.*$/gm, '')
    .replace(/\$\(echo [^)]*\)|\$\w+(?=[^\w(]|$)/g, (text) => (text === '$BASE' ? text : 'x'))
  const calls = lines.matchAll(
    /(?<![\w=/])api ("[^"]+"|[^\s)]+)([^\n|]*)|\bcurl [^\n]*?"\$BASE(\/api\/v1[^"]+)"([^\n|]*)/g,
  )
  return [...calls].flatMap(([, path, options = '', url, more = '']) => {
    const address = url ?? API_BASE + (path ?? '').replaceAll('"', '')
    const given = options + more
    const method = /-X (\w+)/.exec(given)?.[1] ?? (/ -d /.test(given) ? 'POST' : 'GET')
    return address.startsWith(`${API_BASE}x`) ? [] : [[method, address]]
  })
}

describe('requests to the API', () => {
  test('are found in shell blocks, with method and address', () => {
    expect(requestsIn(`api "/comments/$COMMENT/reactions" -H "X: $BEN" -d '{"type":"like"}'`)).toEqual([
      ['POST', '/api/v1/comments/x/reactions'],
    ])
    expect(requestsIn('A=$(api "/hooks/$(echo "$HOOK" | field .id)?a=1" -X PUT | field .b)')).toEqual([
      ['PUT', '/api/v1/hooks/x?a=1'],
    ])
    expect(requestsIn('curl -sS "$BASE/api/v1/admin/me" -H "Authorization: Bearer $TOKEN"')).toEqual([
      ['GET', '/api/v1/admin/me'],
    ])
  })

  test.each(blocksOf('sh'))('of %s have a route', (_place, content) => {
    expect(requestsIn(content).flatMap(([method, address]) => wrongWith(method, address) ?? [])).toEqual([])
  })

  test.each(blocksOf('http'))('of %s have a route', (_place, content) => {
    const requests = [...content.matchAll(/^([A-Z]+) +(\S+)/gm)]
    expect(requests.flatMap(([, method = '', address = '']) => wrongWith(method, address) ?? [])).toEqual([])
    expect(requests.length).toBeGreaterThan(0)
  })

  /** Paths of the handler in a publisher's backend. */
  const ofBackend = ({ path }: Page): boolean => path === 'docs/reference/page-routes.md' || path === 'CHANGELOG.md'

  test.each(named.filter(([, page]) => !ofBackend(page)))('in the prose of %s have a route', (_path, { codes }) => {
    const requests = codes.flatMap((text) => {
      const [, method, path] = /^(GET|POST|PUT|PATCH|DELETE) (\/\S+)/.exec(text) ?? []
      if (method === undefined || path === undefined || path.startsWith('/graphql')) return []
      // Those for health checks have no prefix.
      if (wrongWith(method, path) === undefined) return []
      return wrongWith(method, path.startsWith(API_BASE) ? path : API_BASE + path) ?? []
    })
    expect(requests).toEqual([])
  })
})
