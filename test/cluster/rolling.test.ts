import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'

import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'

import { type Balancer, HAPROXY, NGINX, startHaproxy, startShippedNginx } from '../harness/balancers.ts'
import { onServer } from '../harness/database.ts'
import { type Processes, startProcesses } from '../harness/processes.ts'
import { openStream } from '../harness/stream-client.ts'

/** 10 000 take some 20 s. */
const REQUESTS = Number(process.env.ROLLING_REQUESTS ?? 2000)

const BALANCERS: readonly [string, string | undefined, (urls: readonly string[]) => Promise<Balancer>][] = [
  ['nginx', NGINX, startShippedNginx],
  ['HAProxy', HAPROXY, startHaproxy],
]
/** One restart is enough for all of them. */
const found = BALANCERS.filter(([, program]) => program !== undefined)
const names = found.map(([name]) => name).join(' and ')
const skipped = onServer ? '' : ' (skipped: needs DATABASE_URL)'

/** Open at each balancer, so that connections with a stream end beside those of requests. */
const STREAMS = 20

/** What leaves the service little of the processors. */
function startBusyProcesses(count: number): () => void {
  const loop = ['-e', 'for (;;) Math.random()']
  const children = Array.from({ length: count }, () => spawn(process.execPath, loop, { stdio: 'ignore' }))
  return () => children.forEach((child) => child.kill('SIGKILL'))
}

// Longer than nginx keeps an idle connection; beside busy processes the defaults.
describe.skipIf(!onServer || found.length === 0).each([
  ['', 0, { DRAIN_SECONDS: '1.5' }],
  [' beside eight busy processes', 8, { DRAIN_SECONDS: '5', SHUTDOWN_GRACE_SECONDS: '10' }],
])(`a rolling restart of three apis%s${skipped}`, (_name, busyProcesses, env) => {
  let service: Processes
  let relieve = (): void => undefined

  beforeAll(async () => {
    service = await startProcesses({ api: 3, worker: 0, env })
    relieve = startBusyProcesses(busyProcesses)
    const body = { rateLimit: { perSecond: 10_000, burst: 100_000 } }
    expect((await service.call('PATCH', '/settings', { body })).status).toBe(200)
  })
  afterAll(async () => {
    relieve()
    await service.close()
  })

  test(`fails no request behind ${names}`, async () => {
    const balancers = await Promise.all(found.map(([, , start]) => start(service.apis.map(({ url }) => url))))
    const { id } = (await service.call('POST', '/discussions', { body: { externalId: 'streams' } })).json
    const streams = balancers.flatMap(({ url }) =>
      Array.from({ length: STREAMS }, () => openStream(`${url}/api/v1/stream/${id}`, { 'x-api-key': service.apiKey })),
    )
    let isOver = false
    const ask = async (url: string): Promise<number | string> => {
      const isWrite = Math.random() < 0.5
      const response = await fetch(`${url}/api/v1/discussions`, {
        headers: { 'x-api-key': service.apiKey, 'content-type': 'application/json' },
        ...(isWrite && { method: 'POST', body: JSON.stringify({ externalId: randomBytes(8).toString('hex') }) }),
      })
      await response.arrayBuffer()
      return response.status
    }
    /** How requests end at a balancer, from many clients. */
    const load = async ({ url }: Balancer): Promise<Set<number | string>> => {
      const endings = new Set<number | string>()
      let asked = 0
      const clients = Array.from({ length: 12 / found.length }, async () => {
        while (!isOver || asked < REQUESTS) {
          asked++
          endings.add(await ask(url).catch((error: Error) => error.message))
        }
      })
      await Promise.all(clients)
      return endings
    }
    const loads = balancers.map(load)
    let errors: string[] = []
    try {
      for (const api of service.apis) {
        const stopped = api.stop()
        await vi.waitFor(async () => expect((await fetch(`${api.url}/readyz`)).status).toBe(503), {
          timeout: 10_000,
          interval: 20,
        })
        await stopped
        await api.start()
        // nginx comes back to it after its fail_timeout, HAProxy after its next check.
        await pause(1500)
      }
    } finally {
      isOver = true
      await Promise.all(loads)
      for (const stream of await Promise.all(streams)) stream.close()
      errors = balancers.map((balancer) => balancer.errors())
      await Promise.all(balancers.map((balancer) => balancer.close()))
    }
    for (const [index, [name]] of found.entries()) {
      expect([name, await loads[index]], errors[index]).toEqual([name, new Set([200, 201])])
    }
  })
})
