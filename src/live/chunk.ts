/** Bytes that go to many sockets, made once. */
export interface Chunk {
  readonly bytes: Buffer
  /**
   * The same as one chunk of HTTP/1.1's chunked coding, so that a socket can take them as they are.
   */
  readonly framed: Buffer
}

const LINE_END = Buffer.from('\r\n')

export function chunkOf(parts: readonly (Buffer | string)[]): Chunk {
  const buffers = parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part))
  const length = buffers.reduce((sum, buffer) => sum + buffer.length, 0)
  const head = Buffer.from(`${length.toString(16)}\r\n`)
  const framed = Buffer.concat([head, ...buffers, LINE_END])
  return { bytes: framed.subarray(head.length, head.length + length), framed }
}
