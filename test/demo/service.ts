import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { freePort } from '../harness/ports.ts'

const MAIN = join(import.meta.dirname, '../../dist/main.js')

export interface DemoService {
  url: string
  tenant: string
  apiKey: string
  identitySecret: string
  /** Stops it as an operator would, and removes its files. Throws where it does not end well. */
  stop(): Promise<void>
}

/** The service as `npm start` runs it, in a process of its own, on an empty folder. It trusts the CA in `caFile`. */
export async function startService(caFile: string): Promise<DemoService> {
  const dataDir = mkdtempSync(join(tmpdir(), 'engagement-demo-'))
  const port = await freePort()
  const apiKey = `ek_${randomBytes(32).toString('hex')}`
  const identitySecret = `ids_${randomBytes(32).toString('hex')}`
  const { PATH } = process.env
  const child = spawn(process.execPath, ['--enable-source-maps', MAIN], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    // Nothing else of the environment: a DATABASE_URL there must not turn the demo on a real database.
    env: {
      ...(PATH === undefined ? {} : { PATH }),
      DATA_DIR: dataDir,
      PORT: String(port),
      LOG_LEVEL: 'warn',
      BOOTSTRAP_TENANT: 'demo',
      BOOTSTRAP_API_KEY: apiKey,
      BOOTSTRAP_IDENTITY_SECRET: identitySecret,
      WEBHOOK_CA_FILE: caFile,
      WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8',
    },
  })
  const exited = once(child, 'exit')
  // Whatever ends the demo must not leave the service behind.
  process.once('exit', () => {
    child.kill('SIGKILL')
    rmSync(dataDir, { recursive: true, force: true })
  })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
  const isReady = await Promise.race([once(child, 'message').then(() => true), exited.then(() => false)])
  if (!isReady) throw new Error('the service did not start')
  return {
    url: `http://127.0.0.1:${port}`,
    tenant: 'demo',
    apiKey,
    identitySecret,
    stop: async () => {
      child.kill('SIGTERM')
      await exited
      if (child.exitCode !== 0) throw new Error(`the service stopped with status ${child.exitCode}`)
    },
  }
}
