import { setTimeout as pause } from 'node:timers/promises'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { onServer } from '../harness/database.ts'
import { first, last, type Processes, startProcesses } from '../harness/processes.ts'

const LONG = 120_000
/** What a loaded machine may add: the promise is 1 s with the bus, 5 s without. */
const SLACK_MS = 1500

const skipped = onServer ? '' : ' (skipped: needs DATABASE_URL)'

describe.skipIf(!onServer).each([
  ['with the bus, within 1 s', {}, 1000],
  ['without it, within 5 s', { REDIS_URL: undefined }, 5000],
])(`what was ended at one process is refused by another, %s${skipped}`, (_name, env, withinMs) => {
  let service: Processes

  beforeAll(async () => {
    service = await startProcesses({ api: 2, worker: 0, env })
  }, LONG)
  afterAll(() => service.close())

  test('an identity secret, also for an assertion that the other process has taken', { timeout: LONG }, async () => {
    const [here, there] = [first(service.apis), last(service.apis)]
    const headers = await service.as('ann')
    const ask = async () => (await service.call('GET', '/readers/me', { headers, api: there })).status
    expect(await ask()).toBe(200)
    const { data } = (await service.call('GET', '/identity-secrets')).json
    expect((await service.call('DELETE', `/identity-secrets/${data[0].kid}`, { api: here })).status).toBe(204)
    const endedAt = performance.now()
    while ((await ask()) !== 401) {
      expect(performance.now() - endedAt).toBeLessThan(withinMs + SLACK_MS)
      await pause(20)
    }
  })
})
