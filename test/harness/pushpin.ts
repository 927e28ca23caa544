import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

import { freePort } from './ports.ts'
import { findProgram } from './programs.ts'

export const PUSHPIN = findProgram(process.env.PUSHPIN, 'pushpin')

const FILE = fileURLToPath(new URL('../../deploy/pushpin/pushpin.conf', import.meta.url))

const PROGRAMS = ['condure', 'zurl', 'pushpin-proxy', 'pushpin-handler']

/** A Pushpin with the configuration that this repository ships. */
export interface Pushpin {
  url: string
  /** Its own statistics. */
  metricsUrl: string
  /** What the service needs to know of it. */
  env: { GRIP_URL: string; GRIP_KEY: string; GRIP_ISSUER: string; TRUSTED_PROXIES: string }
  /** Its programs. */
  pids(): number[]
  /** In front of these, which it asks in turn. */
  start(upstreams: readonly string[]): Promise<void>
  /** As a machine that loses power: all of its programs at once. */
  kill(): Promise<void>
  close(): Promise<void>
}

export async function makePushpin(): Promise<Pushpin> {
  const program = PUSHPIN
  if (program === undefined) throw new Error('it is not installed')
  const folder = mkdtempSync(join(tmpdir(), 'engagement-pushpin-'))
  const [port, control, metrics] = [await freePort(), await freePort(), await freePort()]
  const GRIP_KEY = 'a-key-of-the-tests-which-has-32-bytes'
  const config = readFileSync(FILE, 'utf8')
    .replace('rundir=/var/run/pushpin', `rundir=${folder}`)
    .replace('logdir=/var/log/pushpin', `logdir=${folder}`)
    .replace('http_port=7999', `http_port=127.0.0.1:${port}`)
    .replace('push_in_http_port=5561', `push_in_http_port=${control}`)
    .replace('prometheus_port=127.0.0.1:7998', `prometheus_port=127.0.0.1:${metrics}`)
    .replace('${GRIP_KEY}', GRIP_KEY)
  writeFileSync(join(folder, 'pushpin.conf'), config)
  const pids = (): number[] => PROGRAMS.map((name) => Number(readFileSync(join(folder, `${name}.pid`), 'utf8')))
  let killed: (() => Promise<void>) | null = null
  const kill = async (): Promise<void> => {
    await killed?.()
    killed = null
  }
  return {
    url: `http://127.0.0.1:${port}`,
    metricsUrl: `http://127.0.0.1:${metrics}/metrics`,
    env: {
      GRIP_URL: `http://127.0.0.1:${control}`,
      GRIP_KEY,
      GRIP_ISSUER: 'pushpin',
      TRUSTED_PROXIES: '127.0.0.0/8',
    },
    pids,
    start: async (upstreams) => {
      const routes = upstreams.map((url) => new URL(url).host).join(' ')
      writeFileSync(join(folder, 'routes'), `* ${routes}\n`)
      const child = spawn(program, ['--config', join(folder, 'pushpin.conf')], { stdio: 'ignore' })
      const exited = new Promise((resolve) => child.once('exit', resolve))
      // Each of its programs is in a process group of its own.
      const end = (): void => {
        child.kill('SIGKILL')
        for (const pid of pids()) process.kill(pid, 'SIGKILL')
      }
      process.once('exit', end)
      killed = async () => {
        process.off('exit', end)
        end()
        await exited
      }
      await answer([`http://127.0.0.1:${control}/`, `http://127.0.0.1:${port}/`])
    },
    kill,
    close: async () => {
      await kill()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/**
 * Resolves once all of these answer, whatever it is. A request that came before all programs of a
 * Pushpin were there is never answered. No vitest: benches use it too.
 */
async function answer(urls: readonly string[]): Promise<void> {
  const deadline = Date.now() + 10_000
  for (;;) {
    try {
      await Promise.all(urls.map((url) => fetch(url, { signal: AbortSignal.timeout(1000) })))
      return
    } catch (error) {
      if (Date.now() > deadline) throw error
      await pause(20)
    }
  }
}
