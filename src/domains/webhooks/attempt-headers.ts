import { z } from 'zod'

import { REDACTED } from '../../core/delivery/own-headers.ts'

type Headers = Readonly<Record<string, string>>

/** What is kept of the headers of an attempt, by name, without secrets. */
export interface AttemptHeaders {
  sent: Headers
  answered: Headers
}

const storedSchema = z.object({ sent: z.record(z.string(), z.string()), answered: z.record(z.string(), z.string()) })

/** The stored headers of an attempt; null if it sent nothing, or is of an earlier release. */
export const readHeaders = (json: unknown): AttemptHeaders | null => storedSchema.safeParse(json).data ?? null

/** The headers of a request, without signatures and the values of own headers. */
export const sentHeaders = (sent: Headers, own: Headers): Headers =>
  Object.fromEntries(
    Object.entries(sent)
      .filter(([name]) => !/signature/i.test(name))
      .map(([name, value]) => [name, own[name.toLowerCase()] === undefined ? value : REDACTED]),
  )

const MAX_ANSWERED = 30
const MAX_ANSWERED_BYTES = 2048

/**
 * The first headers of an answer. Values of cookies are secrets of the receiver; `redact` takes out
 * those of the request, which it may echo. It is slow, so it is called once, with all of them in
 * lines: neither a header nor a form of a secret has a line break.
 */
export function answeredHeaders(
  headers: Readonly<Record<string, string | string[] | undefined>>,
  redact: (text: string) => string,
): Headers {
  const first = Object.entries(headers).slice(0, MAX_ANSWERED)
  const lines = first.flatMap(([name, value]) => [name, [value].flat().join(', ').replaceAll('\n', ' ')])
  const redacted = redact(lines.join('\n')).split('\n')
  const kept: [name: string, value: string][] = []
  let room = MAX_ANSWERED_BYTES
  for (const [n, [given]] of first.entries()) {
    const [name = '', value = ''] = redacted.slice(2 * n, 2 * n + 2)
    room -= Buffer.byteLength(name)
    if (room <= 0) break
    const text = given === 'set-cookie' ? REDACTED : beginningOf(value, room)
    room -= Buffer.byteLength(text)
    kept.push([name, text])
  }
  return Object.fromEntries(kept)
}

/** The beginning of a text, without controls: the database cannot store NUL. */
function beginningOf(text: string, bytes: number): string {
  const whole = Buffer.from(text.replaceAll(/\p{Cc}/gu, '\uFFFD'))
  return new TextDecoder().decode(whole.subarray(0, bytes), { stream: true })
}
