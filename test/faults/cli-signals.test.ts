import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { CLI } from '../harness/cli.ts'
import { onServer } from '../harness/database.ts'
import { useFolder } from '../harness/folders.ts'
import { ownDatabase } from '../harness/own-database.ts'
import { type Env, statusOf } from '../harness/processes.ts'
import { startProxy } from '../harness/proxy.ts'
import { comment, page, reader, writeItems } from '../harness/transfer.ts'

/** A second, where nothing else runs. */
const MOST_MS = 2000
const COMMENTS = 2000
/** How many answers of the database a command gets: it has connected then, and asks again. */
const ANSWERS = 4

const folder = useFolder()
let env: Env
let remove: () => Promise<void>

beforeAll(async () => {
  const own = await ownDatabase()
  remove = own.remove
  env = { PATH: process.env.PATH, ...own.env }
  expect(await run('tenant', 'create', '--slug', 'demo')).toBe(0)
  const comments = Array.from({ length: COMMENTS }, (_, n) => comment(`c${n}`, n, { body: `${n} `.repeat(200) }))
  writeItems(join(folder, 'items.jsonl'), [reader('ann'), reader('bob'), page('p'), ...comments])
  // Holds the thread of the command, and only that, when it is told to.
  writeFileSync(
    join(folder, 'busy.mjs'),
    `import { writeSync } from 'node:fs'
     import { isMainThread } from 'node:worker_threads'
     import { pbkdf2Sync } from 'node:crypto'
     const native = () => pbkdf2Sync('a', 'b', 2 ** 31 - 1, 64, 'sha512')
     const compute = () => { writeSync(2, 'busy\\n'); if (process.env.NATIVE) native(); for (;;); }
     if (!isMainThread) setTimeout(compute, Number(process.env.BUSY_AFTER_MS))`,
  )
})

afterAll(() => remove())

const start = (args: readonly string[], more: Env = {}) =>
  spawn(process.execPath, [CLI, ...args], { env: { ...env, ...more }, cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })

async function run(...args: string[]): Promise<number | null> {
  const child = start(args)
  child.stdout.resume()
  child.stderr.resume()
  const [code] = (await once(child, 'exit')) as [number | null]
  return code
}

/** How long a command takes to end after a signal, which it gets once `isUnderWay`. */
async function signalled(child: ReturnType<typeof start>, signal: NodeJS.Signals, isUnderWay: Promise<unknown>) {
  child.stdout.resume()
  const exited = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>
  await Promise.race([isUnderWay, exited])
  expect(child.exitCode).toBe(null)
  const since = performance.now()
  child.kill(signal)
  const code = statusOf(...(await exited))
  return { code, ms: performance.now() - since }
}

async function says(child: ReturnType<typeof start>, word: string): Promise<void> {
  for await (const chunk of child.stderr) if (String(chunk).includes(word)) return
}

const COMMANDS: Readonly<Record<string, readonly string[]>> = {
  import: ['import', '--tenant', 'demo', '--from', 'jsonl', 'items.jsonl'],
  'a rehearsal': ['import', '--tenant', 'demo', '--from', 'jsonl', 'items.jsonl', '--dry-run'],
  export: ['export', '--tenant', 'demo', 'out.jsonl'],
  'export to a pipe': ['export', '--tenant', 'demo'],
  'import undo': ['import', 'undo', '--tenant', 'demo', '01a2077a-164d-77c2-b649-6092fa40e0d0'],
  migrate: ['migrate'],
  'readers merge': ['readers', 'merge', '--tenant', 'demo', '--from', 'jsonl:ann', '--into', 'jsonl:bob'],
  doctor: ['doctor'],
  'tenant create': ['tenant', 'create', '--slug', 'other'],
  'secrets reseal': ['secrets', 'reseal'],
  'key list': ['key', 'list', '--tenant', 'demo'],
}

describe.each(Object.entries(COMMANDS))('%s', (_, args) => {
  test.each(['SIGTERM', 'SIGINT'] as const)('ends within a second after %s while it computes', async (signal) => {
    for (const afterMs of [0, 150]) {
      const child = start(args, {
        NODE_OPTIONS: `--import ${join(folder, 'busy.mjs')}`,
        BUSY_AFTER_MS: String(afterMs),
      })
      const { code, ms } = await signalled(child, signal, says(child, 'busy'))
      expect(code).toBe(signal === 'SIGINT' ? 130 : 143)
      expect(ms).toBeLessThan(MOST_MS)
      expect(readdirSync(folder).filter((name) => name.endsWith('.part'))).toEqual([])
    }
  })

  test.runIf(onServer)('ends within a second after SIGTERM while it waits for the database', async () => {
    const url = new URL(env['DATABASE_URL'] ?? '')
    const proxy = await startProxy({ host: url.hostname, port: Number(url.port) })
    try {
      url.host = `127.0.0.1:${proxy.port}`
      // Answers that were lost, of statements that may still run.
      const silent = new Promise<void>((resolve) => {
        let chunks = 0
        proxy.swallow(() => {
          if (++chunks === ANSWERS) resolve()
          return chunks >= ANSWERS
        })
      })
      const child = start(args, { DATABASE_URL: url.href })
      child.stderr.resume()
      const { code, ms } = await signalled(child, 'SIGTERM', silent)
      expect(code).toBe(143)
      expect(ms).toBeLessThan(MOST_MS)
    } finally {
      await proxy.close()
    }
  })
})

test('an export to a reader that does not read ends within a second', async () => {
  expect(await run(...(COMMANDS['import'] ?? []))).toBe(0)
  const child = start(['export', '--tenant', 'demo'])
  child.stderr.resume()
  const exited = once(child, 'exit')
  await once(child.stdout, 'readable')
  const since = performance.now()
  child.kill('SIGTERM')
  expect(await exited).toEqual([143, null])
  expect(performance.now() - since).toBeLessThan(MOST_MS)
})

test('a command whose thread cannot be ended has its status, and says that it was stopped', async () => {
  const child = start(COMMANDS['import'] ?? [], {
    NODE_OPTIONS: `--import ${join(folder, 'busy.mjs')}`,
    BUSY_AFTER_MS: '0',
    NATIVE: 'true',
  })
  child.stdout.resume()
  let said = ''
  const busy = new Promise<void>((resolve) =>
    child.stderr.on('data', (chunk) => {
      said += String(chunk)
      if (said.includes('busy')) resolve()
    }),
  )
  const closed = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>
  await busy
  child.kill('SIGINT')
  expect([statusOf(...(await closed)), said]).toEqual([130, 'busy\nstopped\n'])
})

/** The last line of an import. */
interface Ended {
  report: { counts: Record<string, number>; already: number; refused: { total: number } }
}

test('an import that was ended while it computed goes on, and brings the same as one run', async () => {
  const args = [...(COMMANDS['import'] ?? []), '--as', 'again']
  for (const afterMs of [100, 250, 500, 900]) {
    const child = start(args, { NODE_OPTIONS: `--import ${join(folder, 'busy.mjs')}`, BUSY_AFTER_MS: String(afterMs) })
    child.stdout.resume()
    const exited = once(child, 'exit')
    await Promise.race([says(child, 'busy'), exited])
    child.kill('SIGTERM')
    await exited
  }
  const child = start(args)
  let out = ''
  child.stdout.on('data', (chunk) => (out += String(chunk)))
  child.stderr.resume()
  expect(await once(child, 'close')).toEqual([0, null])
  const { counts, already, refused } = (JSON.parse(out.trim().split('\n').at(-1) ?? '') as Ended).report
  // One of the earlier runs may have come to its end: then all is there already.
  expect(Math.max(counts.comments ?? 0, already)).toBeGreaterThanOrEqual(COMMENTS)
  expect(refused.total).toBe(0)
})
