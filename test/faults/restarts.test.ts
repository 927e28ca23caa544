import { setTimeout as pause } from 'node:timers/promises'

import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { type Balancer, NGINX, startShippedNginx } from '../harness/balancers.ts'
import { BareReader } from '../harness/bare-reader.ts'
import { onServer } from '../harness/database.ts'
import type { ServiceProcess } from '../harness/processes.ts'
import { useProcesses } from '../harness/service-processes.ts'

const STREAMS = Number(process.env.RESTART_STREAMS ?? 200)
const RESTARTS = Number(process.env.RESTARTS ?? 4)
const AT_ONCE = 50
const EVENTS = 12
const EVERY_MS = 150
const missing = [!onServer && 'DATABASE_URL', NGINX === undefined && 'nginx'].filter(Boolean)
const skipped = missing.length === 0 ? '' : ` (skipped: needs ${missing.join(' and ')})`

describe.skipIf(missing.length > 0)(`two apis behind nginx${skipped}`, () => {
  const service = useProcesses({ api: 2, worker: 0, env: { TRUSTED_PROXIES: '127.0.0.0/8' } })
  let nginx: Balancer
  const readers: BareReader[] = []

  beforeAll(async () => {
    nginx = await startShippedNginx(service.apis.map(({ url }) => url))
    const stream = { maxStreams: 100_000, maxStreamsPerAddress: 100_000 }
    const body = { stream, ticket: { connectSeconds: 3600 }, rateLimit: { perSecond: 10_000, burst: 100_000 } }
    expect((await service.call('PATCH', '/settings', { body })).status).toBe(200)
  })
  afterAll(async () => {
    for (const reader of readers) reader.close()
    await nginx?.close()
  })

  /** Comments, one after the other, each at an api that takes it. Returns how many were taken. */
  async function write(discussionId: string, count: number): Promise<void> {
    const headers = await service.as(newId())
    const post = (api: ServiceProcess): Promise<{ status: number } | null> =>
      service
        .call('POST', `/discussions/${discussionId}/comments`, { body: { body: `I am ${newId()}` }, headers, api })
        .catch(() => null)
    for (let n = 0; n < count; n++) {
      for (const api of service.apis) if (api.isRunning && (await post(api))?.status === 201) break
      await pause(EVERY_MS)
    }
  }

  test(
    `${STREAMS} streams get each event once, in order, over ${RESTARTS} restarts by SIGTERM and kill -9`,
    { timeout: 600_000 },
    async () => {
      const discussionId = (await service.call('POST', '/discussions', { body: { externalId: newId() } })).json.id
      const open = async (): Promise<void> => {
        const { ticket } = (await service.call('POST', '/stream/ticket', { body: { discussionId } })).json
        const reader = new BareReader(`${nginx.url}/api/v1/stream/${discussionId}?ticket=${ticket}`)
        readers.push(reader)
        await reader.open()
      }
      while (readers.length < STREAMS) await Promise.all(Array.from({ length: AT_ONCE }, open))
      for (let n = 0; n < RESTARTS; n++) {
        const api = service.apis[Math.floor(n / 2) % 2] as ServiceProcess
        const writing = write(discussionId, EVENTS)
        await pause(EVERY_MS)
        await (n % 2 === 0 ? api.stop() : api.kill())
        await pause(EVERY_MS)
        await api.start()
        await writing
        await write(discussionId, 2)
      }
      const { lastEventId } = (await service.call('GET', `/discussions/${discussionId}`)).json
      expect(Number(lastEventId)).toBeGreaterThan(RESTARTS * EVENTS)
      const all = Array.from({ length: Number(lastEventId) }, (_, index) => index + 1)
      await vi.waitFor(() => expect(readers.filter(({ seqs }) => seqs.at(-1) !== all.length)).toHaveLength(0), {
        timeout: 60_000,
        interval: 200,
      })
      for (const { seqs } of readers) expect(seqs).toEqual(all)
    },
  )
})
