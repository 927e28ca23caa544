import { once } from 'node:events'
import { type IncomingMessage, request as http } from 'node:http'
import { request as https } from 'node:https'
import { finished } from 'node:stream/promises'

const TIMEOUT_MS = 5000

/**
 * Publishes items to a GRIP proxy. Rejects unless a complete answer arrives in time. `fetch` would
 * take three times the CPU.
 */
export async function postItems(
  url: string,
  token: string | undefined,
  items: readonly string[],
): Promise<{ ok: boolean; status: number }> {
  const body = Buffer.from(`{"items":[${items.join(',')}]}`)
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const address = new URL(`${url.replace(/\/$/, '')}/publish/`)
  const request = (address.protocol === 'https:' ? https : http)(address, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'content-length': body.length, ...authorization },
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })
  request.end(body)
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  // From here on, an error reaches the response as well.
  request.on('error', () => undefined)
  await finished(response.resume())
  const { statusCode: status = 0 } = response
  return { ok: status >= 200 && status < 300, status }
}
