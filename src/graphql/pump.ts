import type { ServerResponse } from 'node:http'

import type { FastifyReply } from 'fastify'

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
  const finish = (): void => void Promise.resolve(iterator.return?.()).catch(onError)
  // The only thing that ends the wait for the next chunk of an idle source.
  response.once('close', finish)
  response.on('error', onError)
  if (response.destroyed) finish()
  try {
    for (let next = await iterator.next(); next.done !== true && !response.destroyed; next = await iterator.next()) {
      if (!response.write(next.value)) await drained(response)
      onTaken?.(next.value)
    }
    response.end()
  } catch (error) {
    onError(error)
    response.destroy()
  }
}

/** Takes a reply over from Fastify and sends the head of a stream: what hooks have set, and `headers`. */
export function beginStream(reply: FastifyReply, status: number, headers: Readonly<Record<string, string>>): ServerResponse {
  const set = Object.entries({ ...reply.getHeaders(), ...headers, 'cache-control': 'no-store', 'x-accel-buffering': 'no' })
  // HTTP/2 knows no `connection`.
  const sent = set.filter(([name, value]) => value !== undefined && name !== 'connection')
  reply.hijack()
  return reply.raw.writeHead(status, Object.fromEntries(sent.map(([name, value]) => [name, String(value)])))
}

/** Resolves when the response takes more, or is closed, which it is where it takes nothing for long. */
function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const settle = (): void => {
      clearTimeout(timer)
      response.off('drain', settle).off('close', settle)
      resolve()
    }
    const timer = setTimeout(() => response.destroy(), STALL_MS).unref()
    response.once('drain', settle).once('close', settle)
  })
}
