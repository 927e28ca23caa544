import fc from 'fast-check'
import { expect, test } from 'vitest'

import { differenceDeep, mergeDeep } from '../../src/domains/settings/merge.ts'

/**
 * Settings of one shape: the same fields, one group of fields, a list, and a group that may be
 * null.
 */
const settings = fc.record({
  number: fc.integer(),
  isOn: fc.boolean(),
  list: fc.array(fc.string(), { maxLength: 3 }),
  group: fc.record({ a: fc.integer({ max: 3, min: 0 }), b: fc.option(fc.string()) }),
  nullable: fc.option(fc.record({ url: fc.option(fc.string()), mode: fc.constantFrom('x', 'y') })),
})

test('the difference, merged over the defaults, gives the settings again', () => {
  fc.assert(
    fc.property(settings, settings, (value, defaults) => {
      expect(mergeDeep(defaults, differenceDeep(value, defaults))).toEqual(value)
    }),
  )
})

test('equal settings have no difference', () => {
  fc.assert(
    fc.property(settings, (value) => {
      expect(differenceDeep(value, structuredClone(value))).toEqual({})
    }),
  )
})

test('a patch replaces lists and null as a whole, and groups field by field', () => {
  expect(
    mergeDeep({ list: [1, 2], group: { a: 1, b: 2 }, gone: { x: 1 } }, { list: [3], group: { b: null }, gone: null }),
  ).toEqual({
    list: [3],
    group: { a: 1, b: null },
    gone: null,
  })
})
