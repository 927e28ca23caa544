import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { withDatabase } from '../../src/app.ts'
import { createLog } from '../../src/core/telemetry/log.ts'
import { readSettings } from '../../src/core/settings/settings.ts'
import type { Database } from '../../src/data/database.ts'
import { embeddedSecrets } from '../../src/data/embedded/secrets.ts'
import { openEmbedded } from '../../src/data/embedded/embedded.ts'
import { openServer } from '../../src/data/server/server.ts'
import { createTenant } from '../../src/domains/bootstrap/bootstrap.ts'
import type { Item } from '../../src/transfer/item.ts'
import { CLI } from '../harness/cli.ts'
import { onServer } from '../harness/database.ts'
import { effort } from '../harness/effort.ts'
import { useFolder } from '../harness/folders.ts'
import { ownDatabase } from '../harness/own-database.ts'
import { type Env, last, statusOf } from '../harness/processes.ts'
import { randomOf } from '../harness/random.ts'
import { fixture, makeIssoDatabase } from '../harness/sources.ts'
import { unnamed } from '../harness/sql.ts'
import { dumpImported, findWrongCounts, writeItems } from '../harness/transfer.ts'

const KILLS = Number(process.env.IMPORT_KILLS ?? effort(20, 2))
/** So many that each kill falls among some hundred. */
const COMMENTS = Math.max(8, KILLS) * 450
/** The status after SIGKILL. */
const KILLED = 128 + 9

const folder = useFolder()
let env: Env
let remove: () => Promise<void>

beforeAll(async () => {
  ;({ env, remove } = await ownDatabase())
  await addTenants(['whole', 'sources'])
  writeItems(join(folder, 'items.jsonl'), makeItems(COMMENTS))
})

afterAll(() => remove())

async function addTenants(slugs: readonly string[]): Promise<void> {
  const settings = readSettings(env, embeddedSecrets)
  const { app, close } = withDatabase(settings, createLog('silent'), await openDatabase())
  for (const slug of slugs) await createTenant(app, { slug })
  await close()
}

async function msOf(work: () => Promise<void>): Promise<number> {
  const began = performance.now()
  await work()
  return performance.now() - began
}

/** Threads whose replies, pages and readers come in no order. */
function makeItems(comments: number): Item[] {
  const random = randomOf(7)
  const at = (n: number): string => new Date(Date.UTC(2012, 0, 1) + n * 7_000_000).toISOString()
  const items: Item[] = []
  for (let n = 0; n < 300; n++) items.push({ kind: 'reader', id: `r${n}`, name: `Reader ${n}`, createdAt: at(n) })
  for (let n = 0; n < 90; n++) items.push({ kind: 'discussion', id: `d${n}`, externalId: `d${n}`, createdAt: at(n) })
  for (let n = 0; n < comments; n++) {
    const page = n % 90
    const parent = n - 90 * (1 + Math.floor(random() * 5))
    const reader = `r${Math.floor(random() * 300)}`
    const state = random() < 0.05 ? ({ status: 'deleted', body: null } as const) : { body: `Comment *${n}*` }
    const reply = random() < 0.6 && parent >= 0 ? { parentId: `c${parent}` } : {}
    items.push({
      kind: 'comment',
      id: `c${n}`,
      discussionId: `d${page}`,
      authorId: reader,
      createdAt: at(n),
      ...state,
      ...reply,
    })
    if (random() < 0.3) items.push({ kind: 'reaction', commentId: `c${n}`, readerId: reader, type: 'like' })
  }
  // Some of each come before or long after what they refer to.
  return items
    .map((item) => ({ item, place: random() }))
    .sort((a, b) => Number(a.place < 0.1) * (a.place - b.place))
    .map(({ item }) => item)
}

interface Running {
  child: ChildProcess
  output: () => string
  /** Its status, as a shell has it. */
  ended: Promise<number>
}

function start(args: string[]): Running {
  const { PATH, HOME } = process.env
  const child = spawn(process.execPath, [CLI, ...args], { env: { PATH, HOME, ...env } })
  let output = ''
  child.stdout.on('data', (chunk) => (output += String(chunk)))
  child.stderr.on('data', (chunk) => (output += String(chunk)))
  const ended = new Promise<number>((resolve) => child.on('close', (...how) => resolve(statusOf(...how))))
  return { child, output: () => output, ended }
}

async function end(running: Running): Promise<void> {
  const code = await running.ended
  expect([code, code === 0 ? '' : running.output()]).toEqual([0, ''])
}

const importInto = (tenant: string, file = 'items.jsonl'): Running =>
  start(['import', '--tenant', tenant, '--from', 'jsonl', join(folder, file)])

const openDatabase = (): Promise<Database> =>
  onServer
    ? openServer({ url: env.DATABASE_URL ?? '', size: 2, onError: () => undefined })
    : openEmbedded(env.DATA_DIR ?? '')

const TENANT = unnamed('SELECT id FROM tenants WHERE slug = $1')

// What was changed, in whatever order: what waited for other items is taken later, or earlier.
const IMPORTS = unnamed(
  `SELECT source, file_name, counts, refused, changed->'total' AS changed,
     (SELECT jsonb_agg(finding ORDER BY finding) FROM jsonb_array_elements(changed->'first') AS t (finding)) AS findings
   FROM imports WHERE tenant_id = $1`,
)

test('an import that is killed at many places and restarted gives the same result as an uninterrupted one', async () => {
  let wholeMs = await msOf(() => end(importInto('whole')))
  const seed = Number(process.env.IMPORT_SEED ?? Date.now() % 100_000)
  const random = randomOf(seed)
  console.log(`IMPORT_SEED=${seed}`)
  const killed: string[] = []
  let kills = 0
  // A run may end before its kill: then a tenant that has nothing yet takes the next kills.
  for (let isOver = true; kills < KILLS;) {
    const isFirst = isOver
    if (isFirst) {
      killed.push(`killed-${killed.length}`)
      await addTenants(killed.slice(-1))
    }
    const ms = await msOf(async () => {
      const running = importInto(last(killed))
      await Promise.race([running.ended, setTimeout(random() * wholeMs * 0.9)])
      running.child.kill('SIGKILL')
      isOver = (await running.ended) !== KILLED
      if (isOver) await end(running)
    })
    if (!isOver) kills++
    // The machine is less busy by now.
    else if (isFirst) wholeMs = ms
  }
  await end(importInto(last(killed)))
  const database = await openDatabase()
  try {
    const { db } = database
    const idOf = async (slug: string) => (await db.query<{ id: string }>(TENANT, [slug]))[0]?.id ?? ''
    const dump = async (id: string) => ({
      rows: await dumpImported(db, id, ['imports']),
      imports: await db.query(IMPORTS, [id]),
    })
    const expected = await dump(await idOf('whole'))
    expect(expected.rows.length).toBeGreaterThan(COMMENTS)
    for (const slug of killed) {
      const id = await idOf(slug)
      expect(await findWrongCounts(db, id)).toEqual([])
      expect(await dump(id)).toEqual(expected)
    }
  } finally {
    await database.close()
  }
})

test('Ctrl+C stops an import between two transactions, and says how to continue', async () => {
  // A run may end before the signal reaches it: then one of a longer file gets the next signal.
  for (const times of [1, 4, 16]) {
    const [tenant, file] = [`stopped-${times}`, `stopped-${times}.jsonl`]
    await addTenants([tenant])
    writeItems(join(folder, file), makeItems(times * COMMENTS))
    const running = importInto(tenant, file)
    let isOver = false
    const over = running.ended.then(() => (isOver = true))
    while (!isOver && !running.output().includes('progress')) await Promise.race([setTimeout(20), over])
    running.child.kill('SIGINT')
    const code = await running.ended
    if (code === 0 && times < 16) continue
    expect([code, running.output()]).toEqual([130, expect.stringMatching(/the same command goes on/)])
    return end(importInto(tenant, file))
  }
})

test('the built command reads XML, a folder and SQLite, and exits with 1 if it did not take everything', async () => {
  const files: [string, string, number][] = [
    ['disqus', fixture('disqus.xml'), 5],
    ['coral', fixture('coral'), 6],
    ['isso', makeIssoDatabase(join(folder, 'isso.db')), 4],
  ]
  for (const [source, path, comments] of files) {
    const running = start(['import', '--tenant', 'sources', '--from', source, path])
    expect([source, await running.ended]).toEqual([source, 1])
    const [report = ''] = running.output().trim().split('\n').slice(-1)
    expect(JSON.parse(report)).toMatchObject({ report: { source, counts: { comments } } })
  }
  const other = start(['import', '--tenant', 'sources', '--from', 'isso', fixture('disqus.xml')])
  expect(await other.ended).toBe(1)
  expect(other.output()).toContain('it looks like the XML export of Disqus')
})
