import { readFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'

import { signIdentity } from '../harness/identity.ts'
import { fillDiscussions } from './fill.ts'
import { httpRequest, load } from './load.ts'
import { type Listeners, startListeners } from './listening.ts'
import { type BenchService, cpuMsOf, median, startBenchService } from './service.ts'
import { call, headOf } from './stream-peers.ts'

const COUNTS = [1, 2]
const ROUNDS = 5
const CONNECTIONS = 32
const SECONDS = 2
const STREAMS = 4000
const EVENTS = 40

/**
 * What `WORKERS=2` brings beside one process, turn by turn, without Redis: cached pages a second,
 * and the CPU of all processes for each event at each stream.
 */
export async function benchProcesses(): Promise<void> {
  const listeners = await startListeners()
  const services: BenchService[] = []
  try {
    for (const count of COUNTS) services.push(await startBenchService({ WORKERS: String(count) }))
    await benchReads(services)
    await benchStreams(services, listeners)
  } finally {
    for (const service of services) await service.close()
    await listeners.end()
  }
}

interface Row {
  name: string
  services: readonly BenchService[]
  rounds: { perSecond: number; micros: number }[]
}

/**
 * Beside two processes with ports of their own: what the machine gives, which shares its cores with
 * the load.
 */
async function benchReads([one, two]: readonly BenchService[]): Promise<void> {
  if (one === undefined || two === undefined) throw new Error('there are too few services')
  const beside = await startBenchService({}, one)
  try {
    const size = { discussions: 50, comments: 40, readers: 50 }
    const pages = new Map<string, readonly Buffer[]>()
    for (const { databaseUrl, apiKey } of [one, two]) {
      const { discussionIds } = await fillDiscussions(databaseUrl, size)
      const headers = { 'X-API-Key': apiKey }
      const requests = discussionIds.map((id) => httpRequest('GET', `/api/v1/discussions/${id}/comments`, headers))
      pages.set(databaseUrl, requests)
    }
    const read = async ({ services, rounds }: Row): Promise<void> => {
      const used = () => services.reduce((sum, service) => sum + cpuMs(service), 0)
      const cpu = used()
      const results = await Promise.all(
        services.map(({ port, databaseUrl }) =>
          load({
            port,
            connections: CONNECTIONS / services.length,
            requests: pages.get(databaseUrl) ?? [],
            seconds: SECONDS,
          }),
        ),
      )
      const perSecond = results.reduce((sum, result) => sum + result.perSecond, 0)
      for (const { statuses } of results) {
        if (Object.keys(statuses).join() !== '200') throw new Error(`answers were ${JSON.stringify(statuses)}`)
      }
      rounds.push({ perSecond, micros: ((used() - cpu) * 1000) / (perSecond * SECONDS) })
    }
    const rows: Row[] = [
      { name: 'one', services: [one], rounds: [] },
      { name: 'WORKERS=2', services: [two], rounds: [] },
      { name: 'two with ports of their own', services: [one, beside], rounds: [] },
    ]
    // Unmeasured: each process compiles and fills its own cache.
    for (const row of rows) await read({ ...row, rounds: [] })
    for (let n = 0; n < ROUNDS; n++) for (const row of rows) await read(row)
    const rate = ({ rounds }: Row): number => median(rounds.map(({ perSecond }) => perSecond))
    const lines = rows.map((row) => {
      const micros = median(row.rounds.map((round) => round.micros))
      return `| ${row.name} | ${Math.round(rate(row))} | ${Math.round(micros)} µs |`
    })
    const [single = 0, under = 0, apart = 0] = rows.map(rate)
    console.log(`
processes: cached pages of 20, ${CONNECTIONS} connections (medians of ${ROUNDS} rounds, turn by turn)

| Processes | Pages a second | CPU of a page |
| --------- | -------------- | ------------- |
${lines.join('\n')}

pages, WORKERS=2 to one: ${(under / single).toFixed(2)} (target: 1.7), to two apart: ${(under / apart).toFixed(2)}`)
  } finally {
    await beside.close()
  }
}

async function benchStreams(services: readonly BenchService[], listeners: Listeners): Promise<void> {
  const rounds = services.map(async (service) => ({ service, ...(await prepare(service)), figures: [] as number[] }))
  const asked = await Promise.all(rounds)
  for (let n = 0; n < ROUNDS; n++) {
    for (const { service, head, post, figures } of asked) figures.push(await fanOut({ service, head, post, listeners }))
  }
  const [one = 0, two = 0] = asked.map(({ figures }) => median(figures))
  console.log(`
processes: events one by one at ${STREAMS} streams (medians of ${ROUNDS} rounds, turn by turn)

CPU of an event at a stream: ${one.toFixed(2)} µs with one process, ${two.toFixed(2)} µs with two
two to one: ${(two / one).toFixed(2)} (target: 1.05)`)
}

interface Stage {
  /** The request that opens a stream. */
  head: string
  post(): Promise<unknown>
}

async function prepare(service: BenchService): Promise<Stage> {
  await call(service, 'PATCH', '/settings', {
    stream: { maxStreams: 1_000_000, maxStreamsPerTicket: 1_000_000, maxStreamsPerAddress: 1_000_000 },
    ticket: { connectSeconds: 3600 },
  })
  const { id: discussionId } = await call(service, 'POST', '/discussions', { externalId: 'page' })
  const { ticket } = await call(service, 'POST', '/stream/ticket', { discussionId })
  const identity = { 'x-service-identity': await signIdentity(service.signer, { sub: 'reader', name: 'Reader' }) }
  let n = 0
  return {
    head: headOf(`/api/v1/stream/${discussionId}?ticket=${ticket}`),
    post: () => call(service, 'POST', `/discussions/${discussionId}/comments`, { body: `Comment ${n++}` }, identity),
  }
}

async function fanOut({
  service,
  head,
  post,
  listeners,
}: Stage & { service: BenchService; listeners: Listeners }): Promise<number> {
  await listeners.open(service.port, head, STREAMS)
  await setTimeout(1000)
  for (let n = 0; n < 5; n++) await post()
  await listeners.settled()
  const cpu = cpuMs(service)
  for (let n = 0; n < EVENTS; n++) {
    await post()
    await setTimeout(80)
  }
  await setTimeout(200)
  const used = cpuMs(service) - cpu
  await listeners.close()
  await setTimeout(500)
  return (used * 1000) / (EVENTS * STREAMS)
}

/** CPU of a process and of those that it has started. */
function cpuMs({ pid }: BenchService): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
  const pids = [pid, ...children.split(' ').filter(Boolean).map(Number)]
  return pids.reduce((sum, each) => sum + cpuMsOf(each), 0)
}
