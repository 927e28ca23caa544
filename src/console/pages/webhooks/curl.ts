/** A text as one argument of any shell of the POSIX kind. */
const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`

/** The value that the service gives in place of an endpoint's own header. */
const REDACTED = '[redacted]'

export interface Sent {
  url: string
  deliveryId: string
  /** The id of the secret that signs. */
  kid: string
  /** Those that all attempts share. */
  headers: Readonly<Record<string, string>>
  body: string
}

/**
 * Lines for a shell that send a delivery as an attempt does, signed now by the secret in `$SECRET`
 * (`whs_…`). Both signatures of docs/guides/webhook-signatures.md are there. The endpoint's own
 * headers are not: nobody can read their values.
 */
export function curlOf({ url, deliveryId, kid, headers, body }: Sent): string {
  const shared = Object.entries(headers).filter(([, value]) => value !== REDACTED)
  const idHeader = shared.find(([, value]) => value === deliveryId)?.[0] ?? 'X-Service-Delivery-Id'
  const prefix = idHeader.slice(0, -'Delivery-Id'.length)
  const lines = [
    `curl -i -g ${quoted(url)} --data-binary @-`,
    ...shared.map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    `-H "${prefix}Timestamp: $AT"`,
    `-H "${prefix}Signature: t=$T,v1=$V1,kid=${kid}"`,
    '-H "webhook-timestamp: $T"',
    '-H "webhook-signature: v1,$STANDARD"',
  ]
  // In parentheses a missing secret ends these lines, and not the person's shell. The body goes
  // through a pipe: an argument has at most 128 KiB.
  return `(
: "\${SECRET:?Set SECRET to the secret of the endpoint, whs_...}"
ID=${quoted(headers['webhook-id'] ?? '')}
BODY=${quoted(body)}
NOW=$(date -u '+%s %Y-%m-%dT%H:%M:%S.000Z'); T=\${NOW% *}; AT=\${NOW#* }
V1=$(printf '%s.%s' "$AT" "$BODY" | openssl dgst -sha256 -hmac "$SECRET" | sed 's/^.* //')
STANDARD=$(printf '%s.%s.%s' "$ID" "$T" "$BODY" |
  openssl dgst -sha256 -mac HMAC -macopt "hexkey:\${SECRET#whs_}" -binary | openssl base64 -A)
printf '%s' "$BODY" | ${lines.join(' \\\n  ')}
)`
}
