import { readdirSync, readFileSync } from 'node:fs'

import { graphqlPage } from './api.ts'
import { fillDiscussions, type Filled } from './fill.ts'
import { httpRequest, load } from './load.ts'
import { makeRequests } from './post.ts'
import { type BenchProcess, type BenchService, median, startBareServer, startBenchService } from './service.ts'

const CONNECTIONS = 16
/**
 * A number of requests, not seconds: on a busy machine the compiler would not get far in that time.
 */
const WARM_REQUESTS = 10_000
/** Many short turns, so that other load on the machine affects all sides alike. */
const ROUNDS = 20
const SECONDS = 0.4
const DISCUSSIONS = 500

export interface Side {
  process: BenchProcess
  requests: readonly Buffer[]
}

/**
 * CPU of the api process for a request, and the rate, beside those of a bare server, turn by turn.
 * CPU_BESIDE names the `main.js` of another build to measure in turn with this one.
 */
export async function benchCpu(): Promise<void> {
  const open: { close(): Promise<void> }[] = []
  const opened = <T extends { close(): Promise<void> }>(process: T): T => (open.unshift(process), process)
  try {
    const env = { DATABASE_POOL_SIZE: String(CONNECTIONS), PAGE_CACHE_MB: '0' }
    const service = opened(await startBenchService(env))
    const { CPU_BESIDE: other } = process.env
    const builds = { 'this build': service }
    if (other !== undefined)
      Object.assign(builds, { 'the other': opened(await startBenchService(env, service, other)) })
    const filled = await fillDiscussions(service.databaseUrl, { discussions: DISCUSSIONS, comments: 40, readers: 200 })
    const bare = opened(await startBareServer(service.databaseUrl, { ...env, TENANT_ID: filled.tenantId }))
    for (const [title, { asked, ofBare }] of Object.entries(await requestsOf(service, filled))) {
      const sides = Object.entries(builds).map(([name, each]) => [name, { process: each, requests: asked }] as const)
      await report(`cpu: ${title}`, { bare: { process: bare, requests: ofBare }, ...Object.fromEntries(sides) })
    }
  } finally {
    for (const process of open) await process.close()
  }
}

async function requestsOf(service: BenchService, { discussionIds, externalIds }: Filled) {
  const headers = { 'X-API-Key': service.apiKey, 'Content-Type': 'application/json' }
  const page = (base: string) =>
    discussionIds.map((id) => httpRequest('GET', `${base}/discussions/${id}/comments`, headers))
  const counted = Array.from({ length: 100 }, (_, n) =>
    JSON.stringify({
      externalIds: Array.from({ length: 20 }, (_each, k) => externalIds[(n * 37 + k * 11) % DISCUSSIONS]),
    }),
  )
  const counts = (base: string) =>
    counted.map((body) => httpRequest('POST', `${base}/discussions/counts`, headers, body))
  const posts = await makeRequests(service, { connections: CONNECTIONS, discussions: DISCUSSIONS })
  return {
    'a page of 20, not kept': { asked: page('/api/v1'), ofBare: page('') },
    'a page of 20 over GraphQL': {
      asked: discussionIds.map((id) => graphqlPage(id, service.apiKey)),
      ofBare: page(''),
    },
    'counts of 20 pages': { asked: counts('/api/v1'), ofBare: counts('') },
    'a post, beside one to a route that does nothing': {
      asked: posts,
      ofBare: posts.map((post) => Buffer.from(post.toString().replace(/^POST \S+/, 'POST /empty'))),
    },
  }
}

/** Measures sides turn by turn, and prints them beside the first of them. */
export async function report(title: string, sides: Readonly<Record<string, Side>>, roundCount = ROUNDS): Promise<void> {
  const [reference = ''] = Object.keys(sides)
  const rounds: Record<string, Turn[]> = {}
  for (const side of Object.values(sides)) {
    for (let warmed = 0; warmed < WARM_REQUESTS;) warmed += (await turn(side, 1)).answered
  }
  for (let round = 0; round < roundCount; round++) {
    const all = Object.entries(sides)
    for (const [name, side] of round % 2 === 0 ? all : all.toReversed()) {
      ;(rounds[name] ??= []).push(await turn(side, SECONDS))
    }
  }
  console.log(`${title}, ${CONNECTIONS} connections, median of ${roundCount} turns`)
  for (const [name, all] of Object.entries(rounds)) {
    const [micros, rate] = (['micros', 'perSecond'] as const).map((figure) => ({
      own: median(all.map((each) => each[figure])),
      ratio: median(all.map((each, round) => each[figure] / (rounds[reference]?.[round]?.[figure] ?? NaN))),
    }))
    console.log(
      `  ${name.padEnd(12)} ${micros?.own.toFixed(0)} µs a request, ${micros?.ratio.toFixed(2)} × ${reference}; ${rate?.own.toFixed(0)}/s, ${rate?.ratio.toFixed(2)} ×`,
    )
  }
}

interface Turn {
  answered: number
  /** Of CPU, for a request. */
  micros: number
  perSecond: number
}

async function turn({ process: { pid, port }, requests }: Side, seconds: number): Promise<Turn> {
  const before = cpuMicrosOf(pid)
  const { statuses, perSecond } = await load({ port, connections: CONNECTIONS, seconds, requests })
  const wrong = Object.keys(statuses).filter((status) => !['200', '201'].includes(status))
  if (wrong.length > 0) throw new Error(`not all were answered: ${JSON.stringify(statuses)}`)
  const answered = Object.values(statuses).reduce((sum, n) => sum + n, 0)
  return { answered, perSecond, micros: (cpuMicrosOf(pid) - before) / answered }
}

/** CPU of a process's threads, finer than the 10 ms of `cpuMsOf`. */
function cpuMicrosOf(pid: number): number {
  const nanos = readdirSync(`/proc/${pid}/task`).map((thread) =>
    Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ', 1)[0]),
  )
  return nanos.reduce((sum, each) => sum + each, 0) / 1000
}
