import { invalid, Refusal } from './problems.ts'

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** How a request of a page is checked and passed on. */
interface RouteOptions {
  /** Whether the query names the page, or several pages. */
  externalId?: 'one' | 'many'
  /** The most pages, where each costs work here. */
  most?: number
  /** Whether it creates the discussion of a page that has none. */
  begins?: true
  /** Further query parameters, passed on unchanged. */
  query?: readonly string[]
  /** Whether the request has a JSON body, which is passed on unchanged. */
  hasBody?: true
  /** The body for the service if the request has none. */
  body?: (externalIds: readonly string[]) => object
  /** Whether the service gets the signed-in reader. */
  reader: 'untold' | 'told' | 'required'
  /**
   * Whether it answers one comment: one out of view is visible to keys that may moderate, but on a
   * page only to its author.
   */
  isComment?: true
  /** Whether it answers the settings of pages. */
  isSettings?: true
  /** Whether it answers a list of what belongs to many pages. */
  isOfPages?: true
  /** The parameter `limit` of such a list, which has no further pages. */
  cut?: { default: number; max: number }
  /** The answer for a page without a discussion. It is no error, which browsers would log. */
  ifNone?: unknown
  /** For successful answers to readers who are not signed in, or who are not told. */
  cacheControl?: string
}

/** One path that pages may request, and the service's route for it. Nothing else is passed on. */
export interface Route extends RouteOptions {
  method: Method
  /** Below the base path; `:id` is the id of a comment or a reader. */
  path: string
  /** The service's route, with the same `:id`. */
  service: string
}

/** A route as this file lists it. */
interface ListedRoute extends RouteOptions {
  /** Method and path. */
  route: `${Method} /${string}`
  /** The service's route, if it is named otherwise. */
  service?: string
}

/** The service's own. */
const CUT = { default: 10, max: 50 }

const BY_EXTERNAL = '/discussions/by-external/:externalId'

const LISTED: readonly ListedRoute[] = [
  { route: 'GET /me', service: 'GET /readers/me', reader: 'told' },
  {
    route: 'GET /me/comments',
    service: 'GET /readers/me/comments',
    query: ['discussionId', 'status', 'limit', 'cursor'],
    reader: 'required',
  },
  {
    route: 'GET /me/notifications',
    service: 'GET /readers/me/notifications',
    query: ['unread', 'limit', 'cursor'],
    reader: 'required',
    isOfPages: true,
  },
  { route: 'GET /me/notifications/count', service: 'GET /readers/me/notifications/count', reader: 'required' },
  {
    route: 'POST /me/notifications/read',
    service: 'POST /readers/me/notifications/read',
    hasBody: true,
    reader: 'required',
  },
  { route: 'GET /me/preferences', service: 'GET /readers/me/preferences', reader: 'required' },
  { route: 'PATCH /me/preferences', service: 'PATCH /readers/me/preferences', hasBody: true, reader: 'required' },
  { route: 'PUT /readers/:id/mute', reader: 'required' },
  { route: 'DELETE /readers/:id/mute', reader: 'required' },
  {
    route: 'GET /settings',
    service: 'GET /settings/public',
    reader: 'untold',
    isSettings: true,
    cacheControl: 'public, max-age=60',
  },
  {
    route: 'GET /counts',
    service: 'POST /discussions/counts',
    externalId: 'many',
    body: (externalIds) => ({ externalIds }),
    ifNone: { data: [] },
    // One who is banned in shadow counts their own comments, as in the thread.
    reader: 'told',
    // Not in a browser, where the answer from before a sign-in would stay after it.
    cacheControl: 'public, max-age=0, s-maxage=30',
  },
  {
    route: 'GET /latest-comments',
    query: ['limit'],
    reader: 'untold',
    isOfPages: true,
    cut: CUT,
    cacheControl: 'public, max-age=30',
  },
  {
    route: 'GET /most-discussed',
    query: ['window', 'limit'],
    reader: 'untold',
    isOfPages: true,
    cut: CUT,
    cacheControl: 'public, max-age=30',
  },
  { route: 'GET /discussion', service: `GET ${BY_EXTERNAL}`, externalId: 'one', reader: 'told', ifNone: null },
  {
    route: 'GET /authors',
    service: `GET ${BY_EXTERNAL}/authors`,
    externalId: 'one',
    query: ['prefix', 'limit'],
    reader: 'required',
    ifNone: { data: [] },
  },
  {
    route: 'POST /ticket',
    service: 'POST /stream/ticket',
    externalId: 'one',
    begins: true,
    body: ([externalId]) => ({ externalId }),
    reader: 'told',
    // At a site, whose pages get no discussion by this.
    ifNone: null,
  },
  {
    route: 'POST /tickets',
    service: 'POST /stream/ticket',
    externalId: 'many',
    most: 50,
    begins: true,
    body: (externalIds) => ({ externalIds }),
    reader: 'told',
    ifNone: null,
  },
  {
    route: 'GET /thread',
    service: `GET ${BY_EXTERNAL}/comments`,
    externalId: 'one',
    query: ['sort', 'limit', 'replies'],
    reader: 'told',
  },
  {
    route: 'GET /comments',
    service: `GET ${BY_EXTERNAL}/comments`,
    externalId: 'one',
    query: ['sort', 'parentId', 'limit', 'cursor', 'replies'],
    reader: 'told',
    ifNone: { data: [], nextCursor: null, hasMore: false },
  },
  {
    route: 'POST /comments',
    service: `POST ${BY_EXTERNAL}/comments`,
    externalId: 'one',
    begins: true,
    hasBody: true,
    reader: 'required',
  },
  { route: 'POST /comment-preview', hasBody: true, reader: 'required' },
  { route: 'GET /comments/:id', reader: 'told', isComment: true },
  {
    route: 'GET /comments/:id/history',
    query: ['limit', 'cursor'],
    reader: 'told',
    // A key that may moderate gets an empty list for a comment out of view. With another answer for
    // an unknown one, everybody would learn which exist.
    ifNone: { data: [], nextCursor: null, hasMore: false },
  },
  { route: 'PATCH /comments/:id', hasBody: true, reader: 'required' },
  {
    route: 'DELETE /comments/:id',
    // Whatever the key's capabilities: a page's reader is no moderator.
    body: () => ({ asAuthor: true }),
    reader: 'required',
  },
  { route: 'PUT /comments/:id/reaction', hasBody: true, reader: 'required' },
  { route: 'DELETE /comments/:id/reaction', reader: 'required' },
  { route: 'POST /comments/:id/report', hasBody: true, reader: 'required' },
]

export const ROUTES: readonly Route[] = LISTED.map(({ route, service = route, ...options }) => {
  const [method, path] = route.split(' ') as [Route['method'], string]
  return { method, path, service, ...options }
})

/** What is asked of the service. */
export interface Target {
  method: string
  /** Path and query below `/api/v1`. */
  path: string
  /** The path as `Route.service` has it. */
  template: string
  /** What stands in its places, in their order. */
  values: readonly string[]
}

/** A matched route, with the values from the address. */
export interface Match {
  route: Route
  externalIds: readonly string[]
  service: Target
}

/**
 * Matches a request to a route. `path` is below the base path. Throws `not_found`,
 * `method_not_allowed`, `validation_failed`.
 */
export function findRoute(method: string, path: string, query: URLSearchParams): Match {
  const found = COMPILED.flatMap(({ route, pattern }) => {
    const match = pattern.exec(path)
    return match === null ? [] : [{ route, id: match[1] ?? '' }]
  })
  const fitting = found.find(({ route }) => route.method === method)
  if (fitting !== undefined) return matchOf(fitting.route, fitting.id, query)
  if (found.length === 0) throw new Refusal('not_found')
  const allow = found.map(({ route }) => route.method).join(', ')
  throw new Refusal('method_not_allowed', { headers: { allow } })
}

const PLACE = /:\w+/g

// Only an id of this form is inserted into the service's path.
const ID = '([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})'

const COMPILED = ROUTES.map((route) => ({ route, pattern: new RegExp(`^${route.path.replace(':id', ID)}$`) }))

function matchOf(route: Route, id: string, query: URLSearchParams): Match {
  const externalIds = readExternalIds(route, query)
  const handedOn = new URLSearchParams(readQuery(route, query))
  const [method = '', template = ''] = route.service.split(' ')
  const values = Array.from(template.matchAll(PLACE), ([place]) => (place === ':id' ? id : (externalIds[0] ?? '')))
  let n = 0
  // A function, so that a `$` in the inserted text is not special.
  const path = template.replace(PLACE, () => encodeURIComponent(values[n++] ?? ''))
  const target = { method, template, values, path: handedOn.size === 0 ? path : `${path}?${handedOn.toString()}` }
  return { route, externalIds, service: target }
}

function readExternalIds({ externalId, most }: Route, query: URLSearchParams): string[] {
  if (externalId === undefined) return []
  const all = query.getAll('externalId')
  const given = all.filter((each) => each !== '')
  if (given.length === 0) throw invalid('/externalId', 'required', 'is required')
  if (most !== undefined && given.length > most)
    throw invalid('/externalId', 'too_long', `must be given at most ${most} times`)
  if (externalId === 'many') return most === undefined ? given : [...new Set(given)]
  // An empty one counts: each page has one address, which caches keep.
  if (all.length > 1) throw invalid('/externalId', 'wrong_type', 'must be given once')
  // In a path these mean the folder and its parent, however they are encoded.
  if (given[0] === '.' || given[0] === '..') throw invalid('/externalId', 'invalid', 'must be more than dots')
  return given
}

/** The parameters to pass on, each given once. */
function readQuery(route: Route, query: URLSearchParams): [string, string][] {
  return [...new Set(query.keys())].flatMap((name): [string, string][] => {
    if (name === 'externalId' && route.externalId !== undefined) return []
    const [value = '', ...more] = query.getAll(name)
    if (route.query?.includes(name) !== true) {
      throw invalid(`/${name}`, 'unknown_parameter', 'is not a parameter of this request')
    }
    if (more.length > 0) throw invalid(`/${name}`, 'wrong_type', 'must be given once')
    return [[name, value]]
  })
}
