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
  dataDir: string
  admin: { email: string; password: string }
  tenant: string
  apiKey: string
  identitySecret: string
  /** Stops it as an operator would, and removes its files. Throws where it does not end well. */
  stop(): Promise<void>
}

interface Options {
  /** Trusted for webhooks. */
  caFile?: string
  /** Whether the data are left behind. */
  keep?: boolean
  /** Of who is interrupted: 0 where that is the way to end. */
  exitCode?: number
}

/** The service as `npm start` runs it, in a process of its own, on an empty folder. */
export async function startService({ caFile, keep = false, exitCode = 1 }: Options): Promise<DemoService> {
  const dataDir = mkdtempSync(join(tmpdir(), 'engagement-demo-'))
  const port = await freePort()
  const apiKey = `ek_${randomBytes(32).toString('hex')}`
  const identitySecret = `ids_${randomBytes(32).toString('hex')}`
  const admin = { email: 'admin@example.com', password: randomBytes(9).toString('base64url') }
  const { PATH } = process.env
  const child = spawn(process.execPath, ['--enable-source-maps', MAIN], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    // Nothing else of the environment: a DATABASE_URL there must not turn the demo on a real
    // database.
    env: {
      ...(PATH === undefined ? {} : { PATH }),
      DATA_DIR: dataDir,
      PORT: String(port),
      LOG_LEVEL: 'warn',
      // No load balancer waits for word.
      DRAIN_SECONDS: '0',
      BOOTSTRAP_TENANT: 'demo',
      BOOTSTRAP_API_KEY: apiKey,
      BOOTSTRAP_IDENTITY_SECRET: identitySecret,
      BOOTSTRAP_ADMIN_EMAIL: admin.email,
      BOOTSTRAP_ADMIN_PASSWORD: admin.password,
      ...(caFile === undefined ? {} : { WEBHOOK_CA_FILE: caFile }),
      WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8',
    },
  })
  const exited = once(child, 'exit')
  // Whatever ends the demo must not leave the service behind.
  process.once('exit', () => {
    child.kill('SIGKILL')
    if (!keep) rmSync(dataDir, { recursive: true, force: true })
  })
  const end = async (): Promise<void> => {
    child.kill('SIGTERM')
    await exited
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void end().then(() => process.exit(exitCode)))
  const isReady = await Promise.race([once(child, 'message').then(() => true), exited.then(() => false)])
  if (!isReady) throw new Error('the service did not start')
  return {
    url: `http://127.0.0.1:${port}`,
    dataDir,
    admin,
    tenant: 'demo',
    apiKey,
    identitySecret,
    stop: async () => {
      await end()
      if (child.exitCode !== 0) throw new Error(`the service stopped with status ${child.exitCode}`)
    },
  }
}
