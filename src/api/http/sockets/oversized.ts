import type { IncomingMessage } from 'node:http'

import { ServiceError } from '../../../core/errors.ts'

const MAX_URL_LENGTH = 16 * 1024
const MAX_HEADERS_LENGTH = 16 * 1024

/**
 * What Node's parser takes of both together. It closes a connection beyond that, so it is wide
 * enough for refusals of our own, and less than Node reads at once, so that the packet in which a
 * head becomes too long mostly has its beginning.
 */
export const MAX_HEAD_BYTES = 48 * 1024

/** Why a request is too large, but for its body; null if it is not. */
export function oversized({ url = '', rawHeaders }: Pick<IncomingMessage, 'url' | 'rawHeaders'>): ServiceError | null {
  if (url.length > MAX_URL_LENGTH) return new ServiceError('uri_too_long')
  let length = 0
  // Over HTTP/2 the address is one of the headers.
  for (let n = 0; n < rawHeaders.length; n += 2) {
    const name = rawHeaders[n] ?? ''
    if (!name.startsWith(':')) length += name.length + (rawHeaders[n + 1] ?? '').length
  }
  return length > MAX_HEADERS_LENGTH ? new ServiceError('headers_too_large') : null
}

/**
 * The refusal of a head that Node's parser did not take, by the packet in which it became too long:
 * of a later packet nothing says whether it continues the address, so it counts as headers.
 */
export function oversizedHead(packet: Buffer | undefined): ServiceError {
  const line = packet?.subarray(0, MAX_URL_LENGTH).toString('latin1') ?? ''
  const isAddress = /^[A-Z]{3,20} [^\r\n ]*$/.test(line) && line.length === MAX_URL_LENGTH
  return new ServiceError(isAddress ? 'uri_too_long' : 'headers_too_large')
}
