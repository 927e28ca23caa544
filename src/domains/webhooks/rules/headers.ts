import { z } from 'zod'

import { invalid } from '../../../core/errors.ts'
import type { Id } from '../../../core/ids.ts'
import { sealHeader } from '../../../core/delivery/own-headers.ts'
import type { Settings } from '../../../core/settings/settings.ts'
import { atMost } from '../../../core/input/texts.ts'
import { wrong } from '../../../core/input/schemas.ts'

const MAX_HEADERS = 10
const MAX_NAME_LENGTH = 100
const MAX_VALUE_LENGTH = 4096

// What the service, HTTP or a proxy on the way says of a request itself (RFC 9110, 7.6.1), and what
// would pass for a cloud's own requests to its metadata.
const PREFIXES = ['webhook-', 'x-forwarded-', 'metadata-', 'x-aws-', 'content-', 'proxy-', 'sec-']
const NAMES = new Set([
  'host',
  'metadata',
  'cookie',
  'cookie2',
  'expect',
  'forwarded',
  'via',
  'date',
  'connection',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
  // No object has a property of this name.
  '__proto__',
])

type HeaderSettings = Pick<Settings, 'HEADER_PREFIX'>

const isAllowedName = (name: string, { HEADER_PREFIX }: HeaderSettings): boolean =>
  !NAMES.has(name) && ![...PREFIXES, HEADER_PREFIX.toLowerCase()].some((prefix) => name.startsWith(prefix))

/** The headers of its own that an endpoint is given. A value that is null stays as it is. */
export const ownHeaders = (settings: HeaderSettings) =>
  z
    .array(
      z.strictObject({
        name: atMost(MAX_NAME_LENGTH, z.string())
          .regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, 'must be the name of a header')
          .transform((name) => name.toLowerCase())
          .refine(
            (name) => isAllowedName(name, settings),
            wrong('not_allowed', 'must not be a header that the service, HTTP or a proxy sets'),
          ),
        value: atMost(MAX_VALUE_LENGTH, z.string())
          .regex(/^[!-~]([ -~\t]*[!-~])?$/, 'must be visible ASCII, without line breaks')
          .nullable()
          .optional(),
      }),
    )
    .max(MAX_HEADERS)
    .refine(
      (list) => new Set(list.map(({ name }) => name)).size === list.length,
      wrong('repeated', 'must not repeat a name'),
    )

type GivenHeaders = z.infer<ReturnType<typeof ownHeaders>>

/**
 * The change of an endpoint's own headers: the given ones replace all. Throws `validation_failed`
 * for a missing value.
 */
export function changeHeaders(
  app: { settings: Settings },
  id: Id,
  given: GivenHeaders,
  stored: readonly { name: string }[],
) {
  const known = new Set(stored.map(({ name }) => name))
  const set = given.flatMap(({ name, value }, place) => {
    if (value != null) return [{ name, sealed: sealHeader(app.settings, id, { name, value }) }]
    if (!known.has(name)) throw invalid(`/headers/${place}/value`, 'required', 'is required')
    return []
  })
  const kept = given.filter(({ value }) => value == null).map(({ name }) => name)
  return { deleteMany: { name: { notIn: kept } }, create: set }
}

/** Whether another URL has another origin, which must not get the headers of the former one. */
export const isOtherOrigin = ({ url }: { url: string }, next: string): boolean =>
  new URL(url).origin !== new URL(next).origin
