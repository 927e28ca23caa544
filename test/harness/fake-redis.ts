import { createServer, type Socket } from 'node:net'

import { freePort } from './ports.ts'

/** A reply in RESP, as it goes over the wire. */
type Reply = string

/** What to answer to a command; null for what Redis would answer. */
export type Script = (command: string, args: readonly string[]) => Reply | null

export interface FakeRedis {
  port: number
  /** The scripted replies. Null: none. */
  script: Script | null
  /** The commands that have come. */
  readonly commands: readonly string[]
  /** Cuts every connection. */
  cut(): void
  /** Ends every sharded subscription, as a node does that has lost the slots. */
  unsubscribe(): void
  close(): Promise<void>
}

const bulk = (text: string): Reply => `$${Buffer.byteLength(text)}\r\n${text}\r\n`
const list = (...items: Reply[]): Reply => `*${items.length}\r\n${items.join('')}`
const int = (n: number): Reply => `:${n}\r\n`
const OK = '+OK\r\n'

/** The whole commands at the beginning of `text`, and the rest. */
function readCommands(text: string): { commands: string[][]; rest: string } {
  const commands: string[][] = []
  for (;;) {
    const head = /^\*(\d+)\r\n/.exec(text)
    if (head === null) return { commands, rest: text }
    let at = head[0].length
    const parts: string[] = []
    for (let n = Number(head[1]); n > 0; n--) {
      const size = /^\$(\d+)\r\n/.exec(text.slice(at))
      if (size === null) return { commands, rest: text }
      at += size[0].length
      const end = at + Number(size[1])
      if (text.length < end + 2) return { commands, rest: text }
      parts.push(text.slice(at, end))
      at = end + 2
    }
    commands.push(parts)
    text = text.slice(at)
  }
}

/**
 * A Redis, a node that has all slots of a cluster, and a sentinel of itself in one: as much of it
 * as the service uses. Each reply can be scripted. Texts are in ASCII.
 */
export async function startFakeRedis(): Promise<FakeRedis> {
  const sockets = new Map<Socket, Set<string>>()
  const commands: string[] = []
  const port = await freePort()
  const address = list(bulk('127.0.0.1'), bulk(String(port)))

  const publish = (kind: string, channel: string, message: string): Reply => {
    const receivers = [...sockets].filter(([, channels]) => channels.has(channel))
    for (const [socket] of receivers) socket.write(list(bulk(kind), bulk(channel), bulk(message)))
    return int(receivers.length)
  }
  const answers: Record<string, (args: readonly string[], socket: Socket) => Reply> = {
    ping: (_args, socket) => ((sockets.get(socket)?.size ?? 0) > 0 ? list(bulk('pong'), bulk('')) : '+PONG\r\n'),
    info: () => bulk('redis_version:7.4.0\r\nrole:master\r\nloading:0\r\ncluster_state:ok\r\n'),
    publish: ([channel = '', message = '']) => publish('message', channel, message),
    spublish: ([channel = '', message = '']) => publish('smessage', channel, message),
    evalsha: () => '-NOSCRIPT No matching script\r\n',
    eval: ([script = '']) =>
      script.includes('PEXPIRE') && script.includes('shares')
        ? list(int(0), '*0\r\n', list(int(1)))
        : list(int(1), bulk('5')),
    sentinel: ([what]) => (what === 'sentinels' ? '*0\r\n' : address),
    cluster: ([what = '']) =>
      what.toLowerCase() === 'slots'
        ? list(list(int(0), int(16_383), list(bulk('127.0.0.1'), int(port), bulk('node'))))
        : bulk('cluster_state:ok\r\n'),
  }
  for (const kind of ['subscribe', 'ssubscribe', 'unsubscribe', 'sunsubscribe']) {
    answers[kind] = (args, socket) => {
      const channels = sockets.get(socket) ?? new Set()
      return args
        .map((channel) => {
          if (kind.includes('un')) channels.delete(channel)
          else channels.add(channel)
          return list(bulk(kind), bulk(channel), int(channels.size))
        })
        .join('')
    }
  }

  const fake: FakeRedis = {
    port,
    script: null,
    commands,
    cut: () => sockets.forEach((_channels, socket) => socket.destroy()),
    unsubscribe: () =>
      sockets.forEach((channels, socket) => {
        for (const channel of channels) {
          channels.delete(channel)
          socket.write(list(bulk('sunsubscribe'), bulk(channel), int(channels.size)))
        }
      }),
    close: async () => {
      fake.cut()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  const server = createServer((socket) => {
    sockets.set(socket, new Set())
    let text = ''
    socket.setNoDelay(true)
    socket.on('error', () => undefined)
    socket.on('close', () => sockets.delete(socket))
    socket.on('data', (chunk) => {
      const { commands: come, rest } = readCommands(text + chunk.toString('latin1'))
      text = rest
      for (const [name = '', ...args] of come) {
        const command = name.toLowerCase()
        commands.push(command)
        if (socket.destroyed) return
        socket.write(fake.script?.(command, args) ?? answers[command]?.(args, socket) ?? OK)
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return fake
}
