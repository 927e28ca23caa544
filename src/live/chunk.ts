import { type Checksum, checksumOf, deflate } from './deflate.ts'

/** Bytes as a socket takes them. */
export interface Framed {
  readonly bytes: Buffer
  /**
   * The same as one chunk of HTTP/1.1's chunked coding, so that a socket can take them as they are.
   */
  readonly framed: Buffer
}

const LINE_END = Buffer.from('\r\n')

export function frame(parts: readonly (Buffer | string)[]): Framed {
  const buffers = parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part))
  const length = buffers.reduce((sum, buffer) => sum + buffer.length, 0)
  const head = Buffer.from(`${length.toString(16)}\r\n`)
  const framed = Buffer.concat([head, ...buffers, LINE_END])
  return { bytes: framed.subarray(head.length, head.length + length), framed }
}

/** Bytes that go to many sockets, made once. */
export class Chunk implements Framed {
  readonly bytes: Buffer
  readonly framed: Buffer
  #deflated: (Framed & Checksum) | undefined

  constructor({ bytes, framed }: Framed) {
    this.bytes = bytes
    this.framed = framed
  }

  /** The same as a part of any gzip stream, made when the first stream asks for it. */
  get deflated(): Framed & Checksum {
    return (this.#deflated ??= { ...frame([deflate(this.bytes)]), ...checksumOf(this.bytes) })
  }
}

export const chunkOf = (parts: readonly (Buffer | string)[]): Chunk => new Chunk(frame(parts))
