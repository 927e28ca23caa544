import * as fc from 'fast-check'

import type { Schema } from '../../src/api/reference/json-schema.ts'
import { follow, type OpenApi } from './openapi.ts'

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
export function valid(document: OpenApi, schema: Schema, ids: readonly string[]): Arbitrary {
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
export function mutated(document: OpenApi, schema: Schema, ids: readonly string[]): Arbitrary {
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
export const asText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

/**
 * Nothing that `encodeURIComponent` throws at; and no dots alone, which every client takes out of a
 * path.
 */
export const encoded = (text: string): string =>
  /^\.{1,2}$/.test(text) ? '-' : encodeURIComponent(text.toWellFormed())
