import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

import { Redis } from 'ioredis'

import { freePort } from './ports.ts'

/** Whether this machine can start a Redis of one's own. */
export const hasRedisServer = spawnSync('redis-server', ['--version'], { stdio: 'ignore' }).status === 0

/** A Redis that nobody else uses, in memory. */
export interface OwnRedis {
  url: string
  port: number
  /** Runs one command. */
  command(name: string, ...args: string[]): Promise<unknown>
  /** The same with a password. */
  commandAs(password: string, name: string, ...args: string[]): Promise<unknown>
  /** Runs commands as one transaction: nothing happens between them. */
  transaction(...commands: string[][]): Promise<unknown>
  /** Away at once, with all that it holds. */
  stop(): Promise<void>
  /** Again on the same port. */
  start(): Promise<void>
  /** It answers nobody, and closes nothing, until it is woken. */
  freeze(): void
  wake(): void
}

const running = new Set<ChildProcess>()
process.on('exit', () => running.forEach((child) => child.kill('SIGKILL')))

/** With these options of redis-server beside those that each has. */
export async function startRedis(options: readonly string[] = []): Promise<OwnRedis> {
  const port = await freePort()
  const url = `redis://127.0.0.1:${port}`
  let child = await run(port, url, options)
  return {
    url,
    port,
    command: (...command) => commandAt(url, command),
    commandAs: (password, ...command) => commandAt(url.replace('//', `//:${password}@`), command),
    transaction: (...commands) => {
      // As ioredis names them.
      const named = commands.map(([name = '', ...args]) => [name.toLowerCase(), ...args])
      return withClient(url, (client) => client.multi(named).exec())
    },
    stop: () => stop(child),
    start: async () => {
      child = await run(port, url, options)
    },
    freeze: () => void child.kill('SIGSTOP'),
    wake: () => void child.kill('SIGCONT'),
  }
}

export interface OwnCluster {
  /** In the order of the slots that they serve. */
  nodes: readonly OwnRedis[]
  /** A further node, which takes the slot of a channel over from the node that has it. */
  join(channel: string): Promise<OwnRedis>
  /** The node that served the slot of a channel at first. */
  nodeOf(channel: string): Promise<OwnRedis>
  stop(): Promise<void>
}

const SLOTS = 16_384

/** A Redis Cluster of three nodes without replicas, which serves what slots it has. */
export async function startRedisCluster(): Promise<OwnCluster> {
  const folder = mkdtempSync(join(tmpdir(), 'engagement-redis-'))
  const make = async (n: number): Promise<OwnRedis> => {
    const file = join(folder, `nodes-${n}.conf`)
    // A cluster's nodes have a second port, which is not 10 000 above the first one here.
    const bus = String(await freePort())
    const limits = ['--cluster-node-timeout', '1000', '--cluster-require-full-coverage', 'no']
    return startRedis(['--cluster-enabled', 'yes', '--cluster-config-file', file, '--cluster-port', bus, ...limits])
  }
  const nodes = await Promise.all([0, 1, 2].map(make))
  const joined: OwnRedis[] = []
  const borders = [0, 5461, 10_923, SLOTS]
  await Promise.all(
    nodes.map(({ command }, n) =>
      command('CLUSTER', 'ADDSLOTSRANGE', String(borders[n]), String((borders[n + 1] ?? 0) - 1)),
    ),
  )
  const [first] = nodes
  if (first === undefined) throw new Error('there are no nodes')
  const meet = async ({ port, command }: OwnRedis): Promise<void> => {
    const bus = String(((await command('CONFIG', 'GET', 'cluster-port')) as string[])[1])
    await first.command('CLUSTER', 'MEET', '127.0.0.1', String(port), bus)
  }
  for (const node of nodes.slice(1)) await meet(node)
  for (const { command } of nodes) {
    await until(async () => {
      const state = String(await command('CLUSTER', 'INFO'))
      return state.includes('cluster_state:ok') && state.includes('cluster_known_nodes:3')
    })
  }
  const slotOf = async (channel: string): Promise<number> => Number(await first.command('CLUSTER', 'KEYSLOT', channel))
  const nodeOf = async (channel: string): Promise<OwnRedis> => {
    const slot = await slotOf(channel)
    return nodes.find((_node, n) => slot < (borders[n + 1] ?? 0)) ?? first
  }
  return {
    nodes,
    nodeOf,
    async join(channel) {
      const node = await make(nodes.length + joined.length)
      joined.push(node)
      await meet(node)
      const source = await nodeOf(channel)
      for (const { command } of [...nodes, node]) {
        await until(async () =>
          String(await command('CLUSTER', 'INFO')).includes(`cluster_known_nodes:${nodes.length + joined.length}`),
        )
      }
      const [slot, id, from] = [
        String(await slotOf(channel)),
        String(await node.command('CLUSTER', 'MYID')),
        String(await source.command('CLUSTER', 'MYID')),
      ]
      await node.command('CLUSTER', 'SETSLOT', slot, 'IMPORTING', from)
      await source.command('CLUSTER', 'SETSLOT', slot, 'MIGRATING', id)
      for (const { command } of [node, source]) await command('CLUSTER', 'SETSLOT', slot, 'NODE', id)
      return node
    },
    async stop() {
      for (const node of [...nodes, ...joined]) await node.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

export interface OwnSentinels {
  /** As REDIS_URL has it. */
  url: string
  primary: OwnRedis
  replica: OwnRedis
  /** The port of the one that is the primary now. */
  primaryPort(): Promise<number>
  stop(): Promise<void>
}

/** A primary with a replica, and three sentinels that watch them. */
export async function startSentinels(): Promise<OwnSentinels> {
  const folder = mkdtempSync(join(tmpdir(), 'engagement-sentinel-'))
  const primary = await startRedis()
  const replica = await startRedis(['--replicaof', '127.0.0.1', String(primary.port)])
  await until(async () => String(await replica.command('INFO', 'replication')).includes('master_link_status:up'))
  const sentinels = await Promise.all(
    [0, 1, 2].map(async (n) => {
      const port = await freePort()
      const file = join(folder, `sentinel-${n}.conf`)
      const lines = [
        `port ${port}`,
        'bind 127.0.0.1',
        `sentinel monitor engagement 127.0.0.1 ${primary.port} 2`,
        'sentinel down-after-milliseconds engagement 1000',
        'sentinel failover-timeout engagement 3000',
      ]
      writeFileSync(file, `${lines.join('\n')}\n`)
      const url = `redis://127.0.0.1:${port}`
      return { port, url, child: await runServer([file, '--sentinel'], url) }
    }),
  )
  const [first] = sentinels
  const ask = (...command: [string, ...string[]]) => commandAt(first?.url ?? '', command)
  await until(async () => {
    const told = (await ask('SENTINEL', 'MASTER', 'engagement')) as string[]
    const figure = (name: string): number => Number(told[told.indexOf(name) + 1])
    return figure('num-other-sentinels') === 2 && figure('num-slaves') === 1
  })
  return {
    url: `redis+sentinel://${sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',')}/engagement`,
    primary,
    replica,
    primaryPort: async () =>
      Number(((await ask('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', 'engagement')) as string[] | null)?.[1]),
    async stop() {
      for (const { child } of sentinels) await stop(child)
      for (const each of [primary, replica]) await each.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (let attempt = 0; attempt < 400; attempt++) {
    if (await isSo().catch(() => false)) return
    await pause(50)
  }
  throw new Error('it did not come about within 20 s')
}

const run = (port: number, url: string, options: readonly string[]): Promise<ChildProcess> =>
  runServer(['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', ...options], url)

async function runServer(args: readonly string[], url: string): Promise<ChildProcess> {
  const child = spawn('redis-server', args, { cwd: tmpdir(), stdio: 'ignore' })
  running.add(child)
  for (let attempt = 0; attempt < 100 && child.exitCode === null; attempt++) {
    if ((await commandAt(url, ['PING']).catch(() => null)) === 'PONG') return child
    await pause(50)
  }
  await stop(child)
  throw new Error(`redis-server does not answer at ${url}`)
}

async function stop(child: ChildProcess): Promise<void> {
  running.delete(child)
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}

const commandAt = (url: string, [name, ...args]: [string, ...string[]]): Promise<unknown> =>
  withClient(url, (client) => client.call(name, ...args))

async function withClient<T>(url: string, work: (client: Redis) => Promise<T>): Promise<T> {
  // No ready check: INFO is refused while a script runs.
  const client = new Redis(url, {
    lazyConnect: true,
    enableReadyCheck: false,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  })
  client.on('error', () => undefined)
  try {
    await client.connect()
    return await work(client)
  } finally {
    client.disconnect()
  }
}
