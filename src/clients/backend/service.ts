import { RefusedBackend } from './log.ts'
import { Refusal } from './problems.ts'

export interface ServiceCall {
  method: string
  /** Below `/api/v1`. */
  path: string
  headers: Record<string, string>
  body: Uint8Array<ArrayBuffer> | null
}

export interface ServiceOptions {
  url: string
  apiKey: string
  timeoutMs: number
  onError: (error: unknown) => void
}

/** The headers of the service's answer that a page gets: none about the key and its limits. */
const HANDED_ON = ['content-type', 'cache-control', 'etag', 'retry-after', 'idempotency-replayed', 'x-request-id']

/**
 * The service's answer for a page, including refusals. Throws `unavailable` without an answer, and
 * if the service refuses this backend's own credentials, which no reader could fix.
 */
export async function askService(
  { url, apiKey, timeoutMs, onError }: ServiceOptions,
  { method, path, headers, body }: ServiceCall,
  signal: AbortSignal,
): Promise<Response> {
  const unavailable = (error: unknown): Refusal => {
    // A browser that has disconnected needs no answer, and that is no error.
    if (!signal.aborted) onError(error)
    return new Refusal('unavailable', {
      detail: 'The service did not answer the backend of this page. Send the request again after `Retry-After`.',
      headers: { 'retry-after': '1' },
    })
  }
  const { response, bytes } = await exchange(`${url}/api/v1${path}`, {
    method,
    headers: { ...headers, 'x-api-key': apiKey, ...(body === null ? {} : { 'content-type': 'application/json' }) },
    body,
    // A redirect would send the key elsewhere.
    redirect: 'error',
    signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
  }).catch((error: unknown) => {
    throw unavailable(error)
  })
  if (response.status === 401) throw unavailable(new RefusedBackend(reasonIn(textOf(bytes))))
  const type = response.headers.get('content-type') ?? ''
  // A proxy's error page is no answer of the service.
  if (bytes.length > 0 && !/^application\/(problem\+)?json\b/.test(type)) {
    throw unavailable(new Error(`${method} ${path} answered ${response.status} with ${type || 'no type'}`))
  }
  const kept = HANDED_ON.flatMap((name): [string, string][] => {
    const value = response.headers.get(name)
    return value === null ? [] : [[name, value]]
  })
  return new Response(bytes.length === 0 ? null : bytes, { status: response.status, headers: kept })
}

/** Reads the whole answer: a truncated one counts as none. */
async function exchange(
  url: string,
  init: RequestInit,
): Promise<{ response: Response; bytes: Uint8Array<ArrayBuffer> }> {
  const response = await fetch(url, init)
  return { response, bytes: new Uint8Array(await response.arrayBuffer()) }
}

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8').slice(0, 500)

/** The detail of a problem document, which has no id of the request; else the text itself. */
function reasonIn(text: string): string {
  try {
    const { detail } = JSON.parse(text) as { detail?: unknown }
    return typeof detail === 'string' ? detail : text
  } catch {
    return text
  }
}
