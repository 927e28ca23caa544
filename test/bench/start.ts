import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

import { childrenCpuMs, cpuMsOf, MAIN, median } from './service.ts'

const ROUNDS = 9
/** Of a database that DATABASE_URL names. */
const KEYS = { ADMIN_JWT_SECRET: 'a'.repeat(32), ENCRYPTION_KEY: Buffer.alloc(32).toString('base64') }

interface Start {
  wallMs: number
  cpuMs: number
}

/**
 * Starts of the built service on the embedded database, to ready, beside `node -e 0`. DATABASE_URL
 * names a database for starts on PostgreSQL, and for a command. START_BESIDE names the `main.js` of
 * another build to measure in turn with this one.
 */
export async function benchStart(): Promise<void> {
  console.log(`start: ms to ready, median of ${ROUNDS}`)
  const { START_BESIDE: other, DATABASE_URL } = process.env
  const builds = [['this build', MAIN] as const, ...(other === undefined ? [] : [['the other', other] as const])]
  const folder = mkdtempSync(join(tmpdir(), 'engagement-bench-'))
  const starts = new Map<string, Start[]>()
  const note = (name: string, start: Start): unknown => starts.set(name, [...(starts.get(name) ?? []), start])
  try {
    for (let round = 0; round < ROUNDS; round++) {
      note('node -e 0', await startOf(['-e', 'process.send(0); setInterval(() => 0, 1000)'], { DATA_DIR: folder }))
      for (const [name, main] of builds) {
        const data = join(folder, `${name} ${round}`)
        note(`${name}, first start`, await startOf([main], { DATA_DIR: data }))
        note(`${name}, second start`, await startOf([main], { DATA_DIR: data }))
        rmSync(data, { recursive: true })
        if (DATABASE_URL === undefined) continue
        const env = { DATABASE_URL, ...KEYS }
        note(`${name}, on PostgreSQL`, await startOf([main], env))
        note(`${name}, a command`, await runOf([join(dirname(main), 'cli/cli.js'), 'tenant', 'list'], env))
      }
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  for (const [name, all] of starts) {
    const [wall, cpu] = [median(all.map(({ wallMs }) => wallMs)), median(all.map(({ cpuMs }) => cpuMs))]
    console.log(`  ${name}: ${wall.toFixed(0)} ms, CPU of the process ${cpu.toFixed(0)} ms`)
  }
}

async function startOf(args: readonly string[], env: Record<string, string>): Promise<Start> {
  const startedAt = performance.now()
  const child = spawnNode(args, env)
  const exited = once(child, 'exit')
  await Promise.race([once(child, 'message'), exited.then(() => Promise.reject(new Error('it did not start')))])
  const start = { wallMs: performance.now() - startedAt, cpuMs: cpuMsOf(child.pid ?? 0) }
  child.kill('SIGTERM')
  await exited
  return start
}

async function runOf(args: readonly string[], env: Record<string, string>): Promise<Start> {
  const [startedAt, before] = [performance.now(), childrenCpuMs()]
  await once(spawnNode(args, env), 'exit')
  return { wallMs: performance.now() - startedAt, cpuMs: childrenCpuMs() - before }
}

function spawnNode(args: readonly string[], env: Record<string, string>): ChildProcess {
  const { PATH } = process.env
  return spawn(process.execPath, ['--enable-source-maps', ...args], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: { PATH, PORT: '0', LOG_LEVEL: 'warn', DRAIN_SECONDS: '0', ...env },
  })
}
