import { setTimeout as pause } from 'node:timers/promises'

import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { onServer } from '../harness/database.ts'
import { first, last, type Processes, startProcesses } from '../harness/processes.ts'
import { type Proxy, startProxy } from '../harness/proxy.ts'
import { listen, type SourceListener } from '../harness/sse.ts'

const REDIS_URL = process.env.REDIS_URL ?? ''
const hasServers = onServer && REDIS_URL !== ''
const DISCUSSIONS = 12
const READERS = 6
const ROUNDS = 6
const WAIT = { timeout: 60_000, interval: 100 }

describe.skipIf(!hasServers)(
  `a stream of several discussions${hasServers ? '' : ' (skipped: needs DATABASE_URL and REDIS_URL)'}`,
  () => {
    let proxy: Proxy
    let service: Processes
    const readers: SourceListener[] = []

    beforeAll(async () => {
      const url = new URL(REDIS_URL)
      proxy = await startProxy({ host: url.hostname, port: Number(url.port || 6379) })
      url.host = `127.0.0.1:${proxy.port}`
      service = await startProcesses({ api: 2, worker: 0, env: { REDIS_URL: url.href } })
      const body = { ticket: { connectSeconds: 3600 }, rateLimit: { perSecond: 10_000, burst: 100_000 } }
      expect((await service.call('PATCH', '/settings', { body })).status).toBe(200)
    })
    afterAll(async () => {
      for (const reader of readers) reader.close()
      await service?.close()
      await proxy?.close()
    })

    test(
      'gets each event of each discussion once, in order, over kill -9 of its process and without Redis',
      { timeout: 600_000 },
      async () => {
        const externalIds = Array.from({ length: DISCUSSIONS }, newId)
        const mint = async (pages: readonly string[]) =>
          (await service.call('POST', '/stream/ticket', { body: { externalIds: pages } })).json
        const whole = await mint(externalIds)
        const ids = whole.discussions.map(({ discussionId }: { discussionId: string }) => discussionId) as string[]
        const pagesOf: (readonly string[])[] = []
        for (let n = 0; n < READERS; n++) {
          // Some follow all discussions, others a part of them.
          const pages = n % 2 === 0 ? externalIds : externalIds.slice(n, n + 5)
          const { ticket, lastEventId, discussions } = await mint(pages)
          const { url } = n % 3 === 0 ? first(service.apis) : last(service.apis)
          readers.push(await listen(`${url}/api/v1/stream?ticket=${ticket}&lastEventId=${lastEventId}`))
          pagesOf.push(discussions.map(({ discussionId }: { discussionId: string }) => discussionId))
        }
        const headers = await service.as('writer')
        let written = 0
        const write = async (count: number): Promise<void> => {
          for (let n = 0; n < count; n++) {
            const path = `/discussions/${ids[written++ % ids.length]}/comments`
            for (const api of service.apis) {
              if (!api.isRunning) continue
              const posted = await service
                .call('POST', path, { body: { body: `I am ${newId()}` }, headers, api })
                .catch(() => null)
              if (posted?.status === 201) break
            }
          }
        }
        for (let n = 0; n < ROUNDS; n++) {
          const writing = write(40)
          await pause(100)
          const killed = n % 2 === 0 ? first(service.apis) : last(service.apis)
          if (n % 3 === 0) await proxy.down()
          await killed.kill()
          await pause(200)
          await proxy.up()
          await killed.start()
          await writing
          await write(12)
        }
        const heads = new Map<string, number>()
        for (const id of ids) heads.set(id, Number((await service.call('GET', `/discussions/${id}`)).json.lastEventId))
        for (const [n, reader] of readers.entries()) {
          const got = (id: string): number[] =>
            reader.received.flatMap(({ data }) => {
              const event = JSON.parse(data) as { discussionId: string; seq: number }
              return event.discussionId === id ? [event.seq] : []
            })
          for (const id of pagesOf[n] ?? []) {
            const all = Array.from({ length: heads.get(id) ?? 0 }, (_, index) => index + 1)
            expect(all.length).toBeGreaterThan(0)
            await vi.waitFor(() => expect(got(id), `reader ${n}: ${reader.refusal}`).toEqual(all), WAIT)
          }
          expect(reader.losses).toBeGreaterThan(0)
        }
      },
    )
  },
)
