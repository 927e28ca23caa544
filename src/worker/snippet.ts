const MAX_BYTES = 1024

const SIGNATURE = /v1=([0-9a-f]{64})/

/**
 * The beginning of an answer, at most 1 KiB of valid UTF-8 that the database can hold; null where
 * there is none. A receiver that echoes what it got must not bring a signature into the delivery
 * log.
 */
export function snippetOf(body: Buffer, sentHeaders: Readonly<Record<string, string>>): string | null {
  if (body.length === 0) return null
  let text = body.toString('utf8').replaceAll('\0', '\uFFFD')
  for (const value of Object.values(sentHeaders)) {
    const signature = SIGNATURE.exec(value)?.[1]
    if (signature !== undefined) text = text.replaceAll(signature, '[signature]')
  }
  return new TextDecoder().decode(Buffer.from(text).subarray(0, MAX_BYTES), { stream: true })
}
