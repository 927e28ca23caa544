import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'

import { describe, expect, test, vi } from 'vitest'

import { ROOT } from '../../src/core/process/root.ts'
import { announceChange } from '../../src/core/read-cache.ts'
import { bearing, tokenFor } from '../harness/members.ts'
import { useService } from '../harness/service.ts'

const FOLDER = join(ROOT, 'dist/console')
const BUDGET_BYTES = 250_000

const service = useService({ env: { BASE_URL: 'https://example.org/engagement' } })

const get = (path: string, init?: RequestInit) => fetch(`${service.url}${path}`, { redirect: 'manual', ...init })
const page = async () => (await get('/console/')).text()
/** What the page itself asks for. */
const loaded = async () => [...(await page()).matchAll(/(?:src|href)="\.\/([^"]+)"/g)].map(([, path]) => path ?? '')

describe('GET /console/', () => {
  test.each(['/console/', '/console/webhooks/1?status=failed', '/console/nothing/here'])(
    '%s answers the one page, which nothing keeps',
    async (path) => {
      const response = await get(path)
      expect(response.status).toBe(200)
      expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
      expect(response.headers.get('cache-control')).toBe('no-store')
      expect(response.headers.get('referrer-policy')).toBe('no-referrer')
      expect(await response.text()).toContain('<div id="console">')
    },
  )

  test('allows no inline script, no other sites, no framing, and styles by a nonce of this answer', async () => {
    const [first, second] = await Promise.all([get('/console/'), get('/console/')])
    const policy = first.headers.get('content-security-policy') ?? ''
    const nonce = /'nonce-([\w-]{22})'/.exec(policy)?.[1] ?? ''
    expect(policy.replace(nonce, '…').split('; ')).toEqual([
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self' 'nonce-…'",
      "img-src 'self' data:",
      "connect-src 'self'",
      "base-uri 'self'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ])
    const text = await first.text()
    expect(text).toContain(`nonce="${nonce}"`)
    expect(text).not.toContain('{nonce}')
    expect(text.replaceAll(/<script[^>]* src="[^"]+"[^>]*><\/script>/g, '')).not.toMatch(
      /<script|<style| style=| on\w+=/,
    )
    expect(second.headers.get('content-security-policy')).not.toBe(policy)
  })

  test('says whether a tenant has a single sign-on, at once after each change', async () => {
    const headers = bearing(await tokenFor(service, service.admin))
    const set = (oidc: object | null) => service.call('PATCH', '/settings', { headers, body: { staff: { oidc } } })
    const provider = { issuer: 'https://id.example', clientId: 'c', clientSecret: 's', emailDomains: ['example.com'] }
    expect(await page()).toContain('data-sign-on="none"')
    expect((await set(provider)).status).toBe(200)
    expect(await page()).toContain('data-sign-on="offered"')
    expect((await set(null)).status).toBe(200)
    expect(await page()).toContain('data-sign-on="none"')
  })

  test('is served where the database does not answer', async () => {
    const read = vi.spyOn(service.app.prisma.oidcSecret, 'findFirst').mockRejectedValue(new Error('away'))
    announceChange(service.app, { kind: 'tenant', tenantId: service.tenant.id })
    expect(await page()).toContain('data-sign-on="offered"')
    read.mockRestore()
  })

  test('knows the path that a proxy adds', async () => {
    expect(await page()).toContain('<base href="/engagement/console/"')
    const response = await get('/console')
    expect([response.status, response.headers.get('location')]).toEqual([308, '/engagement/console/'])
    const root = await get('/')
    expect([root.status, root.headers.get('location')]).toEqual([302, '/engagement/console/'])
  })

  test('has files named by their content, which are cached for good', async () => {
    const paths = await loaded()
    expect(paths.length).toBeGreaterThanOrEqual(3)
    for (const path of paths.filter((each) => each.startsWith('assets/'))) {
      const response = await get(`/console/${path}`)
      expect(response.status, path).toBe(200)
      expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
      expect(response.headers.get('content-encoding')).toBe('gzip')
      expect(response.headers.get('x-content-type-options')).toBe('nosniff')
      const bytes = Buffer.from(await response.arrayBuffer())
      expect(bytes.equals(readFileSync(join(FOLDER, path)))).toBe(true)
      const known = await get(`/console/${path}`, { headers: { 'if-none-match': response.headers.get('etag') ?? '' } })
      expect(known.status).toBe(304)
    }
  })

  test.each([
    'assets/index-00000000.js',
    'assets/../index.html',
    'assets/..%2f..%2fmain.js',
    'assets/%2e%2e/%2e%2e/main.js',
  ])('GET /console/%s is 404, or the page: no other file is read', async (path) => {
    const response = await get(`/console/${path}`)
    const text = await response.text()
    if (response.status === 200) expect(text).toContain('<div id="console">')
    else expect([response.status, JSON.parse(text).code]).toEqual([404, 'not_found'])
  })

  test('POST /console/ answers 405 method_not_allowed', async () => {
    const response = await get('/console/', { method: 'POST' })
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET'])
  })
})

describe('the styles of the library', () => {
  const read = (path: string) => readFileSync(join(FOLDER, path), 'utf8')
  const classesIn = (text: string) => new Set(text.match(/\bm_[\da-f]{6,8}\b/g))
  const parts = Object.values<{ file: string; css?: string[] }>(JSON.parse(read('manifest.json')))
  const filesOf = (end: string) =>
    [...new Set(parts.flatMap(({ file, css = [] }) => [file, ...css]))].filter((each) => each.endsWith(end))
  const textOf = (end: string) => filesOf(end).map(read).join('\n')
  const ofLibrary = (name: string) => readFileSync(join(ROOT, 'node_modules/@mantine/core', name), 'utf8')
  const inScripts = classesIn(textOf('.js'))

  test('are those of all components that a page has', () => {
    const [all, here] = [classesIn(ofLibrary('styles.css')), classesIn(textOf('.css'))]
    const wanted = [...inScripts].filter((name) => all.has(name))
    expect(wanted.length).toBeGreaterThan(200)
    expect(wanted.filter((name) => !here.has(name))).toEqual([])
  })

  test('are no others, in the order of the library', () => {
    const imports = readFileSync(join(ROOT, 'src/console/library.css'), 'utf8')
    const names = [...imports.matchAll(/core\/(styles\/\w[\w-]*\.css)/g)].map(([, name = '']) => name)
    const isUnused = (name: string) => {
      const classes = classesIn(ofLibrary(name))
      return classes.size > 0 && [...classes].every((each) => !inScripts.has(each))
    }
    expect(names.filter(isUnused)).toEqual([])
    const places = names.map((name) => ofLibrary('styles.css').indexOf(ofLibrary(name).trim()))
    expect(places[0]).toBe(0)
    expect(places).toEqual(places.toSorted((a, b) => a - b))
  })
})

describe('the budget', () => {
  const gzipped = (path: string) => gzipSync(readFileSync(join(FOLDER, path)), { level: 9 }).length

  test(`a browser loads before the first page at most ${BUDGET_BYTES} bytes gzipped`, async () => {
    const bytes = (await loaded()).reduce((sum, path) => sum + gzipped(path), 0)
    expect(bytes).toBeGreaterThan(50_000)
    expect(bytes).toBeLessThanOrEqual(BUDGET_BYTES)
  })

  test('no file evaluates text as code', () => {
    const scripts = readdirSync(join(FOLDER, 'assets')).filter((name) => name.endsWith('.js'))
    const guilty = scripts.filter((name) =>
      /\beval\(|new Function\(/.test(readFileSync(join(FOLDER, 'assets', name), 'utf8')),
    )
    expect(guilty).toEqual([])
  })
})
