import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { type Balancer, NGINX, startCachingNginx } from '../harness/balancers.ts'
import { useService } from '../harness/service.ts'

const skipped = NGINX === undefined ? ' (skipped: there is no nginx here)' : ''
const PAGE = `query ($page: String!) { discussion(by: { externalId: $page }) { comments {
  nodes { id body viewerReaction }
} } }`

const SITES = ['https://one.example', 'https://other.example']

interface Answer {
  status: number
  /** What nginx did: MISS, HIT, EXPIRED, REVALIDATED. */
  cache: string | null
  headers: Headers
  text: string
}

/** The address of a page over each interface. */
const PATHS: Readonly<Record<string, (page: string) => string>> = {
  REST: (page) => `/api/v1/discussions/by-external/${page}/comments`,
  GraphQL: (page) => `/graphql?documentId=page&variables=${encodeURIComponent(JSON.stringify({ page }))}`,
}

describe.skipIf(NGINX === undefined)(`pages that nginx keeps${skipped}`, () => {
  const service = useService()
  /** It keeps a page for as long as the tests take, however slow the machine is. */
  let nginx: Balancer
  let plain: Record<string, string>

  beforeAll(async () => {
    nginx = await startCachingNginx(service.url, (config) => config.replace('valid 200 1s', 'valid 200 1h'))
    await service.call('POST', '/documents', { body: { manifest: { page: PAGE } } })
    await service.call('PATCH', '/settings', { body: { allowedOrigins: SITES } })
    const { json } = await service.call('POST', '/keys', { body: { label: 'plain', capabilities: [] } })
    plain = { 'x-api-key': json.key as string }
  })
  afterAll(async () => {
    await nginx?.close()
  })

  async function read(path: string, given: Record<string, string> = {}, from = nginx): Promise<Answer> {
    const headers = { 'x-api-key': service.apiKey, accept: 'application/json', ...given }
    const response = await fetch(from.url + path, {
      headers: Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== '')),
    })
    const { status, headers: answered } = response
    return { status, cache: answered.get('x-cache'), headers: answered, text: await response.text() }
  }

  async function post(page: string, body: string): Promise<string> {
    const headers = await service.as('ann')
    return (await service.ok('POST', `/discussions/by-external/${page}/comments`, { body }, headers)).id
  }

  describe.each(Object.entries(PATHS))('over %s', (name, pathOf) => {
    test('a page is read once, and then kept', async () => {
      const page = newId()
      await post(page, 'Hello')
      const first = await read(pathOf(page))
      const second = await read(pathOf(page))
      expect([first.status, first.cache, second.status, second.cache]).toEqual([200, 'MISS', 200, 'HIT'])
      expect(second.text).toBe(first.text)
    })

    test('a page that nginx has kept for a second is confirmed by its ETag, and read again once it has changed', async () => {
      const page = newId()
      await post(page, 'Hello')
      const brief = await startCachingNginx(service.url)
      onTestFinished(() => brief.close())
      const first = await read(pathOf(page), {}, brief)
      await vi.waitFor(async () => expect((await read(pathOf(page), {}, brief)).cache).toBe('REVALIDATED'))
      await post(page, 'New')
      const changed = await vi.waitFor(async () => {
        const answer = await read(pathOf(page), {}, brief)
        expect(answer.text).toContain('New')
        return answer
      })
      expect(changed.cache).toBe('EXPIRED')
      expect(changed.headers.get('etag')).not.toBe(first.headers.get('etag'))
    })

    test('a client that has it gets 304 from nginx', async () => {
      const page = newId()
      await post(page, 'Hello')
      const { headers } = await read(pathOf(page))
      const again = await read(pathOf(page), { 'if-none-match': headers.get('etag') ?? '' })
      expect([again.status, again.cache, again.text]).toEqual([304, 'HIT', ''])
      expect(again.headers.get('cache-control')).toBe('private, no-cache')
    })

    test('each key, reader, token and origin has its own', async () => {
      const page = newId()
      const id = await post(page, 'Hello')
      const bob = await service.as('bob')
      await service.call('PUT', `/comments/${id}/reaction`, { body: { type: 'like' }, headers: bob })
      const tokens = await Promise.all(
        [{}, {}, bob].map(async (headers) => {
          const { json } = await service.call('POST', '/client-tokens', { body: { externalIds: [page] }, headers })
          return { authorization: `Bearer ${json.token as string}`, 'x-api-key': '' }
        }),
      )
      const callers = [
        {},
        plain,
        bob,
        await service.as('eve'),
        // REST takes no client tokens, and has no headers of CORS.
        ...(name === 'REST' ? [] : [...tokens, ...SITES.map((origin) => ({ ...tokens[0], origin }))]),
      ]
      const all: Answer[] = []
      for (const caller of callers) all.push(await read(pathOf(page), caller))
      expect(all.map(({ status, cache }) => [status, cache])).toEqual(callers.map(() => [200, 'MISS']))
      const isBobs = (caller: object): boolean => caller === bob || caller === tokens[2]
      for (const [n, caller] of callers.entries()) {
        const again = await read(pathOf(page), caller)
        expect([again.cache, again.text]).toEqual(['HIT', all[n]?.text])
        expect(again.text).toContain(`"viewerReaction":${isBobs(caller) ? '"like"' : 'null'}`)
        const origin = 'origin' in caller ? caller.origin : null
        expect(again.headers.get('access-control-allow-origin')).toBe(origin)
      }
    })

    test('refusals are not kept', async () => {
      const page = newId()
      const ask = async (given: Record<string, string>): Promise<void> => {
        const answers = [await read(pathOf(page), given), await read(pathOf(page), given)]
        expect(answers.map(({ cache }) => cache)).toEqual(['MISS', 'MISS'])
        for (const { headers, text } of answers) {
          expect([headers.get('etag'), headers.get('cache-control')]).toEqual([null, 'private, no-store'])
          expect(text).toContain('"code":')
        }
      }
      // There is no such page yet; then there is, for those who may read it.
      await ask({})
      await post(page, 'Hello')
      await ask({ 'x-api-key': '' })
      await ask({ 'x-api-key': `ek_${'0'.repeat(64)}` })
      await ask({ 'x-service-identity': 'forged' })
      expect(await read(pathOf(page))).toMatchObject({ status: 200, cache: 'MISS' })
    })

    test('nginx keeps none of them unless it is told to ignore that they are private', async () => {
      const other = await startCachingNginx(service.url, (config) => config.replace(/proxy_ignore_headers .*;/, ''))
      onTestFinished(() => other.close())
      const page = newId()
      await post(page, 'Hello')
      const answers = [await read(pathOf(page), {}, other), await read(pathOf(page), {}, other)]
      expect(answers.map(({ status, cache }) => [status, cache])).toEqual([
        [200, 'MISS'],
        [200, 'MISS'],
      ])
    })
  })

  test('what comes by POST is neither kept nor answered from what is kept', async () => {
    const page = newId()
    await post(page, 'Hello')
    await read((PATHS.GraphQL as (page: string) => string)(page))
    for (let n = 0; n < 2; n++) {
      const answer = await fetch(`${nginx.url}/graphql`, {
        method: 'POST',
        headers: { 'x-api-key': service.apiKey, 'content-type': 'application/json' },
        body: JSON.stringify({ documentId: 'page', variables: { page } }),
      })
      expect([answer.status, answer.headers.get('x-cache')]).toEqual([200, null])
      await answer.text()
    }
  })
})
