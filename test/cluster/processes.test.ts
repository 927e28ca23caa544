import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'

import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'

import { onServer } from '../harness/database.ts'
import { freePort } from '../harness/ports.ts'
import { first, type Processes, runMain, type ServiceProcess, startProcesses } from '../harness/processes.ts'
import { type Receiver, startReceiver } from '../harness/receiver.ts'
import { openStream, type StreamClient } from '../harness/stream-client.ts'

const WAIT = { timeout: 20_000, interval: 20 }
const METRICS_TOKEN = 'a token of sixteen'.replaceAll(' ', '-')
const skipped = onServer ? '' : ' (skipped: needs DATABASE_URL)'

function plays(pid: number, role: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(`ROLE=${role}`)
  } catch {
    // It has ended meanwhile.
    return false
  }
}

describe.skipIf(!onServer)(`WORKERS=2: processes on one port under one parent, without Redis${skipped}`, () => {
  let service: Processes
  let parent: ServiceProcess
  let receiver: Receiver
  const streams: StreamClient[] = []

  beforeAll(async () => {
    receiver = await startReceiver()
    const port = String(await freePort())
    service = await startProcesses({
      role: 'all',
      worker: 0,
      // Messages that only the database brought would take longer than this.
      env: {
        WORKERS: '2',
        REDIS_URL: undefined,
        METRICS_TOKEN,
        STREAM_REPAIR_SECONDS: '5',
        // Workers are woken through the parent.
        WEBHOOK_POLL_SECONDS: '60',
        WEBHOOK_CA_FILE: receiver.caFile,
        DATABASE_POOL_SIZE: '4',
        DRAIN_SECONDS: '1',
        // As in the container image, where the apis listen there too.
        WORKER_PORT: port,
        PORT: port,
      },
    })
    parent = first(service.apis)
    await service.ok('PATCH', '/settings', { rateLimit: { perSecond: 10_000, burst: 100_000 } })
  })
  afterAll(async () => {
    await service.close()
    await receiver.close()
  })
  afterEach(() => streams.splice(0).forEach((stream) => stream.close()))

  const pidsOf = (role: 'api' | 'worker'): number[] =>
    readFileSync(`/proc/${parent.run.pid}/task/${parent.run.pid}/children`, 'utf8')
      .split(' ')
      .map(Number)
      .filter((pid) => pid > 0 && plays(pid, role))

  const newDiscussion = async (externalId: string): Promise<string> =>
    (await service.call('POST', '/discussions', { body: { externalId } })).json.id

  const comment = async (discussionId: string, body: string): Promise<number> =>
    (
      await service.call('POST', `/discussions/${discussionId}/comments`, {
        body: { body },
        headers: await service.as('ada'),
      })
    ).status

  /** Streams with connections of their own: the parent hands them to its processes in turn. */
  async function follow(discussionId: string, count: number, after = '0'): Promise<StreamClient[]> {
    const url = `${parent.url}/api/v1/stream/${discussionId}`
    const headers = { 'x-api-key': service.apiKey, 'last-event-id': after }
    const opened = await Promise.all(Array.from({ length: count }, () => openStream(url, headers)))
    streams.push(...opened)
    await vi.waitFor(() => expect(opened.every(({ connected }) => connected !== undefined)).toBe(true), WAIT)
    return opened
  }

  async function figure(name: string): Promise<number> {
    const response = await fetch(`${parent.url}/metrics`, { headers: { authorization: `Bearer ${METRICS_TOKEN}` } })
    const lines = (await response.text()).split('\n').filter((line) => line.startsWith(name))
    return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
  }

  /** Resolves once its two apis serve again, beside one worker. */
  const whole = (): Promise<void> =>
    vi.waitFor(async () => {
      expect([pidsOf('api').length, pidsOf('worker').length]).toEqual([2, 1])
      expect((await fetch(`${parent.url}/readyz`, { headers: { connection: 'close' } })).status).toBe(200)
    }, WAIT)

  test('credentials are shown once, and each start is announced', () => {
    expect(parent.run.stdout.match(/is ready at/g)).toHaveLength(1)
    expect(parent.run.stdout.match(/These are shown only now/g)).toHaveLength(1)
    expect(parent.run.stdout).toMatch(/\n3 processes serve: 2 apis and 1 worker\.\n$/)
  })

  test('an event in one process reaches the other at once', async () => {
    const discussionId = await newDiscussion('news')
    const followers = await follow(discussionId, 8)
    for (let n = 1; n <= 20; n++) expect(await comment(discussionId, `comment ${n}`)).toBe(201)
    const all = Array.from({ length: 20 }, (_, index) => index + 1)
    await vi.waitFor(() => followers.forEach(({ seqs }) => expect(seqs).toEqual(all)), { timeout: 4000, interval: 20 })
    expect(await figure('stream_repaired_events_total')).toBe(0)
    expect(await figure('stream_connections')).toBe(8)
  })

  test('a rate limit counts over all processes', async () => {
    const { json } = await service.call('POST', '/keys', { body: { capabilities: [], label: 'limited' } })
    const limit = (perSecond: number, burst: number) =>
      service.call('PATCH', '/settings', { body: { rateLimit: { perSecond, burst } } })
    expect((await limit(1, 40)).status).toBe(200)
    const ask = async (): Promise<number> => {
      const headers = { 'x-api-key': json.key as string, connection: 'close' }
      return (await fetch(`${parent.url}/api/v1/discussions`, { headers })).status
    }
    try {
      const statuses: number[] = []
      for (let n = 0; n < 80; n++) {
        statuses.push(await ask())
        // Each process may not know yet what the other allowed in the last 100 ms: 10 at most.
        await pause(10)
      }
      const allowed = statuses.filter((each) => each === 200).length
      expect(allowed).toBeGreaterThanOrEqual(40)
      expect(allowed).toBeLessThan(60)
      // One token comes each second, perhaps at the last request.
      expect(statuses.slice(-3)).toContain(429)
    } finally {
      await vi.waitFor(async () => expect((await limit(10_000, 100_000)).status).toBe(200), WAIT)
    }
  })

  test('the cap of streams counts over all processes', async () => {
    const discussionId = await newDiscussion('places')
    const limit = (maxStreams: number) => service.call('PATCH', '/settings', { body: { stream: { maxStreams } } })
    expect((await limit(5)).status).toBe(200)
    try {
      const url = `${parent.url}/api/v1/stream/${discussionId}`
      const opened = await Promise.all(
        Array.from({ length: 12 }, () => openStream(url, { 'x-api-key': service.apiKey })),
      )
      streams.push(...opened)
      expect(opened.filter(({ status }) => status === 200)).toHaveLength(5)
      expect(new Set(opened.map(({ status }) => status))).toEqual(new Set([200, 429]))
      for (const stream of opened) stream.close()
      await vi.waitFor(
        async () => expect((await follow(discussionId, 5)).map(({ status }) => status)).toEqual(Array(5).fill(200)),
        WAIT,
      )
    } finally {
      await limit(20_000)
    }
  })

  test('kill -9 of an api: the other continues, it is restarted, and no counter goes down', async () => {
    const discussionId = await newDiscussion('killed')
    const followers = await follow(discussionId, 10)
    const asked = await figure('http_request_duration_seconds_count')
    const [victim = 0] = pidsOf('api')
    const posted: number[] = []
    const posting = (async () => {
      for (let n = 1; n <= 60; n++) posted.push(await comment(discussionId, `comment ${n}`).catch(() => 0))
    })()
    await vi.waitFor(() => expect(posted.length).toBeGreaterThan(10), WAIT)
    process.kill(victim, 'SIGKILL')
    await posting
    const acknowledged = posted.filter((status) => status === 201).length
    // Requests under way at the killed process fail.
    expect(posted.filter((status) => status !== 201 && status !== 0)).toEqual([])
    await whole()
    expect(pidsOf('api')).not.toContain(victim)
    expect(await figure('http_request_duration_seconds_count')).toBeGreaterThanOrEqual(asked)
    const { json } = await service.call('GET', `/discussions/${discussionId}`)
    const seqs = Array.from({ length: json.commentCount as number }, (_, index) => index + 1)
    expect(seqs.length).toBeGreaterThanOrEqual(acknowledged)
    const cut = followers.filter(({ closed }) => closed)
    const kept = followers.filter(({ closed }) => !closed)
    expect(Math.min(cut.length, kept.length)).toBeGreaterThan(0)
    await vi.waitFor(() => kept.forEach((follower) => expect(follower.seqs).toEqual(seqs)), WAIT)
    for (const follower of cut) {
      const [resumed] = await follow(discussionId, 1, String(follower.seqs.at(-1) ?? 0))
      await vi.waitFor(() => expect([...follower.seqs, ...(resumed?.seqs ?? [])]).toEqual(seqs), WAIT)
    }
  })

  test('a frozen api delays one connection, and all are answered once it is killed', async () => {
    const [victim = 0] = pidsOf('api')
    process.kill(victim, 'SIGSTOP')
    // Each on a connection of its own.
    const ask = (): Promise<number | string | undefined> =>
      new Promise((resolve) => {
        const options = { agent: false, signal: AbortSignal.timeout(8000) }
        request(`${parent.url}/healthz`, options, (response) => resolve(response.resume().statusCode))
          .on('error', ({ name }) => resolve(name))
          .end()
      })
    const asked = Array.from({ length: 60 }, ask)
    await pause(1000)
    process.kill(victim, 'SIGKILL')
    const statuses = await Promise.all(asked)
    expect(statuses.filter((status) => status !== 200).length).toBeLessThanOrEqual(1)
    expect(statuses).not.toContain('AbortError')
    await whole()
  })

  test('a frozen parent: streams open meanwhile, and its state does not linger', async () => {
    const discussionId = await newDiscussion('still')
    const before = await follow(discussionId, 2)
    const headers = { 'x-api-key': service.apiKey }
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const get = (path: string): Promise<number | undefined> =>
      new Promise((resolve, reject) => {
        request(`${parent.url}${path}`, { agent, headers }, (response) => {
          response.resume().on('end', () => resolve(response.statusCode))
        })
          .on('error', reject)
          .end()
      })
    expect(await get('/api/v1/discussions')).toBe(200)
    const news = await newDiscussion('still, too')
    process.kill(parent.run.pid, 'SIGSTOP')
    try {
      // On an existing connection: no process accepts new ones.
      expect(await get('/api/v1/discussions')).toBe(200)
      const stream = request(`${parent.url}/api/v1/stream/${news}`, { agent, headers })
      const opened = new Promise<number | undefined>((resolve, reject) => {
        stream.on('response', (response) => resolve(response.resume().statusCode)).on('error', reject)
      })
      stream.end()
      expect(await opened).toBe(200)
      stream.destroy()
    } finally {
      process.kill(parent.run.pid, 'SIGCONT')
    }
    agent.destroy()
    const [stream] = await follow(news, 1)
    expect(await comment(news, 'after')).toBe(201)
    await vi.waitFor(() => expect(stream?.seqs).toEqual([1]), { timeout: 1500, interval: 20 })
    expect(before.every(({ closed }) => !closed)).toBe(true)
    for (const each of [...before, ...streams]) each.close()
    await vi.waitFor(async () => expect(await figure('stream_connections')).toBe(0), WAIT)
    const limit = (maxStreams: number) => service.call('PATCH', '/settings', { body: { stream: { maxStreams } } })
    expect((await limit(2)).status).toBe(200)
    await vi.waitFor(async () => {
      expect((await follow(news, 2)).map(({ status }) => status)).toEqual([200, 200])
    }, WAIT)
    await limit(20_000)
  })

  test('kill -9 of the worker: it is restarted', async () => {
    const [victim = 0] = pidsOf('worker')
    process.kill(victim, 'SIGKILL')
    await vi.waitFor(() => expect(pidsOf('worker')).not.toContain(victim), WAIT)
    await whole()
    const { json } = await service.call('POST', '/webhooks', { body: { url: `${receiver.url}/after` } })
    await vi.waitFor(async () => {
      expect((await service.call('GET', `/webhooks/${json.id}`)).json.state).toBe('verified')
    }, WAIT)
  })

  test('kill -9 of the parent: no process stays behind, and the next start has all data', async () => {
    const discussionId = await newDiscussion('orphans')
    expect(await comment(discussionId, 'before')).toBe(201)
    await whole()
    const pids = [...pidsOf('api'), ...pidsOf('worker')]
    expect(pids).toHaveLength(3)
    await parent.kill()
    await vi.waitFor(() => pids.forEach((pid) => expect(() => process.kill(pid, 0)).toThrow('ESRCH')), WAIT)
    await parent.start()
    const { json } = await service.call('GET', `/discussions/${discussionId}`)
    expect(json.commentCount).toBe(1)
  })

  test('SIGTERM: streams get their end, no request under way fails, and all processes end within the grace period', async () => {
    const discussionId = await newDiscussion('stopped')
    const followers = await follow(discussionId, 6)
    const apis = pidsOf('api')
    const posted: number[] = []
    let isOver = false
    const clients = Array.from({ length: 4 }, async () => {
      while (!isOver) {
        const status = await comment(discussionId, 'on and on').catch(({ cause }: Error) =>
          String((cause as NodeJS.ErrnoException).code),
        )
        // Refused connections are what a balancer goes elsewhere for. The kernel resets one that
        // nobody has accepted when the port closes.
        if (status === 'ECONNREFUSED' || status === 'ECONNRESET') return
        posted.push(status as number)
      }
    })
    await vi.waitFor(() => expect(posted.length).toBeGreaterThan(20), WAIT)
    await parent.stop()
    isOver = true
    await Promise.all(clients)
    expect(new Set(posted)).toEqual(new Set([201]))
    expect(followers.map(({ goodbye }) => goodbye?.event)).toEqual(followers.map(() => 'connection-timeout'))
    for (const pid of apis) expect(() => process.kill(pid, 0)).toThrow('ESRCH')
  })
})

test('a process that writes to a parent that has just ended gets an error, and nothing is thrown', async () => {
  const program = `
    import { openLink } from ${JSON.stringify(new URL('../../src/processes/link.ts', import.meta.url).href)}
    const { bus, ready } = openLink()
    ready({ text: 'here', hasCredentials: false })
    // It is frozen while its parent ends.
    setTimeout(() => {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1500)
      bus.publish('a', 'b')
      void bus.subscribe('a', () => undefined)
    }, 10)
    process.on('disconnect', () => setTimeout(() => process.exit(7), 200))`
  const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', program], {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  let stderr = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  const ended = once(child, 'exit')
  await Promise.race([once(child, 'message'), ended])
  await pause(500)
  child.disconnect()
  expect([await ended, stderr]).toEqual([[7, null], ''])
})

test('an impossible start ends with one line of one process', async () => {
  const run = runMain({
    WORKERS: '3',
    DATABASE_URL: 'postgres://postgres@127.0.0.1:1/nothing',
    ADMIN_JWT_SECRET: 'a'.repeat(32),
    ENCRYPTION_KEY: Buffer.alloc(32).toString('base64'),
  })
  const { code } = await run.exited
  expect(run.stderr).toMatch(/^DATABASE_URL: [^\n]+\n$/)
  expect(code).toBe(1)
})
