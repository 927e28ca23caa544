import { getNamedType, isInputObjectType, print } from 'graphql'

import { variableTypes } from '../../src/api/execution/input.ts'
import { schema } from '../../src/api/execution/schema.ts'
import { type Input, inputsOf, inputSchema } from '../../src/api/reference/inputs.ts'
import { createComponents, type Schema, withoutNull } from '../../src/api/reference/json-schema.ts'
import { operationOf, queryName } from '../../src/api/rest/handler.ts'
import { CAPABILITIES, type Capability } from '../../src/core/capabilities.ts'
import type { ErrorCode } from '../../src/core/error-table.ts'
import { newId } from '../../src/core/ids.ts'
import { effort } from './effort.ts'
import { addMember, bearing, type TestMember, tokenFor } from './members.ts'
import { callerFor, furnish, READER, resourceOf, type Side } from './resources.ts'
import { asInput, type DescribedRoute, DESCRIBED_ROUTES, requestOf, sampleOf, type Slot } from './routes.ts'
import type { TestResponse, TestService } from './service.ts'

// What every route refuses, made from the table of routes and from the schema.

export type Headers = Record<string, string>

/** Who sends wrong requests, and what their ids name. */
export interface World {
  service: TestService
  /** Keys with one capability each, or none. */
  keys: ReadonlyMap<Capability | 'none', Headers>
  admin: Headers
  /** An owner whose sign-ins some routes end. */
  self: TestMember
  /** Another tenant, with one of each thing. */
  side: Side
}

export async function openWorld(service: TestService): Promise<World> {
  const keys = new Map<Capability | 'none', Headers>()
  for (const name of ['none', ...CAPABILITIES] as const) {
    const capabilities = name === 'none' ? [] : [name]
    const { json } = await service.call('POST', '/keys', { body: { label: name, capabilities } })
    keys.set(name, { 'x-api-key': json.key as string })
  }
  const admin = bearing(await tokenFor(service, service.admin))
  const self = await addMember(service, service, 'owner')
  return { service, keys, admin, self, side: await furnish(service, await service.addTenant('furnished'), 'furnished') }
}

/** A request of a route. */
export interface Request {
  path: string
  body?: Record<string, unknown> | undefined
  headers: Headers
}

/** A request with one thing wrong. */
export interface Wrong extends Request {
  /** Begins the message of a failure. */
  what?: string
  /** Another method than the route's. */
  method?: string
  /** Whether the route's own operation is sent to `/graphql`, too. */
  asOperation?: boolean
  /** A part of the detail. */
  detail?: string
  /** The field or parameter that is at fault, alone, and what is said of it. */
  error?: { name: string; code: string; message?: string }
  allow?: ReadonlySet<string>
}

/** Something that some routes refuse, whatever else they are asked. */
export interface Rule {
  title: string
  code: ErrorCode
  routes: readonly DescribedRoute[]
  wrong(world: World, described: DescribedRoute): Promise<Wrong[]> | Wrong[]
  /** Those who are not refused so. */
  allowed?(world: World, described: DescribedRoute): Promise<Headers[]>
}

const NOBODY: Headers = { 'x-api-key': '' }
const BOUND = DESCRIBED_ROUTES.filter(({ access }) => access !== 'public')
const isCapability = (access: string): access is Capability => (CAPABILITIES as readonly string[]).includes(access)
const isForAdmins = ({ route }: DescribedRoute): boolean => route.path.startsWith('/admin/')

const asAdmin = async ({ service, admin, self }: World, { access }: DescribedRoute): Promise<Headers> =>
  access === 'member' ? bearing(await tokenFor(service, self)) : admin

/** A well-formed request whose ids do not exist. */
export const absent = (described: DescribedRoute): Omit<Request, 'headers'> =>
  requestOf(described, (slot) => (slot.isId ? newId() : sampleOf(slot)))

export const send = (
  service: TestService,
  { route }: DescribedRoute,
  { path, ...rest }: Request & { method?: string },
) => service.call(rest.method ?? route.method, path, rest)

/** The same request as the variables of the route's own operation. */
export function sendOperation(
  service: TestService,
  described: DescribedRoute,
  { path, body, headers }: Request,
): Promise<TestResponse> {
  const query = print(described.route.document)
  const [place = '', search] = path.split('?')
  const parts = place.split('/')
  const inPath = described.route.path
    .split('/')
    .flatMap((part, index) => (part.startsWith(':') ? [[part.slice(1), decodeURIComponent(parts[index] ?? '')]] : []))
  const given = { ...Object.fromEntries([...inPath, ...new URLSearchParams(search)]), ...body }
  const variables = query.includes('$input') ? { input: asInput(described, given) } : given
  return service.call('POST', '/../../graphql', { headers, body: { query, variables } })
}

const refused = (described: DescribedRoute, headers: Headers, more: Partial<Wrong> = {}): Wrong => ({
  ...absent(described),
  headers,
  ...more,
})

const OF_CREDENTIALS: Rule[] = [
  {
    title: 'without credentials',
    code: 'missing_credentials',
    routes: BOUND,
    wrong: (_world, described) => [refused(described, NOBODY, { asOperation: true })],
  },
  {
    title: 'a key with all other capabilities',
    code: 'missing_capability',
    routes: BOUND.filter((described) => isCapability(described.access) && !isForAdmins(described)),
    wrong: ({ keys }, described) =>
      [...keys]
        .filter(([name]) => name !== described.access)
        .map(([name, headers]) =>
          refused(described, headers, { what: name, detail: described.access, asOperation: name === 'none' }),
        ),
    allowed: async ({ keys, admin }, { access }) => [keys.get(access as Capability) ?? NOBODY, admin],
  },
  {
    title: 'an API key below /admin/',
    code: 'admin_only',
    routes: BOUND.filter(isForAdmins),
    // The tenant's first key has every capability.
    wrong: (_world, described) => [refused(described, {})],
    allowed: async (world, described) => [await asAdmin(world, described)],
  },
  {
    title: "a write on a reader's behalf without an identity",
    code: 'identity_required',
    routes: BOUND.filter(({ access }) => access === 'reader'),
    wrong: ({ keys, admin }, described) =>
      [keys.get('none') ?? NOBODY, admin].map((headers) => refused(described, headers, { asOperation: true })),
    allowed: async ({ service }) => [await service.as('reader')],
  },
  {
    title: 'an API key and a token of a member together',
    code: 'ambiguous_credentials',
    routes: DESCRIBED_ROUTES,
    wrong: ({ service, admin }, described) => [refused(described, { ...admin, 'x-api-key': service.apiKey })],
  },
]

/** The credentials of one who may do everything in the furnished tenant. */
export async function headersOf(
  { service, side }: World,
  described: DescribedRoute,
  reader = READER,
): Promise<Headers> {
  if (described.access === 'public') return NOBODY
  const caller = await callerFor(service, side, described)
  return isForAdmins(described) ? caller : { ...caller, ...(await side.as(reader)) }
}

/** The same with ids that do not exist, in the service's first tenant. */
const allowedOf = async (world: World, described: DescribedRoute): Promise<Headers> =>
  described.access === 'public'
    ? NOBODY
    : { ...(described.needsToken ? await asAdmin(world, described) : {}), ...(await world.service.as('reader')) }

const UNKNOWN: Rule[] = [
  {
    title: 'an unknown query parameter',
    code: 'validation_failed',
    routes: DESCRIBED_ROUTES,
    wrong: async (world, described) => {
      const { path, body } = absent(described)
      const error = { name: 'surprise', code: 'unknown_parameter' }
      const url = `${path}${path.includes('?') ? '&' : '?'}surprise=1`
      return [{ path: url, body, headers: await allowedOf(world, described), error }]
    },
  },
  {
    title: 'an unknown field of the body',
    code: 'validation_failed',
    routes: DESCRIBED_ROUTES.filter(({ route }) => route.method !== 'GET'),
    wrong: async (world, described) => {
      const { path, body } = absent(described)
      const error = { name: 'surprise', code: 'unknown_field' }
      return [{ path, body: { ...body, surprise: 1 }, headers: await allowedOf(world, described), error }]
    },
  },
]

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']
const shapeOf = ({ route }: DescribedRoute): string => route.path.replace(/:\w+/g, ':')

const OTHER_METHOD: Rule = {
  title: 'a method that the path does not take',
  code: 'method_not_allowed',
  routes: [...new Map(DESCRIBED_ROUTES.map((described) => [shapeOf(described), described])).values()],
  wrong: (_world, described) => {
    const same = DESCRIBED_ROUTES.filter((each) => shapeOf(each) === shapeOf(described))
    const allow = new Set<string>(same.map(({ route }) => route.method))
    const [path = ''] = absent(described).path.split('?')
    return METHODS.filter((name) => !allow.has(name)).map((method) => ({
      what: method,
      method,
      path,
      headers: {},
      allow,
    }))
  },
}

/** A value that a field or a parameter refuses; undefined to leave it out. */
interface Value {
  input: Input
  value: unknown
  code: string
  message?: string
}

const components = createComponents()

function schemaOf({ type, shape }: Input): Schema {
  const told = withoutNull(inputSchema(type, components, shape)).shape
  return resolved(told)
}

const resolved = (given: Schema): Schema =>
  typeof given.$ref === 'string' ? (components.schemas[given.$ref.split('/').at(-1) ?? ''] ?? {}) : given

interface Item {
  type?: string
  $ref?: string
  maxLength?: number
}
interface Bounds {
  items?: Item
  maxLength?: number
  maximum?: number
  minimum?: number
  maxItems?: number
  minItems?: number
}

/** Entries of lists differ. The only objects in lists are headers and badges of the settings. */
function entryOf(item: Item | undefined, list: string, n: number): unknown {
  const { enum: values } = resolved((item ?? {}) as Schema) as { enum?: readonly string[] }
  if (values !== undefined) return values[n % values.length]
  if (item?.type === 'integer') return n + 1
  if (item?.type !== 'object' && item?.$ref === undefined) return `entry-${n}`
  return list === 'badges' ? { id: `b${n}`, label: 'A badge' } : { name: `X-${n}`, value: 'v' }
}

/** One character, two UTF-16 units, four bytes. */
export const WIDE = '𝕏'

/** The most characters of a text, or of each text of a list; undefined without such a bound. */
export function lengthOf(input: Input): number | undefined {
  const { maxLength, items } = schemaOf(input) as Bounds
  return maxLength ?? items?.maxLength
}

/** A text of this many characters, where the input takes one. A body has at most 256 KiB. */
export function textOf(input: Input, length: number): unknown {
  const text = (length > 50_000 ? 'a' : WIDE).repeat(length)
  return (schemaOf(input) as Bounds).items === undefined ? text : [text]
}

function outOfBounds(input: Input): Value[] {
  const { items, maximum, minimum, maxItems, minItems = 0 } = schemaOf(input) as Bounds
  const most = lengthOf(input)
  const beyond = (bound: number | undefined, code: string, valueOf: (bound: number) => unknown): Value[] =>
    bound === undefined ? [] : [{ input, value: valueOf(bound), code }]
  return [
    ...beyond(most, 'too_long', (max) => textOf(input, max + 1)).map((value) => ({
      ...value,
      message: `must have at most ${most} characters`,
    })),
    ...beyond(maximum, 'too_large', (max) => max + 1),
    ...beyond(minimum, 'too_small', (min) => min - 1),
    ...beyond(maxItems, 'too_long', (max) => Array.from({ length: max + 1 }, (_, n) => entryOf(items, input.name, n))),
    ...beyond(minItems === 0 ? undefined : minItems, 'too_short', () => []),
  ]
}

function wrongType(input: Input): Value[] {
  const { type, enum: values } = schemaOf(input)
  const code = values === undefined ? 'wrong_type' : 'not_allowed'
  return [{ input, value: type === 'object' ? 'a text' : { surprise: 1 }, code }]
}

const PAGE: readonly [name: string, value: string, code: string][] = [
  ['first', '0', 'too_small'],
  ['first', '101', 'too_large'],
  ['first', 'ten', 'wrong_type'],
  ['first', '1.5', 'wrong_type'],
  ['after', 'made-up', 'invalid'],
]

function wrongParameters({ isPaged }: DescribedRoute, input: Input): Value[] {
  const page = isPaged ? PAGE.filter(([name]) => name === input.name) : []
  return [
    ...page.map(([, value, code]) => ({ input, value, code })),
    ...(schemaOf(input).enum === undefined ? [] : [{ input, value: 'surprise', code: 'not_allowed' }]),
  ]
}

/** Whether the body must have exactly one of its fields. */
function takesOneOf({ route }: DescribedRoute): boolean {
  const type = variableTypes(schema, operationOf(route).variableDefinitions ?? []).get('input')
  const named = getNamedType(type)
  return isInputObjectType(named) && named.isOneOf
}

export const fillIn =
  ({ side }: World, described: DescribedRoute) =>
  (slot: Slot): unknown =>
    slot.isId ? side.ids[resourceOf(described, slot)] : sampleOf(slot)

/** A request that is right but for one value. */
export function requestWith(
  world: World,
  described: DescribedRoute,
  { input, value }: Pick<Value, 'input' | 'value'>,
): Omit<Request, 'headers'> {
  const fill = fillIn(world, described)
  const request = requestOf(described, (slot) => (slot.in === 'path' && slot.name === input.name ? value : fill(slot)))
  if (input.in === 'path') return request
  if (input.in === 'query') {
    const [path = '', search] = request.path.split('?')
    const query = new URLSearchParams(search)
    query.set(queryName(input.name, described.isPaged), String(value))
    return { path: `${path}?${query}` }
  }
  const { [input.name]: _, ...others } = request.body ?? {}
  const rest = takesOneOf(described) ? {} : others
  return { path: request.path, body: value === undefined ? rest : { ...rest, [input.name]: value } }
}

/** The inputs of each route. */
export const INPUTS: ReadonlyMap<DescribedRoute, readonly Input[]> = new Map(
  DESCRIBED_ROUTES.map((described) => [described, inputsOf(schema, described.route)]),
)

function ofValues(title: string, valuesOf: (described: DescribedRoute, input: Input) => Value[]): Rule {
  const all = new Map(
    [...INPUTS].map(([described, inputs]) => [described, inputs.flatMap((input) => valuesOf(described, input))]),
  )
  let nth = 0
  return {
    title,
    code: 'validation_failed',
    routes: DESCRIBED_ROUTES.filter((described) => all.get(described)?.length !== 0),
    wrong: async (world, described) => {
      const headers = await headersOf(world, described)
      return (all.get(described) ?? []).map((each) => {
        const { input, code, message } = each
        const name = queryName(input.name, described.isPaged)
        return {
          what: `${name} ${code}`,
          ...requestWith(world, described, each),
          headers,
          error: { name, code, ...(message !== undefined && { message }) },
          // On the embedded defaults a third of them.
          asOperation: input.in === 'body' && nth++ % effort(1, 3) === 0,
        }
      })
    },
  }
}

const isNeeded = ({ in: place, isRequired }: Input): boolean => place === 'body' && isRequired

const OF_VALUES: Rule[] = [
  ofValues('a required field that is missing', (_, input) =>
    isNeeded(input) ? [{ input, value: undefined, code: 'required' }] : [],
  ),
  ofValues('a required field that is null', (_, input) =>
    isNeeded(input) ? [{ input, value: null, code: 'wrong_type' }] : [],
  ),
  ofValues('a field of another type', (_, input) => (input.in === 'body' ? wrongType(input) : [])),
  ofValues('a value out of its bounds', (_, input) => outOfBounds(input)),
  ofValues('a parameter of a list', (described, input) =>
    input.in === 'query' ? wrongParameters(described, input) : [],
  ),
]

export const RULES: readonly Rule[] = [...OF_CREDENTIALS, ...UNKNOWN, OTHER_METHOD, ...OF_VALUES]

/** What no route of the table has: the stream, and forms of requests that are alike everywhere. */
export const BESIDE: readonly [what: string, code: ErrorCode, method: string, path: string, request: object][] = [
  ['a stream without credentials', 'missing_credentials', 'GET', `/stream/${newId()}`, { headers: NOBODY }],
  ['a stream with a ticket and a key', 'ambiguous_credentials', 'GET', `/stream/${newId()}?ticket=x`, {}],
  ['a stream with a token and a key', 'ambiguous_credentials', 'GET', `/stream/${newId()}?token=x`, {}],
  ['a stream by another method', 'method_not_allowed', 'POST', `/stream/${newId()}`, {}],
  ['an unknown parameter of a stream', 'validation_failed', 'GET', `/stream/${newId()}?color=red`, {}],
  ['a body that is a list', 'validation_failed', 'POST', '/discussions', { body: [] }],
  ['a body where none is taken', 'validation_failed', 'DELETE', `/webhooks/${newId()}`, { body: [] }],
  ['neither of two', 'validation_failed', 'POST', '/stream/ticket', { body: {} }],
  [
    'a policy out of its bounds',
    'validation_failed',
    'POST',
    '/webhooks',
    { body: { url: 'https://a.example', policy: { maxAttempts: 99 } } },
  ],
  [
    'settings out of their bounds',
    'validation_failed',
    'PATCH',
    '/settings',
    { body: { stream: { replayHours: 0 }, maxLinks: -1 } },
  ],
  [
    'a span of analytics',
    'validation_failed',
    'GET',
    '/analytics/summary?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z',
    {},
  ],
]
