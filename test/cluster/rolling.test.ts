import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'

import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'

import { type Balancer, HAPROXY, NGINX, startHaproxy, startShippedNginx } from '../harness/balancers.ts'
import { onServer } from '../harness/database.ts'
import { type Processes, startProcesses } from '../harness/processes.ts'

const LONG = 120_000
/** 10 000 take some 20 s. */
const REQUESTS = Number(process.env.ROLLING_REQUESTS ?? 2000)

const BALANCERS: readonly [string, string | undefined, (urls: readonly string[]) => Promise<Balancer>][] = [
  ['nginx', NGINX, startShippedNginx],
  ['HAProxy', HAPROXY, startHaproxy],
]

describe.skipIf(!onServer)(`a rolling restart of three apis${onServer ? '' : ' (skipped: needs DATABASE_URL)'}`, () => {
  let service: Processes

  beforeAll(async () => {
    service = await startProcesses({ api: 3, worker: 0, env: { DRAIN_SECONDS: '1' } })
    const body = { rateLimit: { perSecond: 10_000, burst: 100_000 } }
    expect((await service.call('PATCH', '/settings', { body })).status).toBe(200)
  }, LONG)
  afterAll(() => service.close())

  test.for(BALANCERS)('fails no request behind %s', { timeout: LONG }, async ([, program, start], { skip }) => {
    skip(program === undefined, 'it is not installed')
    const balancer = await start(service.apis.map(({ url }) => url))
    const statuses: Record<string, number> = {}
    let isOver = false
    const request = async (): Promise<number | string> => {
      const isWrite = Math.random() < 0.5
      const response = await fetch(`${balancer.url}/api/v1/discussions`, {
        headers: { 'x-api-key': service.apiKey, 'content-type': 'application/json' },
        ...(isWrite && { method: 'POST', body: JSON.stringify({ externalId: randomBytes(8).toString('hex') }) }),
      })
      await response.arrayBuffer()
      return response.status
    }
    let asked = 0
    let errors = ''
    const clients = Array.from({ length: 12 }, async () => {
      while (!isOver || asked < REQUESTS) {
        asked++
        const status = await request().catch((error: Error) => error.message)
        statuses[status] = (statuses[status] ?? 0) + 1
      }
    })
    try {
      for (const api of service.apis) {
        const stopped = api.stop()
        await vi.waitFor(async () => expect((await fetch(`${api.url}/readyz`)).status).toBe(503), {
          timeout: 5000,
          interval: 20,
        })
        await stopped
        await api.start()
        // nginx comes back to it after its fail_timeout, HAProxy after its next check.
        await pause(1500)
      }
    } finally {
      isOver = true
      await Promise.all(clients)
      await balancer.close()
    }
    expect(
      Object.keys(statuses).toSorted((one, other) => one.localeCompare(other)),
      errors,
    ).toEqual(['200', '201'])
  })
})
