import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

import { type Beside, type Figures, inTurns, printTurns } from './figures.ts'
import { allCpuMsOf, childrenCpuMs } from './proc.ts'
import { closing } from './scripts.ts'
import { createDatabase, MAIN } from './service.ts'

/** Of the starts on PostgreSQL. */
const KEYS = { ADMIN_JWT_SECRET: 'a'.repeat(32), ENCRYPTION_KEY: Buffer.alloc(32).toString('base64') }

/**
 * Starts of the built service on the embedded database, to ready, beside `node -e 0`; starts on
 * PostgreSQL, and a command. START_BESIDE names the `main.js` of another build to measure in turn
 * with this one.
 */
export const benchStart = (): Promise<void> =>
  closing(async (opened) => {
    const { databaseUrl } = opened(await createDatabase())
    const folder = mkdtempSync(join(tmpdir(), 'engagement-bench-'))
    opened({ close: () => rmSync(folder, { recursive: true, force: true }) })
    const { START_BESIDE: other } = process.env
    const builds = { 'this build': MAIN, ...(other !== undefined && { 'the other': other }) }
    const data = { DATA_DIR: join(folder, 'data') }
    const server = { DATABASE_URL: databaseUrl, ...KEYS }
    const rounds = await inTurns<string, string, Starts>(
      builds,
      async (main) => {
        rmSync(data.DATA_DIR, { recursive: true, force: true })
        return {
          'node -e 0': await startOf(['-e', 'process.send(0); setInterval(() => 0, 1000)'], {}),
          'first start': await startOf([main], data),
          'second start': await startOf([main], data),
          'on PostgreSQL': await startOf([main], server),
          'a command': await runOf([join(dirname(main), 'cli/cli.js'), 'tenant', 'list'], server),
        }
      },
      { rounds: 9, warm: 0 },
    )
    const starts: Record<string, Figures[]> = {}
    const besides: Record<string, Beside> = {
      'this build, first start': ['this build, second start', 'time at most 1.3'],
    }
    for (const [name, all] of Object.entries(rounds)) {
      for (const kind of Object.keys(all[0] ?? {})) {
        starts[`${name}, ${kind}`] = all.map((each) => each[kind] ?? {})
        if (name !== 'this build') besides[`${name}, ${kind}`] = [`this build, ${kind}`]
      }
    }
    printTurns('start: to ready, CPU of the process', starts, besides)
  })

type Starts = Readonly<Record<string, Figures>>

async function startOf(args: readonly string[], env: Record<string, string>): Promise<Figures> {
  const startedAt = performance.now()
  const child = spawnNode(args, env)
  const exited = once(child, 'exit')
  await Promise.race([once(child, 'message'), exited.then(() => Promise.reject(new Error('it did not start')))])
  const start = { ms: performance.now() - startedAt, cpuMs: allCpuMsOf(child.pid ?? 0) }
  child.kill('SIGTERM')
  await exited
  return start
}

async function runOf(args: readonly string[], env: Record<string, string>): Promise<Figures> {
  const [startedAt, before] = [performance.now(), childrenCpuMs()]
  const [code] = (await once(spawnNode(args, env), 'exit')) as [number | null]
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}`)
  return { ms: performance.now() - startedAt, cpuMs: childrenCpuMs() - before }
}

function spawnNode(args: readonly string[], env: Record<string, string>): ChildProcess {
  const { PATH } = process.env
  return spawn(process.execPath, ['--enable-source-maps', ...args], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: { PATH, PORT: '0', LOG_LEVEL: 'warn', DRAIN_SECONDS: '0', ...env },
  })
}
