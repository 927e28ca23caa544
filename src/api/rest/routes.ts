import { routes as analytics } from '../../domains/analytics/rest.ts'
import { routes as classifier } from '../../domains/classifier/rest.ts'
import { routes as audit } from '../../domains/audit/rest.ts'
import { routes as clientTokens } from '../../domains/client-tokens/rest.ts'
import { routes as comments } from '../../domains/comments/rest.ts'
import { routes as documents } from '../../domains/documents/rest.ts'
import { routes as discussions } from '../../domains/discussions/rest.ts'
import { routes as frontPages } from '../../domains/front-pages/rest.ts'
import { routes as guests } from '../../domains/guests/rest.ts'
import { routes as exports } from '../../domains/exports/rest.ts'
import { routes as keys } from '../../domains/api-keys/rest.ts'
import { routes as merges } from '../../domains/merges/rest.ts'
import { routes as moderation } from '../../domains/moderation/rest.ts'
import { routes as claims } from '../../domains/moderation/claims/rest.ts'
import { routes as commentSearch } from '../../domains/moderation/search/rest.ts'
import { routes as timeline } from '../../domains/moderation/timeline/rest.ts'
import { routes as notes } from '../../domains/notes/rest.ts'
import { routes as notifications } from '../../domains/notifications/rest.ts'
import { routes as trials } from '../../domains/moderation/trial/rest.ts'
import { routes as overview } from '../../domains/overview/rest.ts'
import { routes as privacy } from '../../domains/erasure/rest.ts'
import { routes as reactions } from '../../domains/reactions/rest.ts'
import { routes as mutes } from '../../domains/readers/mutes/rest.ts'
import { routes as badges } from '../../domains/readers/badges/rest.ts'
import { routes as trust } from '../../domains/readers/trust/rest.ts'
import { fragments as ofReaders, routes as readers } from '../../domains/readers/rest.ts'
import { routes as settings } from '../../domains/settings/rest.ts'
import { routes as notices } from '../../domains/notices/rest.ts'
import { routes as sites } from '../../domains/sites/rest.ts'
import { routes as staff } from '../../domains/staff/rest.ts'
import { routes as imports } from '../../domains/imports/rest.ts'
import { routes as uploads } from '../../domains/import-uploads/rest.ts'
import { fragments as ofWebhooks, routes as webhooks } from '../../domains/webhooks/rest.ts'
import { eventOperation, routes as stream } from '../../domains/tickets/rest.ts'
import type { Route, RouteDefinition } from '../../graphql/route.ts'
import { schema } from '../execution/schema.ts'
import { RestDocuments } from './document.ts'

// A list goes forwards alone.
const OF_LISTS = 'fragment PageInfoFields on PageInfo { hasNextPage endCursor }'

/** Also for the console's documents. */
export const REST_DOCUMENTS = new RestDocuments(schema, [OF_LISTS, ...ofReaders, ...ofWebhooks])

/** The data of events, with the same fields that REST shows of these types. */
export const eventDocument = REST_DOCUMENTS.documentOf(eventOperation)

const withDocuments = (definitions: readonly RouteDefinition[]): Route[] =>
  definitions.map((definition) => REST_DOCUMENTS.routeOf(definition))

/** The REST routes by topic, in the order of the reference. */
export const ROUTES_BY_TAG = {
  discussions: withDocuments(discussions),
  comments: withDocuments([...comments, ...frontPages]),
  reactions: withDocuments(reactions),
  moderation: withDocuments([...commentSearch, ...timeline, ...claims, ...trials, ...moderation, ...notes]),
  readers: withDocuments([...readers, ...mutes, ...notifications, ...trust, ...badges, ...merges]),
  privacy: withDocuments(privacy),
  stream: withDocuments([...stream, ...clientTokens]),
  webhooks: withDocuments(webhooks),
  overview: withDocuments(overview),
  analytics: withDocuments(analytics),
  keys: withDocuments(keys),
  settings: withDocuments(settings),
  notices: withDocuments(notices),
  sites: withDocuments(sites),
  audit: withDocuments(audit),
  exports: withDocuments(exports),
  imports: withDocuments([...imports, ...uploads]),
  classifier: withDocuments(classifier),
  guests: withDocuments(guests),
  documents: withDocuments(documents),
  staff: withDocuments(staff),
} satisfies Readonly<Record<string, readonly Route[]>>

/** Every REST route. */
export const ROUTES: readonly Route[] = Object.values(ROUTES_BY_TAG).flat()
