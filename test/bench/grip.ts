import { setTimeout } from 'node:timers/promises'

import { makePushpin, PUSHPIN, type Pushpin } from '../harness/pushpin.ts'
import { type Listeners, startListeners } from './listening.ts'
import { type BenchService, cpuMsOf, median } from './service.ts'
import { call, headOf, type Stage, startStage } from './stream-peers.ts'

const STREAMS = 2000
/** Pushpin 1.36 answers 502 where more than some 100 requests come in the same millisecond. */
const AT_ONCE = 50
const ROUNDS = 3
const EVENTS = 40
const EVERY_MS = 200
const IDLE_SECONDS = 60
/** Bytes by which streams may differ: less than an event. Pushpin cuts some into two chunks. */
const FRAMING = 512

interface Figures {
  /** Milliseconds of CPU of the service for an event, from its post to all streams. */
  service: number
  pushpin: number
  p50: number
  p99: number
}

/**
 * Streams that Pushpin holds beside streams of the service itself, turn by turn: two processes on
 * one database, each posts the events that its streams get. Without streams it is what a post
 * costs.
 */
export async function benchGrip(): Promise<void> {
  if (PUSHPIN === undefined) return console.log('\ngrip: pushpin is not installed')
  const listeners = await startListeners()
  const pushpin = await makePushpin()
  const stage = await startStage()
  try {
    const holding = await stage.beside(pushpin.env)
    await pushpin.start([`http://127.0.0.1:${holding.port}`])
    const cases: [string, () => Promise<Figures>][] = [
      ['no streams', () => round(stage, stage.service, null, null)],
      ['no streams, published', () => round(stage, holding, null, pushpin)],
      ['own streams', () => round(stage, stage.service, listeners, null)],
      ['held by Pushpin', () => round(stage, holding, listeners, pushpin)],
    ]
    const rounds = new Map(cases.map(([name]): [string, Figures[]] => [name, []]))
    for (let n = 0; n < ROUNDS; n++) for (const [name, run] of cases) rounds.get(name)?.push(await run())
    console.log(`\ngrip: CPU of an event at ${STREAMS} streams, from its post on (medians of ${ROUNDS} rounds)\n`)
    console.log('|  | service | Pushpin | arrival p50 | p99 |\n| --- | --- | --- | --- | --- |')
    for (const [name, all] of rounds) {
      const of = (what: keyof Figures): string => median(all.map((each) => each[what])).toFixed(2)
      console.log(`| ${name} | ${of('service')} ms | ${of('pushpin')} ms | ${of('p50')} ms | ${of('p99')} ms |`)
    }
    await idle(stage, holding, listeners, pushpin)
  } finally {
    await stage.close()
    await pushpin.close()
    await listeners.end()
  }
}

async function round(
  stage: Stage,
  service: BenchService,
  listeners: Listeners | null,
  pushpin: Pushpin | null,
): Promise<Figures> {
  const { ticket } = await call(service, 'POST', '/stream/ticket', { discussionId: stage.discussionId })
  const port = pushpin === null ? service.port : Number(new URL(pushpin.url).port)
  const head = headOf(`/api/v1/stream/${stage.discussionId}?ticket=${ticket}`)
  for (let open = 0; open < STREAMS; open += AT_ONCE) await listeners?.open(port, head, AT_ONCE)
  await setTimeout(1000)
  await publish(stage, service, 10)
  await listeners?.settled()
  await listeners?.reset()
  const programs = pushpin?.pids() ?? []
  const cpu = (): [number, number] => [service.cpuMs(), programs.reduce((sum, pid) => sum + cpuMsOf(pid), 0)]
  const before = cpu()
  await publish(stage, service, EVENTS)
  const { least, most } = (await listeners?.settled()) ?? { least: 0, most: 0 }
  const after = cpu()
  const delays = ((await listeners?.delays()) ?? []).toSorted((a, b) => a - b)
  await listeners?.close()
  await setTimeout(500)
  if (most - least > FRAMING) throw new Error(`streams got ${least} to ${most} bytes`)
  const at = (share: number): number => delays[Math.floor(delays.length * share)] ?? 0
  return {
    service: (after[0] - before[0]) / EVENTS,
    pushpin: (after[1] - before[1]) / EVENTS,
    p50: at(0.5),
    p99: at(0.99),
  }
}

async function publish(stage: Stage, service: BenchService, events: number): Promise<void> {
  const begun = performance.now()
  for (let n = 0; n < events; n++) {
    const wait = begun + n * EVERY_MS - performance.now()
    if (wait > 0) await setTimeout(wait)
    await stage.post('page', service)
  }
}

/** The cost of idle streams: Pushpin asks for each of them every half a minute. */
async function idle(stage: Stage, service: BenchService, listeners: Listeners, pushpin: Pushpin): Promise<void> {
  const { ticket } = await call(service, 'POST', '/stream/ticket', { discussionId: stage.discussionId })
  const head = headOf(`/api/v1/stream/${stage.discussionId}?ticket=${ticket}`)
  for (let open = 0; open < STREAMS; open += AT_ONCE) {
    await listeners.open(Number(new URL(pushpin.url).port), head, AT_ONCE)
  }
  const cpu = (): [number, number] => [service.cpuMs(), pushpin.pids().reduce((sum, pid) => sum + cpuMsOf(pid), 0)]
  const before = cpu()
  await setTimeout(IDLE_SECONDS * 1000)
  const after = cpu()
  await listeners.close()
  const share = (index: 0 | 1): string => ((after[index] - before[index]) / IDLE_SECONDS).toFixed(1)
  console.log(`\n${STREAMS} idle streams, in a second: service ${share(0)} ms, Pushpin ${share(1)} ms of CPU`)
}
