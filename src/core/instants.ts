// RFC 3339 writes no year after 9999. Nothing here is older than the ids, which count milliseconds
// since 1970.
const EARLIEST = 0
const LATEST = Date.UTC(9999, 11, 31, 23, 59, 59, 999)

/**
 * What is wrong with an instant in milliseconds since 1970; null where it may be stored and
 * compared.
 */
export function reachOf(at: number): 'too_small' | 'too_large' | null {
  if (at < EARLIEST) return 'too_small'
  return at > LATEST ? 'too_large' : null
}
