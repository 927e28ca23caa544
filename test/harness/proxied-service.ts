import { randomBytes } from 'node:crypto'

import { createServerDatabase } from './database.ts'
import { newSecrets } from './own-database.ts'
import { freePort } from './ports.ts'
import { type Run, runMain } from './processes.ts'
import { type Proxy, startProxy } from './proxy.ts'

/** One process on a database of its own, whose connections go through a proxy. */
export interface ProxiedService {
  url: string
  apiKey: string
  /** The database, past the proxy. */
  databaseUrl: string
  proxy: Proxy
  run: Run
  close(): Promise<void>
}

/** Starts it. Needs DATABASE_URL. */
export async function startProxiedService(): Promise<ProxiedService> {
  const apiKey = `ek_${randomBytes(32).toString('hex')}`
  const database = await createServerDatabase()
  const { hostname, port } = new URL(database.url)
  const proxy = await startProxy({ host: hostname, port: Number(port || 5432) })
  const proxied = new URL(database.url)
  proxied.host = `127.0.0.1:${proxy.port}`
  const PORT = String(await freePort())
  const run = runMain({
    PORT,
    DATABASE_URL: proxied.href,
    DATABASE_POOL_SIZE: '4',
    ...newSecrets(),
    BOOTSTRAP_API_KEY: apiKey,
    UNAUTHENTICATED_RATE_PER_SECOND: '0',
    LOG_LEVEL: 'warn',
    SHUTDOWN_GRACE_SECONDS: '2',
  })
  await run.ready
  const close = async () => {
    run.signal('SIGTERM')
    await run.exited
    await proxy.close()
    await database.drop()
  }
  return { url: `http://127.0.0.1:${PORT}`, apiKey, databaseUrl: database.url, proxy, run, close }
}
