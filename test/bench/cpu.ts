import { graphqlPage } from './api.ts'
import { fillDiscussions, type Filled } from './fill.ts'
import { printTurns } from './figures.ts'
import { compare, measure, type Side } from './measure.ts'
import { byExternal, countRequests, pageRequests, postRequests, readersOf } from './requests.ts'
import { closing, startBareServer } from './scripts.ts'
import { type BenchService, startBenchService } from './service.ts'
import { sized } from './size.ts'

const CONNECTIONS = 16
/**
 * A number of requests, not seconds: on a busy machine the compiler would not get far in that time.
 */
const WARM_REQUESTS = sized(10_000, 1)
/** Many short turns, so that other load on the machine affects all sides alike. */
const HOW = { connections: CONNECTIONS, seconds: 0.4, rounds: 20, warm: 0 }
const SIZE = { discussions: sized(500, 10), comments: 40, readers: sized(200, 10) }

/**
 * CPU of the api process for a request, and the rate, beside those of a bare server, turn by turn.
 * CPU_BESIDE names the `main.js` of another build to measure in turn with this one.
 */
export const benchCpu = (): Promise<void> =>
  closing(async (opened) => {
    const env = { DATABASE_POOL_SIZE: String(CONNECTIONS), PAGE_CACHE_MB: '0' }
    const service = opened(await startBenchService(env))
    const { CPU_BESIDE: other } = process.env
    const builds: Record<string, BenchService> = { 'this build': service }
    if (other !== undefined) builds['the other'] = opened(await startBenchService(env, service, other))
    const filled = await fillDiscussions(service, SIZE)
    const bare = opened(await startBareServer(service, { ...env, TENANT_ID: filled.tenantId }))
    for (const [title, { asked, ofBare }] of Object.entries(await requestsOf(service, filled))) {
      const sides = Object.entries(builds).map(([name, each]) => [name, { process: each, requests: asked }] as const)
      await report(`cpu: ${title}`, { bare: { process: bare, requests: ofBare }, ...Object.fromEntries(sides) })
    }
  })

async function requestsOf(service: BenchService, { discussionIds, externalIds }: Filled) {
  const headers = { 'X-API-Key': service.apiKey }
  const paths = discussionIds.map((_, n) => byExternal(`page-${n}`))
  const posts = await postRequests(service, { paths, count: sized(5000, 500), subs: readersOf(SIZE.readers) })
  const bare = pageRequests(discussionIds, {}, '')
  return {
    'a page of 20, not kept': { asked: pageRequests(discussionIds, headers), ofBare: bare },
    'a page of 20 over GraphQL': { asked: discussionIds.map((id) => graphqlPage(id, service.apiKey)), ofBare: bare },
    'counts of 20 pages': {
      asked: countRequests(externalIds, headers),
      ofBare: countRequests(externalIds, headers, ''),
    },
    'a post, beside one to a route that does nothing': {
      asked: posts,
      ofBare: posts.map((post) => Buffer.from(post.toString().replace(/^POST \S+/, 'POST /empty'))),
    },
  }
}

/** Measures sides turn by turn, and prints them beside the first of them. */
export async function report(title: string, sides: Readonly<Record<string, Side>>): Promise<void> {
  for (const side of Object.values(sides)) {
    for (let warmed = 0; warmed < WARM_REQUESTS;) warmed += (await measure(side, { ...HOW, seconds: 1 })).answered
  }
  printTurns(title, await compare(sides, HOW))
}
