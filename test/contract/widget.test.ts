import { gunzipSync } from 'node:zlib'
import { request } from 'node:http'

import { expect, test } from 'vitest'

import { useService } from '../harness/service.ts'

/** Those with a file of their own: all but English. */
const LANGUAGES = ['ar', 'de', 'es', 'fr', 'it', 'ja', 'nl', 'pl', 'pt']

const service = useService()

interface Raw {
  status: number
  headers: Record<string, unknown>
  bytes: Buffer
}

/** As it comes over the wire: `fetch` would decompress it. */
const get = (path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Raw> =>
  new Promise((resolve, reject) => {
    request(service.url + path, { method, headers }, (response) => {
      response.toArray().then((chunks) => {
        resolve({ status: response.statusCode ?? 0, headers: response.headers, bytes: Buffer.concat(chunks) })
      }, reject)
    })
      .on('error', reject)
      .end()
  })

/** The first files and all that they load, with what those load. */
async function filesOf(...paths: string[]): Promise<string[]> {
  const found = new Set(paths)
  for (const path of found) {
    const text = (await get(path)).bytes.toString()
    for (const [, further = ''] of text.matchAll(/["'`]\.(\/[\w.-]+\.js)["'`]/g)) found.add(further)
  }
  return [...found]
}

test('GET /widget.js and /lists.js, and all that they load, need no credentials and may be loaded by the pages of every site', async () => {
  const files = await filesOf('/widget.js', '/lists.js')
  const languages = LANGUAGES.flatMap((language) => [`/lists.${language}.*.js`, `/widget.${language}.*.js`])
  const named = [
    ...languages,
    '/lists.js',
    '/lists.site.*.js',
    '/lists.warnings.*.js',
    '/widget.first-by-parts.*.js',
    '/widget.format.*.js',
    '/widget.guest.*.js',
    '/widget.history.*.js',
    '/widget.inbox.*.js',
    '/widget.js',
    '/widget.live.*.js',
    '/widget.names.*.js',
    '/widget.own-list.*.js',
    '/widget.reveal.*.js',
    '/widget.scroll.*.js',
    '/widget.stream.*.js',
    '/widget.take-over.*.js',
    '/widget.site.*.js',
    '/widget.warnings.*.js',
    '/widget.writing.*.js',
  ]
  expect(files.map((path) => path.replace(/\.[\da-f]{8}\./, '.*.')).toSorted()).toEqual(named.toSorted())
  for (const path of files) {
    const { status, headers } = await get(path, { origin: 'https://www.example.com' })
    expect(status).toBe(200)
    const isFirst = /^\/\w+\.js$/.test(path)
    expect(headers).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'access-control-allow-origin': '*',
      'cross-origin-resource-policy': 'cross-origin',
      'cache-control': isFirst
        ? 'public, max-age=300, stale-while-revalidate=3600'
        : 'public, max-age=31536000, immutable',
      'x-content-type-options': 'nosniff',
      vary: 'Accept-Encoding',
    })
  }
})

test('the further files of another build are 404, which nothing keeps, but for languages and sites', async () => {
  for (const path of ['/widget.writing.00000000.js', '/widget.writing.js', '/widget.nothing.js', '/lists.x']) {
    const { status, headers } = await get(path)
    expect([path, status, headers['cache-control']]).toEqual([path, 404, 'private, no-store'])
  }
  const files = await filesOf('/widget.js')
  for (const language of [...LANGUAGES, 'site']) {
    const file = files.find((path) => path.includes(`.${language}.`))
    for (const path of [`/widget.${language}.00000000.js`, `/widget.${language}.js`]) {
      const { status, headers } = await get(path)
      expect([path, status, headers['cache-control']]).toEqual([path, 307, 'private, no-store'])
      expect([headers.location, headers['access-control-allow-origin']]).toEqual([file?.slice(1), '*'])
    }
  }
})

test('GET /widget.js is compressed for clients that accept it, the same text, and not sent again to a client that has it', async () => {
  const [plain, zipped] = [await get('/widget.js'), await get('/widget.js', { 'accept-encoding': 'br, gzip' })]
  const refused = await get('/widget.js', { 'accept-encoding': 'gzip;q=0, *' })
  expect([plain, zipped, refused].map(({ headers }) => headers['content-encoding'])).toEqual([
    undefined,
    'gzip',
    undefined,
  ])
  expect(gunzipSync(zipped.bytes)).toEqual(plain.bytes)
  // What a page loads before its first comment.
  expect(zipped.bytes.length).toBeLessThanOrEqual(15 * 1024)
  const etag = String(zipped.headers.etag)
  expect(etag).not.toBe(plain.headers.etag)
  const known = await get('/widget.js', { 'accept-encoding': 'gzip', 'if-none-match': etag })
  expect([known.status, known.bytes.length, known.headers['access-control-allow-origin']]).toEqual([304, 0, '*'])
})

test('HEAD /widget.js answers, and POST is 405', async () => {
  expect((await get('/widget.js', {}, 'HEAD')).status).toBe(200)
  const refused = await get('/widget.js', {}, 'POST')
  expect([refused.status, refused.headers.allow]).toEqual([405, 'GET'])
})

test('the widget is at most 15 KB compressed', async () => {
  const { bytes } = await get('/widget.js', { 'accept-encoding': 'gzip' })
  expect(bytes.length).toBeLessThanOrEqual(15 * 1024)
})

test('the widget does nothing that a strict policy forbids', async () => {
  for (const path of await filesOf('/widget.js', '/lists.js')) {
    const text = (await get(path)).bytes.toString()
    expect(text).not.toMatch(/\beval\(|new Function|\sstyle=|<style|<script|javascript:|\son\w+=/)
    // It contacts no third party either.
    expect(text.match(/https?:\/\/[\w.]+/g)).toBeNull()
  }
})
