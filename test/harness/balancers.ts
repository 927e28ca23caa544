import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { vi } from 'vitest'

import { freePort } from './ports.ts'
import { findProgram } from './programs.ts'

export const NGINX = findProgram(process.env.NGINX, 'nginx')
export const HAPROXY = findProgram(process.env.HAPROXY, 'haproxy')

/** A proxy or load balancer of a test's own. */
export interface Balancer {
  url: string
  /** What it has noted as errors. */
  errors(): string
  close(): Promise<void>
}

/** An nginx whose proxy is as it comes, and so buffers, but for what is in `location`. */
export const startPlainNginx = (location: string): Promise<Balancer> =>
  startNginx((port) => `server { listen 127.0.0.1:${port}; ${location} }`)

const DEPLOY_GUIDE = fileURLToPath(new URL('../../docs/operations/deploy.md', import.meta.url))

/**
 * An nginx that keeps pages as the guide of deployment has it, and says in `X-Cache` what it did;
 * `change` changes its configuration.
 */
export const startCachingNginx = (upstream: string, change = (config: string) => config): Promise<Balancer> =>
  startNginx((port, folder) => {
    const [guide = '', sites = ''] = [...readFileSync(DEPLOY_GUIDE, 'utf8').matchAll(/```nginx\n([^]*?)```/g)].map(
      ([, block = '']) => block,
    )
    const [http = '', location = ''] = change(guide).split('# In the server:')
    return `upstream engagement { server ${new URL(upstream).host}; }
      ${http.replace('/var/cache/nginx/engagement', join(folder, 'pages'))}
      server {
        listen 127.0.0.1:${port};
        add_header X-Cache $upstream_cache_status always;
        ${location}
        ${sites}
      }`
  })

export const NGINX_FILE = fileURLToPath(new URL('../../deploy/nginx/engagement.conf', import.meta.url))

/** An nginx with the configuration that this repository ships, in front of these. */
export const startShippedNginx = (urls: readonly string[]): Promise<Balancer> =>
  startNginx((port) => {
    const servers = (_pair: string, options: string): string =>
      urls.map((url) => `server ${new URL(url).host} ${options}`).join('\n')
    return readFileSync(NGINX_FILE, 'utf8')
      .replace(/server api1:4000 (.*)\n *server api2:4000 .*/g, servers)
      .replace('listen 80;', `listen 127.0.0.1:${port};`)
  })

async function startNginx(http: (port: number, folder: string) => string): Promise<Balancer> {
  return start(NGINX, (folder, port) => {
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder};`)
    const config = `daemon off; worker_processes 1; pid ${folder}/pid; error_log ${folder}/error.log;
      events { worker_connections 8192; }
      http { access_log off; ${temporary.join(' ')} ${http(port, folder)} }`
    writeFileSync(join(folder, 'nginx.conf'), config)
    return ['-c', join(folder, 'nginx.conf'), '-p', folder]
  })
}

/** An HAProxy that asks `/readyz` of each of these. */
export async function startHaproxy(urls: readonly string[]): Promise<Balancer> {
  return start(HAPROXY, (folder, port) => {
    const servers = urls.map((url, index) => `  server api${index} ${new URL(url).host}`)
    const config = `defaults
  mode http
  timeout connect 2s
  timeout client 30s
  timeout server 30s
  # Else a check has 200 ms, which an api on a busy machine may miss.
  timeout check 5s
frontend clients
  bind 127.0.0.1:${port}
  default_backend apis
backend apis
  option httpchk GET /readyz
  default-server check inter 200ms fall 1 rise 1
${servers.join('\n')}
`
    writeFileSync(join(folder, 'haproxy.cfg'), config)
    return ['-db', '-f', join(folder, 'haproxy.cfg')]
  })
}

async function start(
  program: string | undefined,
  configure: (folder: string, port: number) => readonly string[],
): Promise<Balancer> {
  if (program === undefined) throw new Error('it is not installed')
  const folder = mkdtempSync(join(tmpdir(), 'engagement-balancer-'))
  const port = await freePort()
  const child = spawn(program, configure(folder, port), { stdio: 'ignore' })
  const exited = new Promise((resolve) => child.once('exit', resolve))
  await vi.waitFor(() => answers(port), { timeout: 10_000 })
  // Another program may have the port.
  if (child.exitCode !== null) throw new Error(`${program} ended with ${child.exitCode}`)
  return {
    url: `http://127.0.0.1:${port}`,
    errors: () => {
      const file = join(folder, 'error.log')
      return existsSync(file) ? readFileSync(file, 'utf8') : ''
    },
    close: async () => {
      child.kill('SIGTERM')
      await exited
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

const answers = (port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => resolve(void socket.destroy()))
    socket.on('error', reject)
  })
