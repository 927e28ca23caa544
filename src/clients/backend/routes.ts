import { invalid, Refusal } from './problems.ts'

/** One path that pages may ask, and what the service is asked for it. Nothing else passes. */
export interface Route {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Below the base path; `:id` is a comment's. */
  path: string
  /** The service's route, with the same `:id`. */
  service: string
  /** Whether the page is one of the query, one of them, or many. */
  externalId?: 'one' | 'many'
  /** Whether it begins the discussion of a page that has none. */
  begins?: true
  /** Further parameters of the query, handed on as they are. */
  query?: readonly string[]
  /** Whether the request brings a JSON body, which is handed on to the byte. */
  hasBody?: true
  /** The body that the service is sent where the request has none. */
  body?: (externalIds: readonly string[]) => object
  /** Whether the service is told who is signed in. */
  reader: 'untold' | 'told' | 'required'
  /**
   * Whether it answers one comment: out of view it is shown to keys that may moderate, and on a
   * page to its author alone.
   */
  isComment?: true
  /** Of a success, where the service says nothing. */
  cacheControl?: string
}

const BY_EXTERNAL = '/discussions/by-external/:externalId'

export const ROUTES: readonly Route[] = [
  { method: 'GET', path: '/me', service: 'GET /readers/me', reader: 'told' },
  {
    method: 'GET',
    path: '/settings',
    service: 'GET /settings/public',
    reader: 'untold',
    cacheControl: 'public, max-age=60',
  },
  {
    method: 'GET',
    path: '/counts',
    service: 'POST /discussions/counts',
    externalId: 'many',
    body: (externalIds) => ({ externalIds }),
    reader: 'untold',
    cacheControl: 'public, max-age=30',
  },
  { method: 'GET', path: '/discussion', service: `GET ${BY_EXTERNAL}`, externalId: 'one', reader: 'untold' },
  {
    method: 'POST',
    path: '/ticket',
    service: 'POST /stream/ticket',
    externalId: 'one',
    begins: true,
    body: ([externalId]) => ({ externalId }),
    reader: 'told',
  },
  {
    method: 'GET',
    path: '/comments',
    service: `GET ${BY_EXTERNAL}/comments`,
    externalId: 'one',
    query: ['sort', 'parentId', 'limit', 'cursor', 'replies'],
    reader: 'told',
  },
  {
    method: 'POST',
    path: '/comments',
    service: `POST ${BY_EXTERNAL}/comments`,
    externalId: 'one',
    begins: true,
    hasBody: true,
    reader: 'required',
  },
  { method: 'GET', path: '/comments/:id', service: 'GET /comments/:id', reader: 'told', isComment: true },
  { method: 'PATCH', path: '/comments/:id', service: 'PATCH /comments/:id', hasBody: true, reader: 'required' },
  {
    method: 'DELETE',
    path: '/comments/:id',
    service: 'DELETE /comments/:id',
    // Whatever the key may do: a page's reader is no moderator.
    body: () => ({ asAuthor: true }),
    reader: 'required',
  },
  {
    method: 'PUT',
    path: '/comments/:id/reaction',
    service: 'PUT /comments/:id/reaction',
    hasBody: true,
    reader: 'required',
  },
  { method: 'DELETE', path: '/comments/:id/reaction', service: 'DELETE /comments/:id/reaction', reader: 'required' },
  {
    method: 'POST',
    path: '/comments/:id/report',
    service: 'POST /comments/:id/report',
    hasBody: true,
    reader: 'required',
  },
]

/** A route that was found, with what the address says. */
export interface Match {
  route: Route
  externalIds: readonly string[]
  /** Method, path and query below `/api/v1`. */
  service: { method: string; path: string }
}

/**
 * The route of a request. `path` is below the base path. Throws `not_found`, `method_not_allowed`,
 * `validation_failed`.
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

// Only an id of this form gets into the service's path.
const ID = '([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})'

const COMPILED = ROUTES.map((route) => ({ route, pattern: new RegExp(`^${route.path.replace(':id', ID)}$`) }))

function matchOf(route: Route, id: string, query: URLSearchParams): Match {
  const externalIds = readExternalIds(route, query)
  const handedOn = new URLSearchParams(readQuery(route, query))
  const [method = '', template = ''] = route.service.split(' ')
  // Functions: a `$` in what is put in stands for itself.
  const path = template.replace(':id', () => id).replace(':externalId', () => encodeURIComponent(externalIds[0] ?? ''))
  return {
    route,
    externalIds,
    service: { method, path: handedOn.size === 0 ? path : `${path}?${handedOn.toString()}` },
  }
}

function readExternalIds({ externalId }: Route, query: URLSearchParams): string[] {
  if (externalId === undefined) return []
  const given = query.getAll('externalId').filter((each) => each !== '')
  if (given.length === 0) throw invalid('/externalId', 'required', 'is required')
  if (externalId === 'many') return given
  if (given.length > 1) throw invalid('/externalId', 'wrong_type', 'must be given once')
  // In a path they mean the folder and the one above, however they are encoded.
  if (given[0] === '.' || given[0] === '..') throw invalid('/externalId', 'invalid', 'must be more than dots')
  return given
}

/** The parameters that are handed on, each given once. */
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
