import { withoutEchoes } from '../secrets/echoes.ts'
import type { Id } from '../ids.ts'
import { seal, type SealKeys, unseal } from '../secrets/seals.ts'

/** A header that the owner of an endpoint adds to its deliveries. Names are in lower case. */
export interface OwnHeader {
  name: string
  value: string
}

/** What is shown in place of the value of an own header. */
export const REDACTED = '[redacted]'

export interface SealedHeader {
  name: string
  /** In base64. */
  sealed: string
}

export const ownHeaderContext = (endpointId: Id, name: string): string => `webhook-header:${endpointId}:${name}`

export const sealHeader = (keys: SealKeys, endpointId: Id, { name, value }: OwnHeader): Buffer<ArrayBuffer> =>
  seal(keys, value, ownHeaderContext(endpointId, name))

/** Opens results of `sealHeader`. Null if one cannot be opened, because its key is missing. */
export function openHeaders(
  keys: SealKeys,
  endpointId: Id,
  sealed: readonly SealedHeader[] | null,
): Record<string, string> | null {
  try {
    return Object.fromEntries(
      (sealed ?? []).map(({ name, sealed: text }) => [
        name,
        unseal(keys, Buffer.from(text, 'base64'), ownHeaderContext(endpointId, name)),
      ]),
    )
  } catch {
    return null
  }
}

/** All headers of a request: ours win, but for the name of the program. */
export function withOwnHeaders(own: Readonly<Record<string, string>>, ours: Readonly<Record<string, string>>) {
  const { 'user-agent': agent, ...rest } = own
  return { ...rest, ...ours, ...(agent === undefined ? {} : { 'User-Agent': agent }) }
}

const MIN_REDACTED = 4

/** A text without the values of own headers, whole or by their words: a receiver may echo them. */
export function redactHeaders(text: string, own: Readonly<Record<string, string>>): string {
  const parts = Object.values(own).flatMap((value) => [value, ...value.split(/[\t ]/)])
  const secret = [...new Set(parts)].filter(({ length }) => length >= MIN_REDACTED)
  return secret
    .toSorted((a, b) => b.length - a.length)
    .reduce((left, part) => withoutEchoes(left, part, '[header]'), text)
}
