import { routes as analytics } from '../../domains/analytics/rest.ts'
import { routes as classifier } from '../../domains/classifier/rest.ts'
import { routes as audit } from '../../domains/audit/rest.ts'
import { routes as clientTokens } from '../../domains/client-tokens/rest.ts'
import { routes as comments } from '../../domains/comments/rest.ts'
import { routes as documents } from '../../domains/documents/rest.ts'
import { routes as discussions } from '../../domains/discussions/rest.ts'
import { routes as exports } from '../../domains/exports/rest.ts'
import { routes as keys } from '../../domains/keys/rest.ts'
import { routes as merges } from '../../domains/merges/rest.ts'
import { routes as moderation } from '../../domains/moderation/rest.ts'
import { routes as overview } from '../../domains/overview/rest.ts'
import { routes as privacy } from '../../domains/privacy/rest.ts'
import { routes as reactions } from '../../domains/reactions/rest.ts'
import { routes as readers } from '../../domains/readers/rest.ts'
import { routes as settings } from '../../domains/settings/rest.ts'
import { routes as stream } from '../../domains/stream/rest.ts'
import { routes as admins } from '../../domains/tenants/rest.ts'
import { routes as imports } from '../../domains/transfer/rest.ts'
import { routes as webhooks } from '../../domains/webhooks/rest.ts'
import type { Route } from '../../schema/route.ts'

export { eventDocument } from '../../domains/stream/rest.ts'

/** The REST routes by topic, in the order of the reference. */
export const ROUTES_BY_TAG = {
  discussions,
  comments,
  reactions,
  moderation,
  readers: [...readers, ...merges],
  privacy,
  stream: [...stream, ...clientTokens],
  webhooks,
  overview,
  analytics,
  keys,
  settings,
  audit,
  exports,
  imports,
  classifier,
  documents,
  admins,
} satisfies Readonly<Record<string, readonly Route[]>>

/** Every REST route. */
export const ROUTES: readonly Route[] = Object.values(ROUTES_BY_TAG).flat()
