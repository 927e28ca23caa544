// npm run test:full [-- part …]: every test, whatever fails, and the benches at their smallest
// size. It ends with a table of what failed and what took longest, and writes all of it to
// test-full.json. Random cases have a new seed in each run.
import { spawn, spawnSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'

import { filesOf, hasUncaughtError } from './report.mjs'
import { startNewest } from './newest.mjs'

const SEED = Number(process.env.TEST_SEED ?? randomInt(2 ** 31 - 1))
const CORES = availableParallelism()
// PostgreSQL takes 100 connections. A test has some ten of them, and a few tests have thirty.
const SERVER_WORKERS = Math.min(2 * CORES, 5)
const SLOWEST = 15

const { DATABASE_URL, REDIS_URL, ...rest } = process.env
const embedded = { ...rest, TEST_SEED: String(SEED) }
const servers = {
  ...embedded,
  DATABASE_URL: DATABASE_URL ?? 'postgres://postgres@127.0.0.1:5432/postgres',
  REDIS_URL: REDIS_URL ?? 'redis://127.0.0.1:6379',
}

/** Each part: its folders of tests, its settings, its number of workers. */
const PARTS = {
  unit: { folders: ['unit'], env: { ...embedded, TEST_EFFORT: 'full' }, workers: CORES + 1 },
  contract: { folders: ['contract', 'jobs', 'clients', 'main', 'models'], env: embedded, workers: CORES + 1 },
  docs: { folders: ['docs', 'programs'], env: embedded, workers: CORES },
  timing: { folders: ['timing'], env: embedded, workers: 1 },
  'timing-servers': { folders: ['timing'], env: servers, workers: 1 },
  embedded: { folders: ['faults'], env: embedded, workers: CORES + 1 },
  faults: { folders: ['faults'], env: servers, workers: SERVER_WORKERS },
  scale: { folders: ['scale'], env: servers, workers: CORES },
  browser: { folders: ['browser'], env: servers, workers: SERVER_WORKERS },
  cluster: { folders: ['cluster'], env: servers, workers: CORES },
  servers: {
    folders: ['contract', 'jobs', 'clients', 'main', 'models', 'programs'],
    env: servers,
    workers: CORES + 1,
  },
  newest: { folders: ['contract', 'jobs', 'clients', 'main', 'models'], env: servers, workers: CORES + 1 },
}
const BENCH = 'bench'

const names = [...Object.keys(PARTS), BENCH]
const asked = process.argv.slice(2)
const unknown = asked.filter((name) => !names.includes(name))
if (unknown.length > 0) {
  console.error(`no part ${unknown.join(', ')}; there are ${names.join(', ')}`)
  process.exit(2)
}
const isAsked = (name) => asked.length === 0 || asked.includes(name)

const folder = mkdtempSync(join(tmpdir(), 'engagement-full-'))
const rows = []
const failures = []
let newest

try {
  const { status } = spawnSync(join(import.meta.dirname, 'programs.sh'), { stdio: 'inherit' })
  if (status !== 0) failures.push('packages of the tests could not be installed; see above')
  for (const [name, part] of Object.entries(PARTS)) {
    if (!isAsked(name)) continue
    await runPart(name, part)
    // A run that is stopped keeps the parts that it has finished.
    write()
  }
  if (isAsked(BENCH)) await runBench()
} finally {
  await newest?.stop()
  rmSync(folder, { recursive: true, force: true })
}
report()

async function runPart(name, { folders, env, workers }) {
  console.log(`\n== ${name}`)
  const settings = { ...env, TEST_PARTS: folders.join() }
  if (name === 'newest') {
    newest = await startNewest()
    if (newest === null) return void failures.push(`${name}: the newest Node and PostgreSQL could not be installed`)
    Object.assign(settings, { PATH: newest.path, DATABASE_URL: newest.url })
  }
  const first = await vitest(`${name}-1`, [], workers, settings)
  if (first === null) return void failures.push(`${name}: no report; see above`)
  const failed = first.files.flatMap((each) => (each.failed ? [each.file] : []))
  const second = failed.length === 0 ? null : await vitest(`${name}-2`, failed, 1, settings)
  // A second try of the failed files says nothing about it.
  if (first.uncaught || second?.uncaught || (first.code !== 0 && failed.length === 0))
    failures.push(`${name}: an error that no test caught; see above`)
  const passedAgain = new Set(second?.files.flatMap((each) => (each.failed ? [] : [each.file])))
  for (const { file, failed: isFailed, seconds } of first.files) {
    const again = passedAgain.has(file) ? 'passed' : 'failed'
    rows.push({ part: name, file, first: isFailed ? 'failed' : 'passed', second: isFailed ? again : null, seconds })
  }
}

/** Runs files, all of the settings' parts by default. Null where there is no report. */
async function vitest(name, files, workers, env) {
  const output = join(folder, `${name}.json`)
  const args = [
    'vitest',
    'run',
    '--root',
    '.',
    '--config',
    'test/vitest.config.ts',
    ...files,
    `--maxWorkers=${workers}`,
  ]
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${output}`]
  const { code, log } = await run('npx', [...args, ...reporters], env)
  try {
    return { code, uncaught: hasUncaughtError(log), files: filesOf(output) }
  } catch {
    return null
  }
}

async function runBench() {
  console.log(`\n== ${BENCH}`)
  const began = Date.now()
  const { code } = await run('npm', ['run', 'bench'], { ...servers, BENCH_SIZE: 'smallest' })
  const seconds = Math.round((Date.now() - began) / 1000)
  rows.push({
    part: BENCH,
    file: 'npm run bench',
    first: code === 0 ? 'passed' : 'failed',
    second: null,
    seconds,
  })
}

/** Runs a program, shows what it says, and keeps that as `log`. */
function run(program, args, env) {
  return new Promise((resolve) => {
    const child = spawn(program, args, { env: { ...env, NO_COLOR: '1' }, stdio: ['ignore', 'pipe', 'pipe'] })
    let log = ''
    const show = (to) => (text) => {
      log += text
      to.write(text)
    }
    child.stdout.setEncoding('utf8').on('data', show(process.stdout))
    child.stderr.setEncoding('utf8').on('data', show(process.stderr))
    child.once('error', () => resolve({ code: 1, log })).once('close', (code) => resolve({ code: code ?? 1, log }))
  })
}

function write() {
  writeFileSync('test-full.json', JSON.stringify({ seed: SEED, rows, failures }, null, 2))
}

function report() {
  write()
  const failed = rows.filter(({ first }) => first === 'failed')
  const slowest = rows.toSorted((a, b) => b.seconds - a.seconds).slice(0, SLOWEST)
  if (failed.length > 0) printTable('Failed', failed)
  printTable('Longest', slowest)
  const parts = new Map()
  for (const row of rows) parts.set(row.part, [...(parts.get(row.part) ?? []), row])
  console.log('\n| Part | Files | Failed once | Failed twice |\n|---|---|---|---|')
  for (const [part, some] of parts) {
    const once = some.filter(({ second }) => second === 'passed')
    const twice = some.filter(isFault)
    console.log(`| ${part} | ${some.length} | ${once.length} | ${twice.length} |`)
  }
  for (const failure of failures) console.log(failure)
  console.log(`\nTEST_SEED=${SEED}`)
  process.exitCode = failures.length > 0 || rows.some(isFault) ? 1 : 0
}

/** What fails twice is a fault, of the product or of the test. */
function isFault({ first, second }) {
  return first === 'failed' && second !== 'passed'
}

function printTable(title, some) {
  console.log(`\n${title}:\n\n| Part | File | First try | Second try | Seconds |\n|---|---|---|---|---|`)
  for (const { part, file, first, second, seconds } of some)
    console.log(`| ${part} | ${file} | ${first} | ${second ?? ''} | ${seconds} |`)
}
