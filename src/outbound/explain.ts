const WORDS: Readonly<Record<string, string>> = {
  EADDRREFUSED: 'address not allowed',
  EPORTREFUSED: 'port not allowed',
  EPROTOREFUSED: 'http not allowed',
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection closed by the receiver',
  EPIPE: 'connection closed by the receiver',
  ECONNABORTED: 'connection closed by the receiver',
  ETIMEDOUT: 'timeout',
  EHOSTUNREACH: 'host unreachable',
  ENETUNREACH: 'network unreachable',
  EADDRNOTAVAIL: 'network unreachable',
  ENOTFOUND: 'name not found',
  EAI_AGAIN: 'name servers did not answer',
  CERT_HAS_EXPIRED: 'tls: the certificate has expired',
  CERT_NOT_YET_VALID: 'tls: the certificate is not valid yet',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'tls: the certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'tls: a certificate in the chain is self-signed',
  ERR_TLS_CERT_ALTNAME_INVALID: 'tls: the certificate is for another name',
}

/**
 * Why a request failed, in our own few words: a library's message may reveal too much, and changes
 * with its version.
 */
export function explain(error: unknown): string {
  const code = codeOf(error)
  if (code === undefined) return 'request failed'
  const words = WORDS[code]
  if (words !== undefined) return words
  if (/^(UNABLE_TO_|CERT_|INVALID_CA|PATH_LENGTH_EXCEEDED)/.test(code)) return 'tls: the certificate cannot be verified'
  if (code.startsWith('ERR_SSL') || code.startsWith('ERR_TLS') || code === 'EPROTO') return 'tls: handshake failed'
  if (code.startsWith('HPE_')) return 'the answer is not HTTP'
  if (code.startsWith('Z_') || code.startsWith('ERR_BROTLI')) return 'the answer cannot be unpacked'
  return 'request failed'
}

/** The code of the innermost cause: wrappers have codes of their own. */
function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  if (error instanceof AggregateError) return codeOf(error.errors[0])
  const { code } = error as { code?: unknown }
  return codeOf(error.cause) ?? (typeof code === 'string' ? code : undefined)
}
