// Opens streams over raw sockets and counts the bytes of each, in a separate process, so that it
// delays no other.
import { connect, type Socket } from 'node:net'

import { type Answer, type Command, type Counted, monotonicMs, STAMP } from './listening.ts'

/** Connections that are being opened at once. */
const AT_ONCE = 200
/** Every so many streams, the times of events are read. */
const TIMED_EACH = 50
/** Shared by all sockets: data is counted and dropped. */
const buffer = Buffer.allocUnsafe(256 * 1024)

let sockets: Socket[] = []
let counts: number[] = []
let delays: number[] = []

/** Takes the bytes of one stream, and notes how long its events were under way. */
function timer(): (text: string) => void {
  let rest = ''
  return (text) => {
    const now = monotonicMs()
    const end = (rest + text).lastIndexOf('\n\n')
    for (const [, sentAt] of (rest + text).slice(0, end + 1).matchAll(STAMP)) delays.push(now - Number(sentAt))
    rest = (rest + text).slice(end + 1)
  }
}

function openOne(port: number, head: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const index = sockets.length
    counts.push(0)
    const time = index % TIMED_EACH === 0 ? timer() : null
    const onread = {
      buffer,
      callback: (length: number) => {
        if (counts[index] === 0 && buffer.toString('latin1', 9, 12) !== '200') reject(new Error('a stream was refused'))
        counts[index] = (counts[index] ?? 0) + length
        time?.(buffer.toString('latin1', 0, length))
        resolve()
        return true
      },
    }
    const socket = connect({ port, host: '127.0.0.1', onread })
    sockets.push(socket)
    socket.on('error', reject)
    socket.on('close', () => reject(new Error('a stream was closed')))
    socket.write(head)
  })
}

async function open(port: number, head: string, count: number): Promise<void> {
  for (let left = count; left > 0; left -= AT_ONCE) {
    await Promise.all(Array.from({ length: Math.min(left, AT_ONCE) }, () => openOne(port, head)))
  }
}

async function drop(): Promise<void> {
  await Promise.all(
    sockets.map(
      (socket) =>
        new Promise((resolve) => {
          socket.removeAllListeners('close').once('close', resolve)
          socket.destroy()
        }),
    ),
  )
  sockets = []
  counts = []
}

const counted = (): Counted => ({
  total: counts.reduce((sum, count) => sum + count, 0),
  least: counts.reduce((least, count) => Math.min(least, count), Infinity),
  most: counts.reduce((most, count) => Math.max(most, count), 0),
})

async function obey(command: Command): Promise<Answer> {
  if (command.do === 'open') await open(command.port, command.head, command.count)
  if (command.do === 'reset') {
    counts.fill(0)
    delays = []
  }
  if (command.do === 'drop') await drop()
  return { counted: counted(), delays: command.do === 'delays' ? delays : [] }
}

process.on('message', (command: Command) => {
  obey(command).then(
    (answer) => process.send?.({ answer }),
    (error: unknown) => process.send?.({ error: String(error) }),
  )
})
process.send?.({ ready: true })
