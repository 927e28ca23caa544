import { get } from 'node:http'
import { setTimeout } from 'node:timers/promises'

import { newId } from '../../src/core/ids.ts'
import { statement } from '../../src/core/database/statements.ts'
import { demoTenant } from './fill.ts'
import { print, printTurns, times } from './figures.ts'
import { closing } from './scripts.ts'
import { call, openDatabase, startBenchService } from './service.ts'
import { sized } from './size.ts'
import { type Stage, startStage } from './stream-peers.ts'

const PAGES = sized(50, 5)
const PER_SECOND = sized(500, 50)
const SECONDS = sized(10, 0.5)
const HISTORY = sized(1_000_000, 1000)
const MISSED = 100
const RESUMES = sized(95, 2)
/** They include compilations. */
const WARM_RESUMES = sized(5, 0)

/**
 * Calls `hear` with the data of each event, and its bytes' arrival. Resolves when the stream has
 * begun.
 */
function listen(port: number, path: string, headers: Record<string, string>, hear: (data: string) => void) {
  return new Promise<() => void>((resolve, reject) => {
    const request = get({ port, path, headers, agent: false }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (part: string) => {
        const frames = (text + part).split('\n\n')
        text = frames.pop() ?? ''
        for (const frame of frames) {
          const data = /^id: .*\nevent: .*\ndata: (.*)$/.exec(frame)?.[1]
          if (data === undefined) resolve(() => request.destroy())
          else hear(data)
        }
      })
    })
    request.on('error', reject)
  })
}

/** What a reader waits for: an event of another process, and missed events. */
export const benchStreamTimes = (): Promise<void> =>
  closing(async (opened) => {
    const stage = opened(await startStage())
    await benchLatency(stage)
    await benchResume(stage)
  })

/**
 * How long after its acknowledgement at one process a comment is on a stream of another one, at 500
 * a second.
 */
async function benchLatency({ service, writer, post }: Stage): Promise<void> {
  const heard = new Map<string, number>()
  const headers = { 'x-api-key': service.apiKey }
  const closes = await Promise.all(
    Array.from({ length: PAGES }, async (_, n) => {
      const { id } = await call(service, 'POST', '/discussions', { externalId: `page-${n}` })
      return listen(service.port, `/api/v1/stream/${id}`, headers, (data) => {
        const {
          data: { comment },
        } = JSON.parse(data) as { data: { comment: { id: string } } }
        heard.set(comment.id, performance.now())
      })
    }),
  )
  const posted = new Map<string, { begun: number; done: number }>()
  const all: Promise<void>[] = []
  const begun = performance.now()
  const cpu = [service.cpuMs(), writer.cpuMs()] as const
  for (let n = 0; n < PER_SECOND * SECONDS; n++) {
    const due = begun + (n * 1000) / PER_SECOND
    if (due > performance.now()) await setTimeout(due - performance.now())
    const from = performance.now()
    all.push(post(`page-${n % PAGES}`).then((id) => void posted.set(id, { begun: from, done: performance.now() })))
  }
  await Promise.all(all)
  const elapsed = performance.now() - begun
  const share = (now: number, before: number): string => `${(((now - before) / elapsed) * 100).toFixed(0)} %`
  const [streaming, writing] = [share(service.cpuMs(), cpu[0]), share(writer.cpuMs(), cpu[1])]
  for (let n = 0; n < 50 && heard.size < posted.size; n++) await setTimeout(100)
  for (const close of closes) close()
  if (posted.size !== heard.size) throw new Error(`${posted.size} were posted, ${heard.size} heard`)
  const after = (from: 'begun' | 'done') =>
    times([...posted].map(([id, when]) => (heard.get(id) ?? Infinity) - when[from]))
  const rate = Math.round((posted.size * 1000) / elapsed)
  printTurns(`stream-times: ${rate} comments/s at one process, heard at another over Redis`, {
    'from the request': [after('begun')],
    'from its answer': [after('done')],
  })
  print(`CPU: writing process ${writing}, streaming process ${streaming}`)
}

const HISTORY_OF = statement(
  'bench_history',
  `WITH d AS (INSERT INTO discussions (tenant_id, id, external_id, seq) VALUES ($1, $2::uuid, $2::uuid::text, $3::int))
   INSERT INTO events (tenant_id, discussion_id, seq, id, type, audience, occurred_at, actor, data)
   SELECT $1, $2, n, gen_random_uuid(), 'comment_created', 'public', now(), '{"kind":"system"}',
     json_build_object('comment', json_build_object('id', gen_random_uuid(), 'body', repeat('text ', 80)))
   FROM generate_series(1, $3::int) n`,
)

/**
 * How long a client that has missed 100 events of 1 000 000 waits for the last of them, from the
 * opening of its connection: at a process that knows nothing of the discussion, and at one where
 * others follow it.
 */
const benchResume = ({ service }: Stage): Promise<void> =>
  closing(async (opened) => {
    const { db } = opened(await openDatabase(service))
    const discussionId = newId()
    const tenantId = await demoTenant(db)
    await db.transaction(async (sql) => {
      await sql(statement('bench_patience', 'SET LOCAL statement_timeout = 0'))
      await sql(HISTORY_OF, [tenantId, discussionId, HISTORY])
    })
    await db.query(statement('bench_vacuum_events', 'VACUUM ANALYZE events'))
    // The topic of a discussion without followers is dropped soon.
    const forgetful = opened(await startBenchService({ STREAM_REPAIR_SECONDS: '0.1' }, service))
    const first = await resumes(forgetful.port, service.apiKey, discussionId, 300)
    const headers = { 'x-api-key': service.apiKey }
    const leave = await listen(service.port, `/api/v1/stream/${discussionId}`, headers, () => undefined)
    const among = await resumes(service.port, service.apiKey, discussionId, 0)
    leave()
    printTurns(`stream-times: the last of ${MISSED} missed events, of ${HISTORY}`, {
      'first at its process': [times(first)],
      'among others': [times(among)],
    })
  })

async function resumes(port: number, apiKey: string, discussionId: string, pauseMs: number): Promise<number[]> {
  const waited: number[] = []
  for (let n = 0; n < WARM_RESUMES + RESUMES; n++) {
    await setTimeout(pauseMs)
    const begun = performance.now()
    let left = MISSED
    const headers = { 'x-api-key': apiKey, 'last-event-id': String(HISTORY - MISSED) }
    const close = await new Promise<() => void>((resolve, reject) => {
      const opened = listen(port, `/api/v1/stream/${discussionId}`, headers, () => {
        if (--left > 0) return
        waited.push(performance.now() - begun)
        opened.then(resolve, reject)
      })
      opened.catch(reject)
    })
    close()
  }
  return waited.slice(WARM_RESUMES)
}
