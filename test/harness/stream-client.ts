import { type ClientRequest, get, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import { createGunzip, type Gunzip } from 'node:zlib'

/** One server-sent event as it came. */
export interface Received {
  id?: string
  event?: string
  // Tests look into any event; a wrong path fails the assertion it stands in.
  // oxlint-disable-next-line typescript/no-explicit-any
  data?: any
  retry?: number
}

/** A bare SSE client: no reconnect, nothing hidden. */
export class StreamClient {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly all: Received[] = []
  comments = 0
  /** Whether the server has closed the stream. */
  closed = false
  /** Why a compressed stream could not be read, its trailer included. */
  failure: Error | null = null
  readonly #request: ClientRequest
  readonly #response: IncomingMessage
  #text = ''

  constructor(request: ClientRequest, response: IncomingMessage) {
    this.#request = request
    this.#response = response
    this.status = response.statusCode ?? 0
    this.headers = response.headers
    const isGzip = response.headers['content-encoding'] === 'gzip'
    const body = isGzip ? this.#unpacked() : response
    body.setEncoding('utf8')
    body.on('data', (text: string) => this.#read(text))
    for (const event of ['end', 'close', 'error']) body.on(event, () => (this.closed = true))
  }

  /** Events of the domain, without the framing ones. */
  get events(): Received[] {
    return this.all.filter(({ id }) => id !== undefined)
  }

  get seqs(): number[] {
    return this.events.map(({ id }) => Number(id))
  }

  get connected(): Received | undefined {
    return this.all.find(({ event }) => event === 'connected')
  }

  get goodbye(): Received | undefined {
    return this.all.find(({ event }) => event === 'connection-timeout')
  }

  /** The body, where it is no stream. */
  get text(): string {
    return this.#text
  }

  pause(): void {
    this.#response.pause()
  }

  resume(): void {
    this.#response.resume()
  }

  close(): void {
    this.#request.destroy()
  }

  #unpacked(): Gunzip {
    const unpacked = this.#response.pipe(createGunzip())
    unpacked.on('error', (error) => (this.failure = error))
    // A lost connection ends no pipe. What has come is still to be read.
    this.#response.on('close', () => void (this.#response.complete || unpacked.end()))
    return unpacked
  }

  #read(text: string): void {
    this.#text += text
    for (let end = this.#text.indexOf('\n\n'); end >= 0; end = this.#text.indexOf('\n\n')) {
      this.#readEvent(this.#text.slice(0, end))
      this.#text = this.#text.slice(end + 2)
    }
  }

  #readEvent(text: string): void {
    const received: Received = {}
    for (const line of text.split('\n')) {
      const colon = line.indexOf(':')
      const [field, value] = [line.slice(0, colon), line.slice(colon + 1).trimStart()]
      if (field === '') this.comments++
      else if (field === 'data') received.data = JSON.parse(value) as unknown
      else if (field === 'retry') received.retry = Number(value)
      else if (field === 'id' || field === 'event') received[field] = value
    }
    if (Object.keys(received).length > 0) this.all.push(received)
  }
}

/**
 * Opens a stream; resolves with its headers. Rejects where there is no answer, or `signal` comes
 * first.
 */
export function openStream(
  url: string,
  headers: Record<string, string> = {},
  signal?: AbortSignal,
): Promise<StreamClient> {
  return new Promise((resolve, reject) => {
    const request = get(url, { headers, agent: false, ...(signal === undefined ? {} : { signal }) }, (response) =>
      resolve(new StreamClient(request, response)),
    )
    request.on('error', reject)
  })
}
