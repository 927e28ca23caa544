import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'

import pg from 'pg'

import type { Item } from '../../src/transfer/item.ts'
import { randomOf } from '../harness/random.ts'
import { writeItems } from '../harness/transfer.ts'
import { inTurns, print, printTurns, run } from './figures.ts'
import { load, type LoadResult } from './load.ts'
import { addTenant, postsOf } from './neighbours.ts'
import { allCpuMsOf, backendsMs, residentBytes, unlessGone } from './proc.ts'
import { closing } from './scripts.ts'
import { type BenchService, startBenchService } from './service.ts'
import { isSmallest, missing, sized } from './size.ts'

const CLI = join(import.meta.dirname, '../../dist/cli/cli.js')
const COMMENTS = Number(process.env.IMPORT_COMMENTS ?? sized(100_000, 2000))
const PER_DISCUSSION = 200
const PER_READER = 20
/** The tables of the file's items. */
const TABLES = ['readers', 'discussions', 'comments']
/** Further tables that an import writes: the rows of each item, and the analytics. */
const BESIDE = ['import_items', 'analytics_activity', 'analytics_discussions', 'analytics_buckets']
/** Between the first comment and the last one. */
const YEARS_MS = 2e11
const CONNECTIONS = 4
const SECONDS = 4
const SAMPLE_MS = 100

/**
 * An import by the built command, beside COPY of the rows that it has made, and the times of
 * another tenant's posts with and without an import under way, turn by turn.
 */
export const benchImport = (): Promise<void> =>
  closing(async (opened) => {
    const folder = mkdtempSync(join(tmpdir(), 'engagement-bench-'))
    opened({ close: () => rmSync(folder, { recursive: true, force: true }) })
    const file = join(folder, 'items.jsonl')
    const service = opened(await startBenchService())
    const database = new pg.Client({ connectionString: service.databaseUrl })
    await database.connect()
    opened({ close: () => database.end() })
    writeItems(file, makeItems())
    print(`import: ${COMMENTS} comments, each of some 170 characters, half of them replies`)
    await benchRate({ service, database, file, folder })
    await benchNeighbour(service, file)
  })

function makeItems(): Item[] {
  const random = randomOf(1)
  const below = (most: number): number => Math.floor(random() * most)
  const at = (n: number): string => new Date(Date.UTC(2012, 0, 1) + Math.round(n * (YEARS_MS / COMMENTS))).toISOString()
  const discussions = Math.ceil(COMMENTS / PER_DISCUSSION)
  const readers = Math.ceil(COMMENTS / PER_READER)
  const items: Item[] = []
  for (let n = 0; n < readers; n++) items.push({ kind: 'reader', id: `r${n}`, name: `Reader ${n}`, createdAt: at(n) })
  for (let n = 0; n < discussions; n++) {
    items.push({ kind: 'discussion', id: `d${n}`, url: `https://news.example/${n}`, createdAt: at(n) })
  }
  for (let n = 0; n < COMMENTS; n++) {
    const parent = n - discussions * (1 + below(5))
    items.push({
      kind: 'comment',
      id: `c${n}`,
      discussionId: `d${n % discussions}`,
      ...(parent >= 0 && random() < 0.5 && { parentId: `c${parent}` }),
      authorId: `r${below(readers)}`,
      createdAt: at(n),
      body: `I have read this *twice*, and ${n} things are missing.\n\n${'What the author says of it is true. '.repeat(1 + below(5))}`,
    })
  }
  return items
}

interface Stage {
  service: BenchService
  database: pg.Client
  file: string
  folder: string
}

async function benchRate({ service, database, file, folder }: Stage): Promise<void> {
  await addTenant(service, 'whole')
  const before = await backendsMs(database)
  const backends = new Map(before)
  const running = startImport(service, 'whole', file)
  const ended = running.ended.then(() => true)
  while (!(await Promise.race([ended, setTimeout(SAMPLE_MS, false)]))) {
    running.sample()
    for (const [pid, ms] of await backendsMs(database)) backends.set(pid, ms)
  }
  const { seconds, cpuMs, peakMb } = await running.ended
  const ofPostgres = [...backends].reduce((sum, [pid, ms]) => sum + ms - (before.get(pid) ?? 0), 0)
  const bare = await copyRows(service.databaseUrl, folder)
  const rate = (took: number): string => `${(COMMENTS / took).toFixed(0)} comments/s`
  const micros = (ms: number): string => `${((ms * 1000) / COMMENTS).toFixed(0)} µs`
  print(`  import                       ${rate(seconds)}, ${seconds.toFixed(1)} s with its start
    CPU of a comment           ${micros(cpuMs)}, of PostgreSQL ${micros(ofPostgres)}
    memory, at most            ${peakMb.toFixed(0)} MB
  COPY of all that it has made ${rate(bare.whole)}: ${(bare.whole / seconds).toFixed(2)} x (target: at least 0.25)
    readers, pages, comments   ${rate(bare.indexed)}: ${(bare.indexed / seconds).toFixed(2)} x
      to tables without index  ${rate(bare.plain)}: ${(bare.plain / seconds).toFixed(2)} x`)
}

interface RunningImport {
  /** Notes what the process has used so far. */
  sample: () => void
  /** Rejects where it failed. */
  ended: Promise<{ seconds: number; cpuMs: number; peakMb: number }>
  /** Fulfilled when it has stored something. */
  begun: Promise<unknown>
  stop: () => Promise<void>
}

function startImport({ databaseUrl, keys }: BenchService, tenant: string, file: string): RunningImport {
  const { PATH, BENCH_PROFILE: folder } = process.env
  const profile = folder === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${folder}`]
  const args = [...profile, CLI, 'import', '--tenant', tenant, '--from', 'jsonl', file]
  const startedAt = performance.now()
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { PATH, NODE_ENV: 'production', DATABASE_URL: databaseUrl, ...keys },
  })
  let said = ''
  child.stdout.on('data', (text: Buffer) => (said = (said + text.toString()).slice(-2000)))
  const used = { cpuMs: 0, peakMb: 0 }
  const sample = (): void => {
    const { pid = 0 } = child
    used.cpuMs = unlessGone(() => allCpuMsOf(pid)) ?? used.cpuMs
    used.peakMb = (unlessGone(() => residentBytes(pid, 'VmHWM')) ?? 0) / 1024 / 1024 || used.peakMb
  }
  const exited = once(child, 'exit') as Promise<[number | null]>
  return {
    sample,
    begun: once(child.stdout, 'data'),
    ended: exited.then(([code]) => {
      if (code !== 0) throw new Error(`the import ended with ${code}: ${said}`)
      return { ...used, seconds: (performance.now() - startedAt) / 1000 }
    }),
    stop: async () => {
      if (!child.kill('SIGINT') && !isSmallest)
        throw new Error('the import was over before the posts: IMPORT_COMMENTS is too small')
      await exited
    },
  }
}

interface Copied {
  plain: number
  indexed: number
  /** To tables with indexes: all rows that the import has made. */
  whole: number
}

/** Seconds that COPY takes for the same rows, by psql, into new tables without keys to others. */
async function copyRows(databaseUrl: string, folder: string): Promise<Copied> {
  const copied = { plain: 0, indexed: 0, whole: 0 }
  for (const table of [...TABLES, ...BESIDE]) {
    const rows = join(folder, table)
    await psql(databaseUrl, `\\copy ${table} TO '${rows}'`)
    const copyInto = async (kind: string, including: string): Promise<number> => {
      await psql(databaseUrl, `CREATE TABLE ${kind}_${table} (LIKE ${table} INCLUDING ${including})`)
      const startedAt = performance.now()
      await psql(databaseUrl, `\\copy ${kind}_${table} FROM '${rows}'`)
      return (performance.now() - startedAt) / 1000
    }
    const indexed = await copyInto('indexed', 'ALL')
    copied.whole += indexed
    if (!TABLES.includes(table)) continue
    copied.indexed += indexed
    copied.plain += await copyInto('plain', 'GENERATED')
  }
  return copied
}

async function psql(databaseUrl: string, command: string): Promise<void> {
  const child = spawn('psql', ['-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', databaseUrl, '-c', command], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const [code] = (await once(child, 'exit').catch(missing('psql'))) as [number | null]
  if (code !== 0) throw new Error(`psql ended with ${code}: ${command}`)
}

/** Another tenant's posts, alone and beside an import, turn by turn. */
async function benchNeighbour(service: BenchService, file: string): Promise<void> {
  const requests = await postsOf(await addTenant(service, 'neighbour'), 2000)
  const alone = (seconds = SECONDS): Promise<LoadResult> =>
    load({ port: service.port, connections: CONNECTIONS, seconds, requests })
  let imports = 0
  const beside = async (): Promise<LoadResult> => {
    const tenant = `beside-${imports++}`
    await addTenant(service, tenant)
    const running = startImport(service, tenant, file)
    const failed = running.ended.catch(() => 'it was stopped')
    await Promise.race([running.begun, failed])
    // By then the import knows that it is not alone.
    await alone(1)
    const result = await alone()
    await running.stop()
    return result
  }
  await alone()
  const rounds = await inTurns({ alone: () => alone(), beside }, run, { rounds: 3, warm: 0 })
  printTurns(`import: posts of another tenant, ${CONNECTIONS} connections`, rounds, {
    beside: ['alone', 'p99 at most 1.3'],
  })
}
