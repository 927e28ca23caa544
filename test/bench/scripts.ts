import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

import { freePort } from '../harness/ports.ts'
import { cpuMsOf } from './proc.ts'

/** A process of the bench's own, and the CPU that it uses. */
export interface BenchProcess {
  pid: number
  port: number
  /** Milliseconds of CPU that the process has used. */
  cpuMs(): number
  close(): Promise<void>
}

interface Closes {
  close(): Promise<unknown> | void
}

/** Closes what `work` has opened, the last one first, also where it fails. */
export async function closing<T>(work: (opened: <O extends Closes>(one: O) => O) => Promise<T>): Promise<T> {
  const open: Closes[] = []
  const [done] = await Promise.allSettled([work((one) => (open.unshift(one), one))])
  const closed: PromiseSettledResult<unknown>[] = []
  for (const one of open) closed.push(...(await Promise.allSettled([one.close()])))
  for (const each of [done, ...closed]) if (each.status === 'rejected') throw each.reason
  return (done as PromiseFulfilledResult<T>).value
}

/** The bare server (bare.ts) on the database of a service. */
export const startBareServer = (
  { databaseUrl }: { databaseUrl: string },
  env: Record<string, string>,
): Promise<BenchProcess> => startBare('bare.ts', { ...env, DATABASE_URL: databaseUrl })

/** The bare event stream (bare-stream.ts). */
export const startBareStream = (env: Record<string, string>): Promise<BenchProcess> => startBare('bare-stream.ts', env)

/** Bare Node that refuses each request (bare-refusal.ts). */
export const startBareRefusal = (): Promise<BenchProcess> => startBare('bare-refusal.ts', {})

async function startBare(file: string, env: Record<string, string>): Promise<BenchProcess> {
  const port = await freePort()
  const script = await startScript(file, { PORT: String(port), ...env })
  return { ...script, port }
}

/** A script of the benches in a process of its own. */
export interface Script extends Omit<BenchProcess, 'port'> {
  /** Its message when it was ready. */
  hello: unknown
  ask(question: object): Promise<unknown>
}

/**
 * Starts a script of this folder. It sends one message when it is ready, and one for each that it
 * gets.
 */
export async function startScript(file: string, env: Record<string, string> = {}): Promise<Script> {
  const child = spawn(process.execPath, ['--import', 'tsx', join(import.meta.dirname, file)], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: { ...process.env, NODE_ENV: 'production', ...env },
  })
  const answer = async (): Promise<unknown> => {
    const asked = new AbortController()
    const ended = once(child, 'exit', asked).then(() => Promise.reject(new Error(`${file} has ended`)))
    try {
      return ((await Promise.race([once(child, 'message', asked), ended])) as unknown[])[0]
    } finally {
      ended.catch(() => 'the answer has come')
      asked.abort()
    }
  }
  return {
    hello: await answer(),
    ask: (question) => {
      const answered = answer()
      child.send(question)
      return answered
    },
    pid: child.pid ?? 0,
    cpuMs: () => cpuMsOf(child.pid ?? 0),
    close: () => end(child),
  }
}

/** Waits for its first message. */
export async function ready(child: ChildProcess): Promise<void> {
  await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(() => Promise.reject(new Error('it did not start'))),
  ])
}

/** Throws where the process has ended before. */
export async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) throw new Error(`the process ${child.pid} has ended early`)
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  await exited
}
