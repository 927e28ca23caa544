import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'

import { startWorker } from '../../src/worker/worker.ts'
import { effort } from '../harness/effort.ts'
import { type Processes, startProcesses } from '../harness/processes.ts'
import { type Received, type Receiver, reply, startReceiver } from '../harness/receiver.ts'
import { startService, type TestService } from '../harness/service.ts'

let receiver: Receiver

const WAIT = { timeout: 90_000, interval: 50 }
const PAGES = ['page-a', 'page-b', 'page-c', 'page-d']
const COMMENTS = effort(25, 12)
const POSTED_FOR_A_KILL = 4

beforeAll(async () => {
  receiver = await startReceiver()
})
afterAll(() => receiver.close())

type Caller = Pick<TestService, 'call' | 'as'>

async function register({ call }: Caller, path: string, policy: object): Promise<string> {
  const { json } = await call('POST', '/webhooks', { body: { url: receiver.url + path, policy } })
  await vi.waitFor(async () => expect((await call('GET', `/webhooks/${json.id}`)).json.state).toBe('verified'), WAIT)
  return json.id
}

/** Posts comments to each page, all pages at once. */
async function post({ call, as }: Caller, pages = PAGES, count = COMMENTS): Promise<void> {
  const headers = await as('reader-1')
  for (let n = 0; n < count; n++) {
    const answers = pages.map((page) =>
      call('POST', `/discussions/by-external/${page}/comments`, { body: { body: `comment ${n} of ${page}` }, headers }),
    )
    for (const { status } of await Promise.all(answers)) expect(status).toBe(201)
  }
}

/** The numbers of the events of each discussion, in the order in which they have come. */
function seqsOf(requests: readonly Received[]): Map<string, number[]> {
  const seqs = new Map<string, number[]>()
  for (const { body } of requests) {
    const { discussionId, seq } = body as { discussionId: string; seq: number }
    seqs.set(discussionId, [...(seqs.get(discussionId) ?? []), seq])
  }
  return seqs
}

const isSorted = (list: readonly number[]): boolean => list.every((each, place) => each >= (list[place - 1] ?? 0))
const sequence = (length: number): number[] => Array.from({ length }, (_each, place) => place + 1)

describe('at an ordered endpoint, three workers', () => {
  let service: TestService
  let workers: { stop(): Promise<void> }[]

  beforeAll(async () => {
    const env = { WEBHOOK_CA_FILE: receiver.caFile, WEBHOOK_POLL_SECONDS: '0.05', SHUTDOWN_GRACE_SECONDS: '0.1' }
    service = await startService({ env, worker: false })
    workers = await Promise.all([1, 2, 3].map(() => startWorker(service.app)))
  })
  afterAll(async () => {
    await Promise.all(workers.map((worker) => worker.stop()))
    await service.close()
  })

  test('have one delivery of a discussion under way, in order, and those of others meanwhile', async () => {
    const open = new Map<string, number>()
    let [most, mostOfAll] = [0, 0]
    const taken: Received[] = []
    receiver.on('/ordered', (request, response) => {
      if (request.body.type === 'verification') return undefined
      const key = String(request.body.discussionId)
      open.set(key, (open.get(key) ?? 0) + 1)
      most = Math.max(most, open.get(key) ?? 0)
      mostOfAll = Math.max(
        mostOfAll,
        [...open.values()].reduce((sum, each) => sum + each, 0),
      )
      const isTaken = Math.random() < 0.8
      if (isTaken) taken.push(request)
      setTimeout(() => {
        open.set(key, (open.get(key) ?? 0) - 1)
        reply(response, isTaken ? 204 : 500)
      }, Math.random() * 20)
      return true
    })
    const policy = { ordered: true, maxAttempts: 10, backoffBaseMs: 10, breakerThreshold: 100, disableThreshold: 1000 }
    const id = await register(service, '/ordered', policy)
    await post(service)
    await vi.waitFor(() => expect(taken.length).toBeGreaterThanOrEqual(PAGES.length * COMMENTS), WAIT)
    expect(most).toBe(1)
    expect(mostOfAll).toBeGreaterThan(1)
    const seqs = seqsOf(taken)
    expect(seqs.size).toBe(PAGES.length)
    for (const list of seqs.values()) expect(list).toEqual(sequence(COMMENTS))
    // Each attempt, too: no later event was tried before an earlier one was taken.
    for (const list of seqsOf(receiver.deliveries('/ordered')).values()) expect(isSorted(list)).toBe(true)
    await service.call('DELETE', `/webhooks/${id}`)
  })

  test('go on with the next delivery once one is given up; others wait for none of it', async () => {
    receiver.on('/given-up', (request, response) => {
      if (request.body.type === 'verification') return undefined
      return reply(response, request.body.seq === 2 ? 500 : 204)
    })
    const policy = { ordered: true, maxAttempts: 3, backoffBaseMs: 300, breakerThreshold: 100, disableThreshold: 1000 }
    const id = await register(service, '/given-up', policy)
    const pages = PAGES.map((page) => `${page}-given-up`)
    await post(service, pages)
    const count = PAGES.length * (COMMENTS + 2)
    await vi.waitFor(() => expect(receiver.deliveries('/given-up')).toHaveLength(count), WAIT)
    for (const list of seqsOf(receiver.deliveries('/given-up')).values()) {
      expect(list).toEqual([1, 2, 2, 2, ...sequence(COMMENTS).slice(2)])
    }
    await service.call('DELETE', `/webhooks/${id}`)
  })

  test("follow the tenant's policy, and a change of it", async () => {
    const patch = (ordered: boolean) => service.call('PATCH', '/settings', { body: { webhookPolicy: { ordered } } })
    expect((await patch(true)).json.webhookPolicy).toMatchObject({ ordered: true })
    let isHanging = true
    receiver.on('/tenant', (request, response) => {
      if (request.body.type === 'verification') return undefined
      return isHanging ? true : reply(response, 204)
    })
    const id = await register(service, '/tenant', { timeoutMs: 30_000 })
    await post(service, ['page-tenant'])
    await vi.waitFor(() => expect(receiver.deliveries('/tenant')).toHaveLength(1), WAIT)
    expect((await patch(false)).status).toBe(200)
    await vi.waitFor(() => expect(receiver.deliveries('/tenant').length).toBeGreaterThan(1), WAIT)
    isHanging = false
    await service.call('DELETE', `/webhooks/${id}`)
  })
})

test('workers that are killed lose none and change no order', async () => {
  const service: Processes = await startProcesses({ worker: 2, env: { WEBHOOK_CA_FILE: receiver.caFile } })
  try {
    receiver.on('/killed', (request, response) => {
      if (request.body.type === 'verification') return undefined
      setTimeout(() => reply(response, Math.random() < 0.9 ? 204 : 500), 100 + Math.random() * 200)
      return true
    })
    const policy = { ordered: true, maxAttempts: 10, backoffBaseMs: 10, breakerThreshold: 100, disableThreshold: 1000 }
    const id = await register(service, '/killed', policy)
    const kills = effort(6, 3)
    for (let kill = 0; kill < kills; kill++) {
      const known = receiver.deliveries('/killed').length
      // Posted for each kill: however long a worker takes to start, deliveries are under way.
      await post(service, PAGES, POSTED_FOR_A_KILL)
      await vi.waitFor(() => expect(receiver.deliveries('/killed').length).toBeGreaterThan(known + 2), WAIT)
      const worker = service.workers[kill % service.workers.length]
      await worker?.kill()
      await worker?.start()
    }
    const delivered = async (): Promise<number> => {
      const list = `/webhooks/${id}/deliveries?status=delivered&limit=100`
      return (await service.call('GET', list)).json.data.length
    }
    await vi.waitFor(async () => expect(await delivered()).toBe(PAGES.length * kills * POSTED_FOR_A_KILL), WAIT)
    const seqs = seqsOf(receiver.deliveries('/killed'))
    expect(seqs.size).toBe(PAGES.length)
    for (const list of seqs.values()) {
      expect([...new Set(list)]).toEqual(sequence(kills * POSTED_FOR_A_KILL))
      expect(isSorted(list), list.join()).toBe(true)
    }
  } finally {
    await service.close()
  }
})
