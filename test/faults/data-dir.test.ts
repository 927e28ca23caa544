import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'

import { openCopy, openEmbedded } from '../../src/data/embedded/embedded.ts'
import { holderOf, lockFolder } from '../../src/data/embedded/folder-lock.ts'
import { makeDataDir } from '../harness/database.ts'
import { findProgram } from '../harness/programs.ts'

const LOCK = pathToFileURL(join(import.meta.dirname, '../../src/data/embedded/folder-lock.ts')).href
const WAIT = { timeout: 30_000, interval: 5 }

/** Takes the lock and keeps it until it is killed; says `held`, or why not. */
const HOLD = `import(${JSON.stringify(LOCK)}).then(async ({ lockFolder }) => {
  await lockFolder(process.argv[1])
  console.log('held')
  setInterval(() => undefined, 1000)
}).catch(({ message }) => console.log(message))`

/**
 * Takes and releases the lock many times; says how often it had it, and how often another process
 * had it then too.
 */
const RACE = `import(${JSON.stringify(LOCK)}).then(async ({ lockFolder }) => {
  const { openSync, closeSync, rmSync } = await import('node:fs')
  const [, folder, rounds] = process.argv
  let held = 0, overlaps = 0
  while (held < Number(rounds)) {
    const release = await lockFolder(folder).catch(() => null)
    if (release === null) continue
    held++
    try { closeSync(openSync(folder + '/marker', 'wx')) } catch { overlaps++ }
    await new Promise((resolve) => setTimeout(resolve, 2))
    rmSync(folder + '/marker', { force: true })
    release()
    await new Promise(setImmediate)
  }
  console.log(JSON.stringify({ held, overlaps }))
})`

let folder: string
const children = new Set<ChildProcess>()

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'engagement-lock-'))
})
afterEach(() => {
  for (const child of children) child.kill('SIGKILL')
  children.clear()
  rmSync(folder, { recursive: true, force: true })
})

interface Program {
  child: ChildProcess
  /** Its first line. */
  line: Promise<string>
  gone: Promise<unknown>
}

function start(program: string, args: string[], wrapper: readonly string[] = []): Program {
  const [command = '', ...rest] = [...wrapper, process.execPath, '--import', 'tsx', '-e', program, folder, ...args]
  const child = spawn(command, rest, { stdio: ['ignore', 'pipe', 'inherit'] })
  children.add(child)
  const line = new Promise<string>((resolve, reject) => {
    let text = ''
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
      if (text.includes('\n')) resolve(text.slice(0, text.indexOf('\n')))
    })
    child.on('error', reject)
  })
  return { child, line, gone: new Promise((resolve) => child.on('exit', resolve)) }
}

const REFUSAL = /^DATA_DIR: \S+ is in use by process \d+ on \S+: stop it, or set another folder$/

test('of processes that race for the lock, only one has it at a time', async () => {
  const rounds = 25
  const racers = Array.from({ length: 4 }, () => start(RACE, [String(rounds)]))
  const results = await Promise.all(racers.map(async ({ line }) => JSON.parse(await line) as unknown))
  expect(results).toEqual(racers.map(() => ({ held: rounds, overlaps: 0 })))
})

test('of several starts one gets the lock, and kill -9 of it frees the lock for the next ones', async () => {
  for (let round = 0; round < 3; round++) {
    const starts = Array.from({ length: 3 }, () => start(HOLD, []))
    const lines = await Promise.all(starts.map(({ line }) => line))
    expect(lines.filter((line) => line === 'held')).toHaveLength(1)
    for (const line of lines.filter((other) => other !== 'held')) expect(line).toMatch(REFUSAL)
    for (const { child, gone } of starts) {
      child.kill('SIGKILL')
      await gone
    }
    expect(holderOf(folder)).toBeNull()
  }
})

const UNSHARE = [findProgram('unshare') ?? 'unshare', '--pid', '--fork', '--kill-child', '--mount-proc']
const [unshare = '', ...unshareArgs] = UNSHARE
const canUnshare = spawnSync(unshare, [...unshareArgs, 'true']).status === 0

test.skipIf(!canUnshare)(
  `two processes with the same number in two PID namespaces: the second is refused${canUnshare ? '' : ' (skipped: needs unshare and its rights)'}`,
  async () => {
    expect(await start(HOLD, [], UNSHARE).line).toBe('held')
    expect(await start(HOLD, [], UNSHARE).line).toContain(`is in use by process 1 on ${hostname()}:`)
    expect(await start(HOLD, []).line).toMatch(REFUSAL)
  },
)

test('a second lock of the same process is refused until the first is released', async () => {
  const release = await lockFolder(folder)
  await expect(lockFolder(folder)).rejects.toThrow(REFUSAL)
  release()
  const again = await lockFolder(folder)
  again()
  // A removed file could be locked a second time under its name.
  expect(existsSync(join(folder, 'lock'))).toBe(true)
})

test('a start waits for a process that only tests the lock', async () => {
  let isStarting = true
  const looking = (async () => {
    while (isStarting) {
      holderOf(folder)
      await new Promise(setImmediate)
    }
  })()
  const release = await lockFolder(folder)
  isStarting = false
  await looking
  await vi.waitFor(() => expect(holderOf(folder)).toContain(`process ${process.pid} on `), WAIT)
  release()
  expect(holderOf(folder)).toBeNull()
})

test('looking at an unused folder creates nothing', () => {
  expect(holderOf(folder)).toBeNull()
  expect(readdirSync(folder)).toEqual([])
})

/** Ways to damage the files of a database. */
const DAMAGES: readonly [string, (postgres: string) => void][] = [
  ['an empty PG_VERSION', (postgres) => truncateSync(join(postgres, 'PG_VERSION'), 0)],
  ['half of its control file', (postgres) => truncateSync(join(postgres, 'global/pg_control'), 100)],
  ['no write-ahead log', (postgres) => rmSync(join(postgres, 'pg_wal'), { recursive: true })],
  ['no state of transactions', (postgres) => rmSync(join(postgres, 'pg_xact'), { recursive: true })],
  ['an empty catalog', (postgres) => truncateSync(join(postgres, 'base/5/1259'), 0)],
  ['noise in a catalog', (postgres) => writeFileSync(join(postgres, 'base/5/1259'), randomBytes(100_000))],
]

test.each(DAMAGES)('a database with %s: one line that says what to do, and the lock is free', async (_what, damage) => {
  makeDataDir(folder)
  damage(join(folder, 'postgres'))
  const line = new RegExp(
    `^DATA_DIR: the files of the database in ${folder}/postgres are damaged, .*: restore DATA_DIR`,
  )
  await expect(openEmbedded(folder)).rejects.toThrow(line)
  await expect(openCopy(folder)).rejects.toThrow(line)
  expect(holderOf(folder)).toBeNull()
})

describe('a platform without a lock', () => {
  const { arch } = process
  afterEach(() => Object.defineProperty(process, 'arch', { value: arch }))

  test('is refused, and nothing is opened', async () => {
    Object.defineProperty(process, 'arch', { value: 'abacus' })
    await expect(lockFolder(folder)).rejects.toThrow(/^DATA_DIR: .*-abacus: set DATABASE_URL instead$/)
    expect(readdirSync(folder)).toEqual([])
  })
})
