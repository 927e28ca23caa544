import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { cpuMsOf, MAIN, median } from './service.ts'

const ROUNDS = 7

interface Start {
  wallMs: number
  cpuMs: number
}

/**
 * Starts of the built service on the embedded database, to ready, beside `node -e 0`. START_BESIDE
 * names the `main.js` of another build to measure in turn with this one.
 */
export async function benchStart(): Promise<void> {
  console.log(`start: ms to ready, median of ${ROUNDS}`)
  const { START_BESIDE: other } = process.env
  const builds = [['this build', MAIN] as const, ...(other === undefined ? [] : [['the other', other] as const])]
  const folder = mkdtempSync(join(tmpdir(), 'engagement-bench-'))
  const starts = new Map<string, Start[]>()
  const note = (name: string, start: Start): unknown => starts.set(name, [...(starts.get(name) ?? []), start])
  try {
    for (let round = 0; round < ROUNDS; round++) {
      note('node -e 0', await startOf(['-e', 'process.send(0); setInterval(() => 0, 1000)'], folder))
      for (const [name, main] of builds) {
        const data = join(folder, `${name} ${round}`)
        note(`${name}, first start`, await startOf([main], data))
        note(`${name}, second start`, await startOf([main], data))
        rmSync(data, { recursive: true })
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

async function startOf(args: readonly string[], DATA_DIR: string): Promise<Start> {
  const { PATH } = process.env
  const startedAt = performance.now()
  const child = spawn(process.execPath, ['--enable-source-maps', ...args], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: { PATH, PORT: '0', LOG_LEVEL: 'warn', DRAIN_SECONDS: '0', DATA_DIR },
  })
  const exited = once(child, 'exit')
  await Promise.race([once(child, 'message'), exited.then(() => Promise.reject(new Error('it did not start')))])
  const start = { wallMs: performance.now() - startedAt, cpuMs: cpuMsOf(child.pid ?? 0) }
  child.kill('SIGTERM')
  await exited
  return start
}
