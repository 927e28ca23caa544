import type { FastifyInstance } from 'fastify'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'

import { Methods } from '../../src/api/http/methods.ts'
import { startService, type TestService } from '../harness/service.ts'

// HEAD is refused where GET opens a stream or is a step of a sign-on.
const WITHOUT = /\/stream\b|\/oidc\//

let service: TestService
/** The paths of every GET route of the server. */
let paths: string[]

beforeAll(async () => {
  const found = new Set<string>()
  const watch = Methods.prototype.watch
  const spy = vi.spyOn(Methods.prototype, 'watch').mockImplementation(function (this: Methods, scope: FastifyInstance) {
    scope.addHook('onRoute', ({ url, method }) => {
      if ([method].flat().includes('GET')) found.add(url)
    })
    return watch.call(this, scope)
  })
  service = await startService({ worker: false })
  spy.mockRestore()
  paths = [...found]
  const headers = await service.as('ann')
  await service.call('POST', '/discussions/by-external/a/comments', { body: { body: 'Text' }, headers })
})
afterAll(() => service.close())

const ask = async (method: string, path: string, accept = '*/*') => {
  const response = await fetch(service.url + path, {
    method,
    redirect: 'manual',
    headers: { 'x-api-key': service.apiKey, 'x-request-id': 'head', accept },
  })
  const { status, headers } = response
  return { status, body: await response.text(), headers: Object.fromEntries(headers) }
}

/** Headers that differ from one request to the next. */
const PASSING = [
  'content-security-policy',
  'date',
  'ratelimit-remaining',
  'ratelimit-reset',
  'transfer-encoding',
  'content-length',
  'connection',
  'keep-alive',
]

test('HEAD is answered as GET is, without a body, at every path with GET but for streams and sign-ons', async () => {
  expect(paths.length).toBeGreaterThan(80)
  const examples = [
    '/graphql?query={settings{maxDepth}}',
    '/graphql?query={nothing}',
    '/graphql?query=mutation{logout{signedOut}}',
    '/api/v1/discussions/by-external/a/comments',
    ...paths.map((path) => path.replace(/:externalId/g, 'a').replace(/:\w+/g, '0192f0c1-0000-7000-8000-000000000000')),
  ]
  const steady = (headers: Record<string, string>) =>
    Object.fromEntries(Object.entries(headers).filter(([name]) => !PASSING.includes(name)))
  for (const path of examples) {
    const head = await ask('HEAD', path)
    if (WITHOUT.test(path)) {
      expect([path, head.status]).toEqual([path, 405])
      continue
    }
    const got = await ask('GET', path)
    expect([path, head.status, head.body]).toEqual([path, got.status, ''])
    expect(steady(head.headers), path).toEqual(steady(got.headers))
  }
})

test('HEAD of a subscription is refused, and runs nothing', async () => {
  const { status } = await ask('HEAD', '/graphql?query=subscription{moderationQueueChanged{__typename}}')
  expect(status).toBe(406)
})

test('HEAD of a GraphQL query opens no stream', async () => {
  const { status } = await ask('HEAD', '/graphql?query={settings{maxDepth}}', 'text/event-stream')
  expect(status).toBe(406)
})
