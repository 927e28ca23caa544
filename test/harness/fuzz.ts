import * as fc from 'fast-check'

import type { Schema } from '../../src/api/reference/json-schema.ts'
import { encodeCursor } from '../../src/core/input/cursor.ts'
import { follow, type OpenApi, operationOf, type Parameter } from './openapi.ts'
import { keyOf, type Side } from './resources.ts'
import type { DescribedRoute } from './routes.ts'

type Arbitrary = fc.Arbitrary<unknown>

/**
 * Values that break programs: nothing, too much, wrong types, and text that is hard to store, print
 * or compare.
 */
const NASTY: Arbitrary = fc.oneof(
  fc.constantFrom<unknown[]>(
    null,
    true,
    '',
    ' ',
    0,
    -1,
    0.5,
    2 ** 31,
    -(2 ** 31) - 1,
    2 ** 53,
    1e308,
    [],
    {},
    [[]],
    [null],
    'null',
    '\0',
    'a\0b',
    '\ud800',
    '\udfff\ud800',
    '\u202e\u2028\ufeff',
    '👩‍👩‍👧‍👦'.repeat(50),
    'e\u0301'.repeat(300),
    "'; DROP TABLE comments; --",
    '%00%2e%2e%2f',
    '../../etc/passwd',
    '${7*7}{{7*7}}<%= 7*7 %>',
    '<script>alert(1)</script>',
    'a'.repeat(20_000),
    '9999-12-31T23:59:59.999+23:59',
    '0000-00-00T00:00:00Z',
    '01980000-0000-7000-8000-00000000000g',
    '01980000-0000-7000-8000-000000000000',
    'ffffffff-ffff-ffff-ffff-ffffffffffff',
    '__proto__',
    'constructor',
    'https://user:pass@127.0.0.1/',
    'https://[::ffff:127.0.0.1]/',
    'javascript:alert(1)',
    `{"__proto__":{"admin":true}}`,
  ),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc
    .anything({ maxDepth: 2, withNullPrototype: false })
    .map((value) => JSON.parse(JSON.stringify(value) ?? 'null') as unknown),
)

/** Values that the schema allows, `ids` where it asks for an id. */
function valid(document: OpenApi, schema: Schema, ids: readonly string[]): Arbitrary {
  const {
    type,
    anyOf,
    enum: values,
    format,
    pattern,
    properties,
    items,
    required = [],
    ...bounds
  } = follow<Schema>(document, schema)
  if (Array.isArray(anyOf)) return fc.oneof(...anyOf.map((choice) => valid(document, choice as Schema, ids)))
  if (Array.isArray(values)) return fc.constantFrom(...(values as unknown[]))
  if (Array.isArray(type))
    return fc.oneof(...type.map((each) => valid(document, { ...schema, type: each as string }, ids)))
  const {
    minLength = 0,
    maxLength = 60,
    minimum = -1000,
    maximum = 1000,
    minItems = 0,
    maxItems = 4,
  } = bounds as Bounds
  switch (type) {
    case 'null':
      return fc.constant(null)
    case 'boolean':
      return fc.boolean()
    case 'integer':
      return fc.integer({ min: minimum, max: Math.min(maximum, 2 ** 31 - 1) })
    case 'array':
      return fc.array(valid(document, (items ?? {}) as Schema, ids), {
        minLength: minItems,
        maxLength: Math.min(maxItems, 4),
      })
    case 'object':
      return fc.record(
        Object.fromEntries(
          Object.entries(properties ?? {}).map(([name, value]) => [name, valid(document, value, ids)]),
        ),
        { requiredKeys: required as string[] },
      )
    case 'string':
      if (format === 'uuid') return fc.constantFrom(...ids)
      if (format === 'date-time')
        return fc
          .date({ min: new Date(0), max: new Date('2100-01-01'), noInvalidDate: true })
          .map((date) => date.toISOString())
      if (format === 'uri') return fc.webUrl()
      if (typeof pattern === 'string') return fc.stringMatching(new RegExp(pattern))
      return fc.string({ unit: 'grapheme', minLength, maxLength: Math.min(maxLength, 60) })
    default:
      return NASTY
  }
}

interface Bounds {
  minLength?: number
  maxLength?: number
  minimum?: number
  maximum?: number
  minItems?: number
  maxItems?: number
}

/**
 * The same with something wrong: a field that is nasty, missing or unknown, a text too long, or
 * another value altogether.
 */
function mutated(document: OpenApi, schema: Schema, ids: readonly string[]): Arbitrary {
  const { properties } = follow<Schema>(document, schema)
  if (properties === undefined) return fc.oneof(NASTY, tooLong(document, schema))
  const names = Object.keys(properties)
  const whole = valid(document, schema, ids) as fc.Arbitrary<Record<string, unknown>>
  const change = fc.constantFrom(...names, '__proto__', 'surprise', 'Body').chain((name) => {
    const field = properties[name]
    const value = field === undefined ? NASTY : fc.oneof(NASTY, tooLong(document, field), mutated(document, field, ids))
    return fc.tuple(fc.constant(name), value)
  })
  return fc.oneof(
    { weight: 6, arbitrary: fc.tuple(whole, change).map(([base, [name, value]]) => withField(base, name, value)) },
    { weight: 1, arbitrary: fc.tuple(whole, fc.constantFrom(...names, '')).map(([base, name]) => without(base, name)) },
    { weight: 1, arbitrary: NASTY },
  )
}

/** `__proto__` as a field of its own, as JSON.parse makes it. */
const withField = (base: Record<string, unknown>, name: string, value: unknown): unknown =>
  Object.defineProperty({ ...base }, name, { value, enumerable: true, configurable: true, writable: true })

const without = (base: Record<string, unknown>, name: string): unknown =>
  Object.fromEntries(Object.entries(base).filter(([key]) => key !== name))

function tooLong(document: OpenApi, schema: Schema): Arbitrary {
  const { maxLength, maximum, maxItems } = follow<Schema>(document, schema) as Bounds
  const choices = [
    ...(maxLength === undefined ? [] : ['a'.repeat(maxLength + 1), '\u00e9'.repeat(maxLength + 1)]),
    ...(maximum === undefined ? [] : [maximum + 1]),
    ...(maxItems === undefined ? [] : [Array.from({ length: maxItems + 1 }, (_, n) => `entry-${n}`)]),
  ]
  return choices.length === 0 ? NASTY : fc.constantFrom<unknown[]>(...choices)
}

/** A value as a text of the address. */
const asText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

/**
 * Nothing that `encodeURIComponent` throws at; and no dots alone, which every client takes out of a
 * path.
 */
const encoded = (text: string): string => (/^\.{1,2}$/.test(text) ? '-' : encodeURIComponent(text.toWellFormed()))

/** A request as it goes over the wire. */
export interface FuzzedRequest {
  path: string
  headers: Record<string, string>
  body: string | undefined
}

/** Requests of a route: half of them as documented, half with something wrong anywhere. */
export function requests(
  document: OpenApi,
  tenant: Side,
  described: DescribedRoute,
  identity: Record<string, string>,
): fc.Arbitrary<FuzzedRequest> {
  const { route, access, needsToken } = described
  const operation = operationOf(document, described)
  const ids = Object.values(tenant.ids)
  const parameters = (operation.parameters ?? []).map((parameter) => follow<Parameter>(document, parameter))
  const inPath = parameters.filter((parameter) => parameter.in === 'path')
  const inQuery = parameters.filter((parameter) => parameter.in === 'query')
  const caller = needsToken
    ? { authorization: `Bearer ${tenant.adminToken}` }
    : access === 'public'
      ? {}
      : keyOf(tenant)
  const body = operation.requestBody?.content['application/json'].schema
  return fc
    .record({
      path: fc.tuple(
        ...inPath.map(({ schema, name }) =>
          name === 'externalId'
            ? fc.oneof(fc.constant('shared-page'), values(document, schema, ids))
            : values(document, schema, ids),
        ),
      ),
      query: fc.tuple(
        ...inQuery.map(({ name, schema }) => maybe(2, name === 'cursor' ? CURSOR : values(document, schema, ids))),
      ),
      extra: maybe(12, fc.tuple(fc.constantFrom('surprise', '__proto__', 'limit[]', 'first'), fc.string())),
      headers: fc.oneof({ weight: 6, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: HEADERS }),
      hasIdentity: fc.integer({ min: 0, max: 9 }).map((n) => n > 0),
      body: route.method === 'GET' ? fc.constant(undefined) : bodies(document, body, ids),
    })
    .map((given) => {
      let index = 0
      const path = route.path.replace(/:\w+/g, () => encoded(asText(given.path[index++])) || '-')
      const query = given.query.flatMap((value, at) =>
        value === undefined ? [] : [`${inQuery[at]?.name}=${encoded(asText(value))}`],
      )
      if (given.extra !== undefined) query.push(given.extra.map(encoded).join('='))
      return {
        path: query.length > 0 ? `${path}?${query.join('&')}` : path,
        headers: { ...caller, ...(given.hasIdentity ? identity : {}), ...given.headers },
        body: given.body,
      }
    })
}

/** Given once in `rarity + 1` times. */
const maybe = <T>(rarity: number, value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.oneof({ weight: rarity, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: value })

const values = (document: OpenApi, schema: Schema, ids: readonly string[]): fc.Arbitrary<unknown> =>
  fc.oneof(
    { weight: 2, arbitrary: valid(document, schema, ids) },
    { weight: 1, arbitrary: mutated(document, schema, ids) },
  )

function bodies(
  document: OpenApi,
  schema: Schema | undefined,
  ids: readonly string[],
): fc.Arbitrary<string | undefined> {
  const json = fc.oneof(
    values(document, schema ?? { type: 'object', properties: {} }, ids),
    ...(schema === undefined ? [fc.constant({})] : []),
  )
  return fc.oneof(
    { weight: 10, arbitrary: json.map((value) => JSON.stringify(value)) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        undefined,
        '',
        '{',
        '[',
        '\0',
        '"',
        '{"a":1',
        '\ufeff{}',
        'nul',
        '['.repeat(50_000),
        '{"body":"\\ud800"}',
      ),
    },
  )
}

const CURSOR: fc.Arbitrary<string> = fc.oneof(
  fc.string(),
  fc.constantFrom('e30', 'bnVsbA', 'WyJyZWNlbnQiXQ', '%00', 'a'.repeat(5000)),
  fc
    .tuple(
      fc.constantFrom(
        'recent',
        'active',
        'newest',
        'oldest',
        'top',
        'api-keys',
        'webhooks',
        'deliveries',
        'readers',
        'identity-secrets',
        'pending',
        'reported',
        'rejected',
      ),
      fc.array(
        fc.oneof(
          fc.constantFrom<(string | number)[]>(
            '',
            'ffffffff-ffff-ffff-ffff-ffffffffffff',
            '\0',
            'x',
            -1,
            1e300,
            '2026-01-01T00:00:00.000Z',
            '-000001-01-01T00:00:00Z',
          ),
          fc.string(),
          fc.double({ noNaN: true }),
        ),
        { maxLength: 3 },
      ),
    )
    .map(([sort, key]) => encodeCursor(sort, ...key)),
)

/** Values that a header can have at all. */
const HEADERS: fc.Arbitrary<Record<string, string>> = fc.dictionary(
  fc.constantFrom(
    'x-request-id',
    'idempotency-key',
    'if-none-match',
    'x-service-identity',
    'content-type',
    'accept',
    'accept-encoding',
    'last-event-id',
    'origin',
    'x-forwarded-for',
    'x-api-key',
    'authorization',
    'cookie',
    'prefer',
  ),
  fc.oneof(
    fc.constantFrom(
      '',
      '*',
      'text/plain',
      'application/json; charset=utf-16',
      'multipart/form-data; boundary=x',
      'Bearer x',
      `ek_${'0'.repeat(64)}`,
      'a.b.c',
      'eyJhbGciOiJub25lIn0.e30.',
      'null',
      'x'.repeat(4000),
    ),
    fc.string({ unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)), maxLength: 300 }),
  ),
  { minKeys: 1, maxKeys: 3 },
)
