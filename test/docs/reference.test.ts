import { execFile } from 'node:child_process'
import { accessSync, constants, mkdtempSync, rmSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { tmpdir } from 'node:os'
import { promisify } from 'node:util'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { startService, type TestService } from '../harness/service.ts'

let service: TestService

beforeAll(async () => {
  service = await startService({ worker: false })
})
afterAll(() => service.close())

/** The first browser on the path that can be driven; undefined where there is none. */
const BROWSER = (process.env.PATH ?? '')
  .split(delimiter)
  .flatMap((folder) => ['chromium', 'chromium-browser', 'google-chrome'].map((name) => join(folder, name)))
  .find((file) => {
    try {
      accessSync(file, constants.X_OK)
      return true
    } catch {
      return false
    }
  })

const get = (path: string) => fetch(service.url + path)

/** The status of an answer, once all of it has come: its connection is free then. */
async function statusOf(path: string, init?: RequestInit): Promise<number> {
  const answer = await fetch(service.url + path, init)
  await answer.arrayBuffer()
  return answer.status
}

test('GET /docs is a page that can load, contact and be framed by nothing but itself', async () => {
  const page = await get('/docs')
  expect(page.headers.get('content-type')).toMatch(/^text\/html/)
  const policy = page.headers.get('content-security-policy') ?? ''
  expect(policy).toContain("default-src 'none'")
  expect(policy).not.toMatch(/unsafe-eval|https?:|\*|script-src[^;]*unsafe/)
  const html = await page.text()
  expect(html).not.toMatch(/https?:\/\//)
  // The policy forbids scripts and handlers in the page itself.
  expect(html).not.toMatch(/<script(?![^>]*\bsrc=)|\bon\w+=/)
  const links = [...html.matchAll(/(?:src|href)="(?!data:)([^"]+)"/g)].map(([, link]) => link ?? '')
  expect(links).toContain('api/v1/openapi.json')
  for (const link of links) expect(await statusOf(`/${link}`), link).toBe(200)
})

test.each(['openapi.json', 'asyncapi.json'])(
  'GET /%s redirects to the document, below any path of a proxy',
  async (name) => {
    const answer = await fetch(`${service.url}/${name}`, { redirect: 'manual' })
    expect([answer.status, answer.headers.get('location')]).toEqual([308, `./api/v1/${name}`])
    expect(await statusOf(`/${name}`)).toBe(200)
  },
)

test('its script is served from here, and is not sent again to a client that has it', async () => {
  const first = await get('/docs/scalar.js')
  expect([first.status, first.headers.get('content-encoding')]).toEqual([200, 'gzip'])
  expect((await first.text()).length).toBeGreaterThan(1_000_000)
  const etag = first.headers.get('etag') ?? ''
  expect(await statusOf('/docs/scalar.js', { headers: { 'if-none-match': etag } })).toBe(304)
})

test.skipIf(BROWSER === undefined)(
  'a browser (skipped where there is no Chromium) shows every group of operations without a policy violation',
  async () => {
    const profile = mkdtempSync(join(tmpdir(), 'engagement-docs-'))
    try {
      const { stdout, stderr } = await promisify(execFile)(
        BROWSER ?? '',
        [
          '--headless',
          '--no-sandbox',
          '--disable-gpu',
          `--user-data-dir=${profile}`,
          // All hosts other than this service resolve to nothing.
          '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
          '--virtual-time-budget=20000',
          '--enable-logging=stderr',
          '--dump-dom',
          `${service.url}/docs#description/introduction`,
        ],
        { maxBuffer: 32 * 1024 * 1024, timeout: 100_000 },
      )
      for (const text of ['Authentication', '/api/v1/discussions', 'moderation', 'webhooks', 'Engagement Service'])
        expect(stdout).toContain(text)
      const said = stderr.split('\n').filter((line) => line.includes('CONSOLE'))
      const bad = /:(WARNING|ERROR):|Refused|violates|Content Security Policy|ERR_|Failed to load/
      expect(said.filter((line) => bad.test(line))).toEqual([])
      expect(said.length).toBeGreaterThan(0)
    } finally {
      rmSync(profile, { recursive: true, force: true })
    }
  },
  120_000,
)
