import { type Checksum, checksumOf, deflate, storedBlocks } from './deflate.ts'

/** Bytes as a socket takes them. */
export interface Framed {
  readonly bytes: Buffer
  /** The bytes as one chunk of HTTP/1.1's chunked coding, ready for the socket. */
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

/** Bytes for many sockets, encoded once. */
export class Chunk implements Framed {
  readonly bytes: Buffer
  readonly framed: Buffer
  readonly #pack: (bytes: Buffer) => Buffer
  #deflated: (Framed & Checksum) | undefined

  constructor({ bytes, framed }: Framed, pack = deflate) {
    this.bytes = bytes
    this.framed = framed
    this.#pack = pack
  }

  /** The bytes as a part of any gzip stream, compressed when the first stream needs it. */
  get deflated(): Framed & Checksum {
    return (this.#deflated ??= { ...frame([this.#pack(this.bytes)]), ...checksumOf(this.bytes) })
  }
}

export const chunkOf = (parts: readonly (Buffer | string)[]): Chunk => new Chunk(frame(parts))

/** A short text for one stream: to compress it would cost more than it saves. */
export const loneChunk = (text: string): Chunk => new Chunk(frame([text]), storedBlocks)
