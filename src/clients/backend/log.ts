const WINDOW_MS = 60_000
/** The most different texts that are remembered in a window. */
const MAX_TEXTS = 100

/**
 * The default of `onError`: `console.error`, with the same text at most once a minute, because a
 * service that is down or refuses this backend fails every request.
 */
export function logErrors(): (error: unknown) => void {
  const seen = new Set<string>()
  let since = -Infinity
  return (error) => {
    const now = performance.now()
    if (now - since >= WINDOW_MS || seen.size >= MAX_TEXTS) {
      seen.clear()
      since = now
    }
    const text = String(error)
    if (seen.has(text)) return
    seen.add(text)
    console.error(error instanceof RefusedBackend ? text : error)
  }
}

/** The service refuses this backend's own credentials. The stack says nothing about it. */
export class RefusedBackend extends Error {
  constructor(reason: string) {
    super(`the service refuses this backend: ${reason}`)
  }
}
