import { execFileSync } from 'node:child_process'
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'

import { crash, ENGINE, engine, inspect, ROOT } from '../harness/engine.ts'
import { Tally } from '../harness/followers.ts'
import { signIdentity } from '../harness/identity.ts'
import { freePort } from '../harness/ports.ts'
import { isGenuine, type Received } from '../harness/receiver.ts'
import { listen, type SourceListener } from '../harness/sse.ts'

const LONG = 600_000
const MB = 1e6
const IMAGE = 'engagement-service'
const OURS = ['api1', 'api2', 'worker']
const SEALED = ['--read-only', '--tmpfs', '/tmp', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges']

/** Runs in a container of the image: prints each delivery as a line. */
const RECEIVER = `
import { createServer } from 'node:http'
createServer(async (request, response) => {
  const raw = Buffer.concat(await request.toArray())
  const { type, challenge } = JSON.parse(raw)
  if (type === 'verification') return response.end(JSON.stringify({ challenge }))
  console.log(JSON.stringify({ headers: request.headers, raw: raw.toString('base64') }))
  response.writeHead(204).end()
}).listen(5000)
process.on('SIGTERM', () => process.exit(0))`

const inReceivers = {
  environment: { WEBHOOK_ALLOW_HTTP: 'true', WEBHOOK_ALLOWED_CIDRS: '172.28.77.0/24' },
}
/** What the test adds to compose.yaml. */
const OVERRIDE = {
  services: {
    ...Object.fromEntries(OURS.map((name) => [name, inReceivers])),
    receiver: {
      image: IMAGE,
      entrypoint: ['node', '--input-type=module', '--eval', RECEIVER],
      healthcheck: { test: ['CMD', 'true'] },
    },
  },
}

describe.skipIf(ENGINE === '')(
  `compose.yaml, on a container engine${ENGINE === '' ? ' (skipped: needs `npm run test:containers`)' : ''}`,
  { timeout: LONG },
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'engagement-containers-'))
    const files = ['compose.yaml', join(folder, 'override.json')].flatMap((file) => ['--file', file])
    const compose = (...args: string[]) =>
      engine('compose', '--project-name', 'engagement-try', '--env-file', join(folder, '.env'), ...files, ...args)
    const containers = async (service: string) => (await compose('ps', '--all', '--quiet', service)).split('\n')
    const up = (...args: string[]) => compose('up', '--detach', '--wait', ...args)

    let url: string
    let apiKey: string
    let identitySecret: string
    let secret: string
    let discussionId: string

    const call = async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
      const response = await fetch(`${url}/api/v1${path}`, {
        method,
        headers: { 'x-api-key': apiKey, 'content-type': 'application/json', ...headers },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
      const text = await response.text()
      const isJson = /json/.test(response.headers.get('content-type') ?? '')
      return { status: response.status, json: isJson ? JSON.parse(text) : undefined }
    }

    /** The ids of acknowledged comments. */
    const acknowledged: string[] = []
    /** How requests ended that were not. */
    let failures = new Tally()
    const sources: SourceListener[] = []
    let isWriting = true
    let isOver = false
    let writers: Promise<unknown>

    /** Posts one comment after the other, each until it is acknowledged. */
    async function write(writer: number): Promise<void> {
      const identity = await signIdentity({ tenant: 'demo', secret: identitySecret }, { sub: `w${writer}`, name: 'W' })
      for (let number = 0; isWriting; number++) {
        const headers = { 'x-service-identity': identity, 'idempotency-key': `${writer}-${number}` }
        while (!isOver) {
          const body = { body: `${writer}: ${number}` }
          const { status, json } = await call('POST', `/discussions/${discussionId}/comments`, body, headers).catch(
            ({ cause }: { cause: NodeJS.ErrnoException }) => ({ status: cause.code, json: undefined }),
          )
          if (status === 201) {
            acknowledged.push(json.id as string)
            break
          }
          failures.add(`${status} ${json?.detail ?? ''}`)
          await pause(100)
        }
        await pause(50)
      }
    }

    /** An EventSource, and another one where that gives up for good, as it does at a 503. */
    async function follow(): Promise<void> {
      while (!isOver) {
        const last = sources.flatMap(({ received }) => received).at(-1)?.id ?? '0'
        try {
          const address = `${url}/api/v1/stream/${discussionId}?lastEventId=${last}`
          const source = await listen(address, { 'x-api-key': apiKey })
          sources.push(source)
          while (!isOver && source.refusal === null) await pause(50)
        } catch {
          await pause(200)
        }
      }
    }

    const streamed = () =>
      sources.flatMap(({ received }) => received).map(({ id, data }) => [Number(id), JSON.parse(data)] as const)
    /** The ids of comments that the receiver was given, in genuine requests. */
    async function delivered(): Promise<string[]> {
      const [id = ''] = await containers('receiver')
      const log = await engine('logs', id)
      return (log === '' ? [] : log.split('\n')).map((line) => {
        const { headers, raw } = JSON.parse(line) as { headers: Received['headers']; raw: string }
        const bytes = Buffer.from(raw, 'base64')
        const body = JSON.parse(bytes.toString()) as { data: { comment: { id: string } } }
        const kid = /kid=(\w+)/.exec(headers['x-service-signature'] ?? '')?.[1] ?? ''
        expect(isGenuine({ path: '/', headers, raw: bytes, body, port: 0, at: 0 }, { [kid]: secret })).toBe(true)
        return body.data.comment.id
      })
    }

    /** Waits until a new comment reaches the stream: the service works again. */
    const goesOn = async (): Promise<void> => {
      const before = acknowledged.length
      await vi.waitFor(() => expect(acknowledged.length).toBeGreaterThan(before + 10), { timeout: 60_000 })
      const some = acknowledged.slice(before, before + 10)
      await vi.waitFor(
        () => expect(streamed().map(([, { data }]) => data.comment.id as string)).toEqual(expect.arrayContaining(some)),
        { timeout: 30_000 },
      )
    }

    beforeAll(async () => {
      execFileSync(join(ROOT, 'deploy/compose/make-env.sh'), { cwd: folder })
      const port = await freePort()
      url = `http://127.0.0.1:${port}`
      appendFileSync(join(folder, '.env'), `HTTP_PORT=${port}\nBASE_URL=${url}\n`)
      writeFileSync(join(folder, 'override.json'), JSON.stringify(OVERRIDE))
      await compose('build')
    }, LONG)
    afterAll(async () => {
      isWriting = false
      isOver = true
      sources.forEach((source) => source.close())
      await compose('down', '--volumes', '--timeout', '1')
      rmSync(folder, { recursive: true, force: true })
    }, LONG)

    test('the image is small, and read-only', async () => {
      const inImage = (entrypoint: string, ...args: string[]) =>
        engine('run', '--rm', ...SEALED, '--entrypoint', entrypoint, IMAGE, ...args)
      expect(await inImage('id', '-u')).toBe('10001')
      expect(Number((await inImage('du', '-sm', '/service/node_modules')).split('\t')[0])).toBeLessThan(150)
      const layers = (await engine('history', '--human=false', '--format', '{{.Size}}', IMAGE)).split('\n').map(Number)
      // The last one is Debian: 75 MB, as its makers publish it.
      const own = layers.slice(0, -1).reduce((sum, size) => sum + size, 0)
      console.log(`the image: ${Math.round(own / MB)} MB beside Debian`)
      expect(own).toBeLessThan(225 * MB)
    })

    test('a container serves on a read-only root, becomes healthy, and ends with 0 at SIGTERM', async () => {
      const id = await engine('run', '--detach', ...SEALED, '--env', 'EMBEDDED=true', '--env', 'DRAIN_SECONDS=0', IMAGE)
      try {
        await vi.waitFor(async () => expect((await inspect(id)).State.Health.Status).toBe('healthy'), {
          timeout: 60_000,
          interval: 1000,
        })
        expect(await engine('exec', id, 'engagement-service', 'doctor')).toContain(
          'ok    data       /data can be written',
        )
        const before = Date.now()
        await engine('stop', '--time', '15', id)
        expect(Date.now() - before).toBeLessThan(10_000)
        expect((await inspect(id)).State.ExitCode).toBe(0)
      } finally {
        await engine('rm', '--force', '--volumes', id)
      }
    })

    test('one command starts everything, and the first start prints the credentials', async () => {
      await up()
      const [api1 = ''] = await containers('api1')
      const log = await engine('logs', api1)
      ;[apiKey = '', identitySecret = ''] = [/ek_[0-9a-f]{64}/, /ids_[0-9a-f]{64}/].map((shape) => shape.exec(log)?.[0])
      expect(await compose('exec', '-T', 'api1', 'node', 'dist/cli/health.js', '/readyz')).toContain('"bus":"up"')
      const report = await compose('exec', '-T', 'worker', 'engagement-service', 'doctor')
      expect(report).not.toMatch(/^(fail|warn)/m)
    })

    test('comments pass through nginx, reach streams, and webhooks', async () => {
      await call('PATCH', '/settings', { rateLimit: { perSecond: 10_000, burst: 100_000 } })
      const endpoint = await call('POST', '/webhooks', {
        url: 'http://receiver:5000/',
        eventTypes: ['comment_created'],
      })
      expect(endpoint.status).toBe(201)
      secret = endpoint.json.secret as string
      await vi.waitFor(async () =>
        expect((await call('GET', `/webhooks/${endpoint.json.id}`)).json.state).toBe('verified'),
      )
      discussionId = (await call('POST', '/discussions', { externalId: 'page' })).json.id as string
      void follow()
      writers = Promise.all([1, 2, 3, 4, 5, 6].map(write))
      await goesOn()
      await vi.waitFor(async () => expect((await delivered()).length).toBeGreaterThan(10))
      expect(String(failures)).toBe('')
    })

    test('an upgrade, one service after the other, fails no request', async () => {
      for (const name of OURS) await up('--no-deps', '--force-recreate', name)
      await goesOn()
      expect(String(failures)).toBe('')
    })

    test('the number of workers can grow and shrink', async () => {
      await up('--no-recreate', '--scale', 'worker=3')
      expect(await containers('worker')).toHaveLength(3)
      await up('--no-recreate', '--scale', 'worker=1')
      await goesOn()
      expect(String(failures)).toBe('')
    })

    test.each(['api1', 'worker', 'redis', 'postgres', 'nginx'])(
      'after `kill -9` of %s the engine starts it again, and all goes on',
      async (name) => {
        failures = new Tally()
        const [id = ''] = await containers(name)
        const { RestartCount } = (await inspect(id)) as { RestartCount: number }
        await crash(id, IMAGE)
        await vi.waitFor(
          async () => {
            const { State, ...now } = await inspect(id)
            expect(now.RestartCount).toBeGreaterThan(RestartCount)
            expect(State.Health.Status).toBe('healthy')
          },
          { timeout: 90_000, interval: 500 },
        )
        await goesOn()
        console.log(`${name}: ${String(failures) || 'no failure'}`)
      },
    )

    test.each(['redis', 'postgres', 'nginx'])('after a restart of %s all goes on', async (name) => {
      await compose('restart', name)
      await goesOn()
      expect(await compose('ps', '--status', 'running', '--services')).toContain(name)
    })

    test('nothing was lost, doubled or reordered', async () => {
      isWriting = false
      await writers
      const stored: string[] = []
      for (let cursor = ''; ;) {
        const page = await call('GET', `/discussions/${discussionId}/comments?sort=oldest&limit=100${cursor}`)
        stored.push(...(page.json.data as { id: string }[]).map(({ id }) => id))
        if (!page.json.hasMore) break
        cursor = `&cursor=${page.json.nextCursor}`
      }
      console.log(`${acknowledged.length} acknowledged, ${stored.length} stored`)
      expect(stored.toSorted()).toEqual(acknowledged.toSorted())
      await vi.waitFor(() => expect(streamed()).toHaveLength(stored.length))
      expect(streamed().map(([seq]) => seq)).toEqual(stored.map((_id, index) => index + 1))
      await vi.waitFor(async () => expect(new Set(await delivered())).toEqual(new Set(stored)), {
        timeout: 60_000,
        interval: 1000,
      })
    })

    test('stops in time, every process with 0', async () => {
      const before = Date.now()
      await compose('stop')
      expect(Date.now() - before).toBeLessThan(35_000)
      for (const name of OURS) {
        for (const id of await containers(name)) expect([name, (await inspect(id)).State.ExitCode]).toEqual([name, 0])
      }
    })
  },
)
