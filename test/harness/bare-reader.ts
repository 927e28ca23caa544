import { connect, type Socket } from 'node:net'

const RETRY_MS = { least: 200, most: 1000 }

/**
 * A bare client over a raw socket, cheap enough for thousands in a process. It comes back by itself
 * with the last id that it has read, as a browser's EventSource does, and drops nothing.
 */
export class BareReader {
  /** The ids of all events, over all its connections. */
  readonly seqs: number[] = []
  #socket: Socket | null = null
  #isClosed = false
  readonly #port: number
  readonly #head: string

  constructor(url: string) {
    const { host, port, pathname, search } = new URL(url)
    this.#port = Number(port)
    // HTTP/1.0: the body comes without chunks, whose sizes would stand within lines.
    this.#head = `GET ${pathname}${search} HTTP/1.0\r\nhost: ${host}\r\naccept: text/event-stream\r\n`
  }

  /** Resolves when its first stream is open. */
  open(): Promise<void> {
    return new Promise((resolve) => this.#connect(resolve))
  }

  close(): void {
    this.#isClosed = true
    this.#socket?.destroy()
  }

  #connect(onOpen: () => void): void {
    const socket = connect(this.#port, '127.0.0.1').setEncoding('latin1')
    this.#socket = socket
    let rest = ''
    socket.write(`${this.#head}last-event-id: ${this.seqs.at(-1) ?? 0}\r\n\r\n`)
    socket.on('data', (text: string) => {
      const lines = (rest + text).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) {
        if (line.startsWith('HTTP/1.1') && !line.startsWith('HTTP/1.1 200')) socket.destroy()
        else if (line.startsWith('event: connected')) onOpen()
        else if (line.startsWith('id: ')) this.seqs.push(Number(line.slice(4)))
      }
    })
    socket.on('error', () => undefined)
    socket.on('close', () => {
      if (this.#isClosed) return
      const wait = RETRY_MS.least + Math.random() * (RETRY_MS.most - RETRY_MS.least)
      setTimeout(() => this.#connect(onOpen), wait).unref()
    })
  }
}
