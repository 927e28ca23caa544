import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { promisify } from 'node:util'

import pg from 'pg'

import { freePort } from '../harness/ports.ts'
import { httpRequest } from './load.ts'
import { childOf, cpuMsOf } from './proc.ts'
import type { BenchProcess } from './scripts.ts'
import { createDatabase } from './service.ts'
import { isSmallest, skip } from './size.ts'

export const WALINE = '1.39.3'
const FOLDER = join(tmpdir(), `engagement-bench-waline-${WALINE}`)
const START_MS = 30_000

// Waline's own tables in the columns that it writes here, and an index that it lacks: without it,
// each page is a scan of all comments.
const TABLES = `
  CREATE TABLE wl_comment (id serial PRIMARY KEY, user_id int, comment text, insertedat timestamp(0) NOT NULL DEFAULT now(),
    ip varchar(100), link varchar(255), mail varchar(255), nick varchar(255), pid int, rid int, sticky numeric,
    status varchar(50) NOT NULL DEFAULT '', "like" int, ua text, url varchar(255), createdat timestamp(0) DEFAULT now(),
    updatedat timestamp(0) DEFAULT now());
  CREATE TABLE wl_users (id serial PRIMARY KEY, display_name varchar(255), email varchar(255), password varchar(255),
    type varchar(50), label varchar(255), url varchar(255), avatar varchar(255));
  CREATE INDEX ON wl_comment (url);`

const FILL = `
  INSERT INTO wl_comment (comment, nick, mail, link, ua, ip, url, status, insertedat)
  SELECT 'I have read this twice, and I still think that point ' || n || ' is missed by the author.', 'Reader ' || n % 200,
    'reader-' || n % 200 || '@example.com', '', 'Mozilla/5.0', '127.0.0.1', '/page-' || d, 'approved',
    now() - interval '30 days' + n * interval '1 second'
  FROM generate_series(0, $1::int - 1) AS d CROSS JOIN generate_series(1, $2::int) AS n`

export interface Waline extends BenchProcess {
  /** How many comments there are. */
  count(): Promise<number>
}

/**
 * Waline from the npm registry, on a PostgreSQL database of its own with `discussions` pages of
 * `comments` each; null where it cannot be installed.
 */
export async function startWaline(size: { discussions: number; comments: number }): Promise<Waline | null> {
  if (!(await install())) return skip(`Waline ${WALINE}`)
  const database = await createDatabase()
  const url = new URL(database.databaseUrl)
  const client = new pg.Client({ connectionString: url.href })
  await client.connect()
  await client.query(TABLES)
  await client.query(FILL, [size.discussions, size.comments])
  await client.query('VACUUM ANALYZE')
  // It asks this address at every request for the available sign-in services.
  const oauth = createServer((_request, response) => void response.end('{"services":[]}')).listen(0, '127.0.0.1')
  await once(oauth.unref(), 'listening')
  const port = await freePort()
  const child = spawn(process.execPath, [join(FOLDER, 'node_modules/@waline/vercel/vanilla.js'), String(port)], {
    stdio: 'ignore',
    env: {
      PATH: process.env.PATH,
      NODE_ENV: 'production',
      PG_HOST: url.hostname,
      PG_PORT: url.port || '5432',
      PG_USER: url.username,
      PG_PASSWORD: url.password || 'none',
      PG_DB: url.pathname.slice(1),
      OAUTH_URL: `http://127.0.0.1:${(oauth.address() as AddressInfo).port}`,
      // No pause between two comments of one address.
      IPQPS: '0',
      // It would ask Akismet over the internet, and look for a way to tell the site's owner.
      AKISMET_KEY: 'false',
      DISABLE_AUTHOR_NOTIFY: 'true',
    },
  })
  const exited = once(child, 'exit')
  await answers(port).catch((error: unknown) => {
    child.kill('SIGKILL')
    throw error
  })
  // A master, and one worker that serves.
  const pid = childOf(child)
  return {
    pid,
    port,
    cpuMs: () => cpuMsOf(pid),
    count: async () =>
      Number((await client.query<{ count: string }>('SELECT count(*) FROM wl_comment')).rows[0]?.count),
    close: async () => {
      // Its worker ends with it.
      child.kill('SIGKILL')
      await exited
      oauth.close()
      await client.end()
      await database.close()
    },
  }
}

/**
 * Installs it into a temporary folder, which later runs use again; not for the smallest size, which
 * asks nothing of the internet. Whether it is there.
 */
async function install(): Promise<boolean> {
  if (existsSync(FOLDER) || isSmallest) return existsSync(FOLDER)
  const folder = `${FOLDER}-${process.pid}`
  await mkdir(folder)
  try {
    const options = ['--no-audit', '--no-fund', '--ignore-scripts', '--prefix', folder]
    await promisify(execFile)('npm', ['install', ...options, `@waline/vercel@${WALINE}`])
    await rename(folder, FOLDER)
    return true
  } catch {
    await rm(folder, { recursive: true })
    return false
  }
}

async function answers(port: number): Promise<void> {
  const until = Date.now() + START_MS
  const [page] = walinePages(1)
  for (;;) {
    const answer = await fetch(`http://127.0.0.1:${port}${String(page).split(' ')[1]}`).catch(() => null)
    if (answer?.ok === true) return
    if (Date.now() > until) throw new Error('Waline did not start')
    await setTimeout(100)
  }
}

/** The first page of 20 comments of each discussion. */
export const walinePages = (discussions: number): Buffer[] =>
  Array.from({ length: discussions }, (_, n) =>
    httpRequest('GET', `/api/comment?path=/page-${n}&pageSize=20&page=1&sortBy=insertedAt_desc`, {}),
  )

/** A comment. It refuses one that there is already. */
export function walinePost(page: number, text: string): Buffer {
  const author = { nick: 'Reader', mail: 'reader@example.com', link: '', ua: 'Mozilla/5.0' }
  const headers = { 'Content-Type': 'application/json' }
  return httpRequest(
    'POST',
    '/api/comment',
    headers,
    JSON.stringify({ ...author, comment: text, url: `/page-${page}` }),
  )
}
