import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'

import { Redis } from 'ioredis'

import { freePort } from './ports.ts'

/** Whether this machine can start a Redis of one's own. */
export const hasRedisServer = spawnSync('redis-server', ['--version'], { stdio: 'ignore' }).status === 0

/** A Redis that nobody else uses, in memory. */
export interface OwnRedis {
  url: string
  /** Runs one command. */
  command(name: string, ...args: string[]): Promise<unknown>
  /** Away at once, with all that it holds. */
  stop(): Promise<void>
  /** Again on the same port. */
  start(): Promise<void>
}

const running = new Set<ChildProcess>()
process.on('exit', () => running.forEach((child) => child.kill('SIGKILL')))

export async function startRedis(): Promise<OwnRedis> {
  const port = await freePort()
  const url = `redis://127.0.0.1:${port}`
  let child = await run(port, url)
  return {
    url,
    command: (...command) => commandAt(url, command),
    stop: () => stop(child),
    start: async () => {
      child = await run(port, url)
    },
  }
}

async function run(port: number, url: string): Promise<ChildProcess> {
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no']
  const child = spawn('redis-server', args, { cwd: tmpdir(), stdio: 'ignore' })
  running.add(child)
  for (let attempt = 0; attempt < 100 && child.exitCode === null; attempt++) {
    if ((await commandAt(url, ['PING']).catch(() => null)) === 'PONG') return child
    await pause(50)
  }
  await stop(child)
  throw new Error(`redis-server does not answer on port ${port}`)
}

async function stop(child: ChildProcess): Promise<void> {
  running.delete(child)
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}

async function commandAt(url: string, [name, ...args]: [string, ...string[]]): Promise<unknown> {
  const client = new Redis(url, { lazyConnect: true, maxRetriesPerRequest: 0, retryStrategy: () => null })
  client.on('error', () => undefined)
  try {
    await client.connect()
    return await client.call(name, ...args)
  } finally {
    client.disconnect()
  }
}
