import type { ServerResponse } from 'node:http'

import type { FastifyReply } from 'fastify'

import { breakOff, drained, headersOf, isClosed, mayBreakOff, STREAM_HEADERS } from '../../live/streams/outlet.ts'
import { BrokenOff } from './shared-connection.ts'

interface PumpOptions {
  onTaken: (chunk: string | Uint8Array) => void
  onStall: () => void
  onError: (error: unknown) => void
}

/**
 * Writes an iterable to a response and ends it, no faster than the client takes it. Closes the
 * iterable when the client disconnects. `onTaken` is called after each chunk that found room,
 * `onStall` if one found none in time. Never rejects.
 */
export async function pump(
  response: ServerResponse,
  chunks: AsyncIterable<string | Uint8Array>,
  { onTaken, onStall, onError }: PumpOptions,
): Promise<void> {
  const iterator = chunks[Symbol.asyncIterator]()
  let isGone = false
  let lastWriteAt = 0
  const leave = (): void => {
    isGone = true
    // Nothing else ends the wait for the next chunk of an idle source.
    void Promise.resolve(iterator.return?.()).catch(onError)
  }
  response.once('close', leave).on('error', onError)
  if (isClosed(response)) leave()
  try {
    for (let next = await iterator.next(); next.done !== true && !isGone; next = await iterator.next()) {
      lastWriteAt = Date.now()
      const outcome = response.write(next.value) ? 'room' : await drained(response, response)
      if (outcome !== 'room') leave()
      if (outcome === 'stalled') {
        onStall()
        response.destroy()
      }
      onTaken(next.value)
    }
    response.end()
  } catch (error) {
    if (error instanceof BrokenOff) return breakOff(response, lastWriteAt)
    onError(error)
    response.destroy()
  }
}

/**
 * Takes over a reply from Fastify, and sends the head of a stream: the headers from hooks, and
 * `headers`.
 */
export function beginStream(
  reply: FastifyReply,
  status: number,
  headers: Readonly<Record<string, string>>,
): ServerResponse {
  const all = { ...headersOf(reply.getHeaders()), ...headers, ...STREAM_HEADERS }
  // HTTP/2 forbids `connection`. The library's `none` is no coding: some clients refuse to read on.
  const { connection: _own, 'content-encoding': _none, ...sent } = all as Record<string, string>
  reply.hijack()
  mayBreakOff(reply.raw)
  return reply.raw.writeHead(status, sent)
}
