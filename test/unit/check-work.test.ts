import { type GraphQLInputType, isInputObjectType, isListType, isNonNullType, isScalarType } from 'graphql'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import { checkInput } from '../../src/api/execution/input.ts'
import { check } from '../../src/core/input/validate.ts'
import { fieldsOf } from '../harness/root-fields.ts'

// What a request may hold is checked before its credentials: so the work that a check does is
// bounded, whatever the request holds.

const ARGUMENTS = (['Query', 'Mutation'] as const).flatMap((root) =>
  fieldsOf(root).flatMap((field) =>
    field.args.map((arg) => ({ title: `${root}.${field.name}(${arg.name}:)`, type: arg.type })),
  ),
)

/** How many entries of lists were looked at. */
let looks = 0

/** A list that counts its reads. */
const counted = (length: number, entry: unknown): unknown[] =>
  new Proxy(
    Array.from({ length }, () => entry),
    {
      get(target, key, receiver) {
        if (typeof key === 'string' && /^\d+$/.test(key)) looks++
        return Reflect.get(target, key, receiver) as unknown
      },
    },
  )

/** A value with the form of a type, with long lists of entries that are wrong at their leaves. */
function hostileOf(type: GraphQLInputType, length: number, depth = 0): unknown {
  if (isNonNullType(type)) return hostileOf(type.ofType, length, depth)
  if (isListType(type)) return counted(length, hostileOf(type.ofType, 2, depth + 1))
  if (isScalarType(type) && type.name === '_Any') return null
  if (!isInputObjectType(type) || depth > 5) return isScalarType(type) && type.name === 'ID' ? {} : { a: 1 }
  return Object.fromEntries(
    Object.values(type.getFields()).map((field) => [field.name, hostileOf(field.type, length, depth + 1)]),
  )
}

const hasList = (type: GraphQLInputType, depth = 0): boolean => {
  if (isNonNullType(type)) return hasList(type.ofType, depth)
  if (isListType(type)) return true
  return (
    isInputObjectType(type) &&
    depth < 5 &&
    Object.values(type.getFields()).some((field) => hasList(field.type, depth + 1))
  )
}

const LISTS = ARGUMENTS.filter(({ type }) => hasList(type))

describe.each([true, false])('a check that coerces: %s', (coerces) => {
  test.each(LISTS)('$title with 1 000 wrong entries ends at the twentieth', ({ type }) => {
    looks = 0
    const errors = checkInput(type, hostileOf(type, 1000), { coerces })
    expect(errors.length).toBeGreaterThan(0)
    expect(errors.length).toBeLessThanOrEqual(20)
    expect(looks).toBeLessThanOrEqual(40)
  })

  test.each(LISTS)('$title with 100 000 entries looks at none of them', ({ type }) => {
    looks = 0
    const errors = checkInput(type, hostileOf(type, 100_000), { coerces })
    expect(errors.some(({ code }) => code === 'too_long')).toBe(true)
    expect(looks).toBe(0)
  })

  test.each(ARGUMENTS)('$title with 10 000 unknown fields names twenty', ({ type }) => {
    const unknown = Object.fromEntries(Array.from({ length: 10_000 }, (_, n) => [`a${n}`, n]))
    expect(checkInput(type, unknown, { coerces }).length).toBeLessThanOrEqual(20)
  })
})

describe("a check by a domain's schema", () => {
  const wrong = Array.from({ length: 5000 }, (_, n) => n)
  const fields = Object.fromEntries(wrong.map((n) => [n, n]))
  test.each([
    ['of wrong entries', z.array(z.string()), wrong],
    ['of wrong values of a record', z.record(z.string(), z.string()), fields],
    ['of unknown fields', z.strictObject({}), fields],
  ])('%s names twenty', (_name, schemaOfIt, value) => {
    const checked = check(schemaOfIt as z.ZodType, value)
    expect('errors' in checked && checked.errors).toHaveLength(20)
  })
})
