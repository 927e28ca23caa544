import type { ServerResponse } from 'node:http'

import type { FastifyReply } from 'fastify'

import { isClosed } from '../domains/stream/connection.ts'

/** A client that takes nothing for this long is cut off (contract, section 6). */
const STALL_MS = 10_000

/**
 * Writes an iterable to a response and ends it, no faster than the client takes it. Closes the iterable when the client
 * goes. `onTaken` is called after each chunk that found room. Never rejects.
 */
export async function pump(
  response: ServerResponse,
  chunks: AsyncIterable<string | Uint8Array>,
  { onTaken, onError }: { onTaken?: (chunk: string | Uint8Array) => void; onError: (error: unknown) => void },
): Promise<void> {
  const iterator = chunks[Symbol.asyncIterator]()
  let isGone = false
  const leave = (): void => {
    isGone = true
    // The only thing that ends the wait for the next chunk of an idle source.
    void Promise.resolve(iterator.return?.()).catch(onError)
  }
  response.once('close', leave).on('error', onError)
  if (isClosed(response)) leave()
  try {
    for (let next = await iterator.next(); next.done !== true && !isGone; next = await iterator.next()) {
      if (!response.write(next.value) && !(await drained(response))) leave()
      onTaken?.(next.value)
    }
    response.end()
  } catch (error) {
    onError(error)
    response.destroy()
  }
}

/** Takes a reply over from Fastify and sends the head of a stream: what hooks have set, and `headers`. */
export function beginStream(
  reply: FastifyReply,
  status: number,
  headers: Readonly<Record<string, string>>,
): ServerResponse {
  const set = Object.entries({
    ...reply.getHeaders(),
    ...headers,
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
  })
  // HTTP/2 knows no `connection`.
  const sent = set.filter(([name, value]) => value !== undefined && name !== 'connection')
  reply.hijack()
  return reply.raw.writeHead(status, Object.fromEntries(sent.map(([name, value]) => [name, String(value)])))
}

/** Whether the response takes more in time; one that does not is closed. */
function drained(response: ServerResponse): Promise<boolean> {
  return new Promise((resolve) => {
    const settle = (isDrained: boolean): void => {
      clearTimeout(timer)
      response.off('drain', onDrain).off('close', onClose)
      resolve(isDrained)
    }
    const onDrain = (): void => settle(true)
    const onClose = (): void => settle(false)
    const timer = setTimeout(() => {
      response.destroy()
      settle(false)
    }, STALL_MS).unref()
    response.once('drain', onDrain).once('close', onClose)
  })
}
