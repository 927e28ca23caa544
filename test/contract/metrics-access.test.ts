import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'

import { metricsOf } from '../../src/core/telemetry/metrics.ts'
import { createHealthServer } from '../../src/api/http/health.ts'
import { createServer } from '../../src/api/http/server.ts'
import { hubOf } from '../../src/live/hub.ts'
import { METRICS_TOKEN, startService, type TestService } from '../harness/service.ts'

let service: TestService
beforeEach(async () => {
  service = await startService({ worker: false, env: { UNAUTHENTICATED_RATE_PER_SECOND: '0.1' } })
})
afterEach(async () => {
  vi.restoreAllMocks()
  await service.close()
})

const bearing = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })
const ask = (headers: Record<string, string>) => fetch(`${service.url}/metrics`, { headers })

test('GET /metrics requires METRICS_TOKEN, and limits guesses like those at credentials', async () => {
  expect((await ask(bearing(METRICS_TOKEN).headers)).status).toBe(200)
  for (const headers of [
    {},
    bearing('wrong').headers,
    bearing(`${METRICS_TOKEN}x`).headers,
    { authorization: METRICS_TOKEN },
  ]) {
    const refused = await ask(headers)
    expect(refused.status).toBe(401)
    expect(refused.headers.get('www-authenticate')).toContain('Bearer')
    expect(await refused.json()).toMatchObject({ code: 'missing_credentials' })
  }
  const guesses = await Promise.all(Array.from({ length: 250 }, () => ask(bearing('guess').headers)))
  expect(guesses.filter(({ status }) => status === 429).length).toBeGreaterThan(0)
  expect((await ask(bearing(METRICS_TOKEN).headers)).status).toBe(200)
})

test('metrics are collected once for all concurrent scrapes, and at most once a second', async () => {
  const made = vi.spyOn(metricsOf(service.app), 'metrics')
  const now = performance.now()
  const clock = vi.spyOn(performance, 'now').mockReturnValue(now)
  const scrapes = await Promise.all(Array.from({ length: 20 }, () => service.scrape()))
  expect(new Set(scrapes).size).toBe(1)
  expect(made).toHaveBeenCalledTimes(1)
  clock.mockReturnValue(now + 999)
  expect(await service.scrape()).toBe(scrapes[0])
  expect(made).toHaveBeenCalledTimes(1)
  clock.mockReturnValue(now + 1000)
  expect(await service.scrape()).not.toBe(scrapes[0])
  expect(made).toHaveBeenCalledTimes(2)
})

describe('metrics are served', () => {
  /**
   * The statuses of `/metrics` at the api's listener and at the one beside it, without a token and
   * with one.
   */
  async function statuses(settings: { METRICS_PORT?: number | undefined; METRICS_TOKEN?: string | undefined }) {
    const app = { ...service.app, settings: { ...service.app.settings, ...settings } }
    const [api, beside] = [await createServer(app), createHealthServer(app, { hasMetrics: true })]
    const statusOf = async (server: typeof api, more: object) =>
      (await server.inject({ url: '/metrics', ...more })).statusCode
    const found = {
      api: [await statusOf(api, {}), await statusOf(api, bearing(METRICS_TOKEN))],
      beside: [await statusOf(beside, {}), await statusOf(beside, bearing(METRICS_TOKEN))],
    }
    await Promise.all([api.close(), beside.close(), hubOf(app).close({ graceMs: 0 })])
    return found
  }

  test.each([
    ['neither setting: not at the api', {}, { api: [404, 404], beside: [200, 200] }],
    ['METRICS_TOKEN: at the api, for the token', { METRICS_TOKEN }, { api: [401, 200], beside: [401, 200] }],
    ['METRICS_PORT: there alone', { METRICS_PORT: 1 }, { api: [404, 404], beside: [200, 200] }],
    ['both: there, for the token', { METRICS_PORT: 1, METRICS_TOKEN }, { api: [404, 404], beside: [401, 200] }],
  ])('%s', async (_name, given, expected) => {
    expect(await statuses({ METRICS_PORT: undefined, METRICS_TOKEN: undefined, ...given })).toEqual(expected)
  })
})
