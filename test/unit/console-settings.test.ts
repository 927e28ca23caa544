import { expect, test } from 'vitest'

import table from '../../src/generated/settings.json' with { type: 'json' }
import { changedPaths, conflicts, patchOf, valuesOf } from '../../src/console/pages/settings/draft.ts'
import { LABELS } from '../../src/console/pages/settings/labels.ts'
import { durationWords, fittingUnit, unitsFor } from '../../src/console/ui/durations.ts'
import { tenantSettings } from '../../src/core/settings/tenant.ts'

const NONE = valuesOf(tenantSettings({}))
const WITH_CLASSIFIER = valuesOf(tenantSettings({ classifier: { url: 'https://a.example/', fallback: 'approve' } }))

test('only changes are sent, in their group', () => {
  const draft = {
    maxLinks: { value: 7, base: 5 },
    'stream.maxStreams': { value: 10, base: 5000 },
    maxDepth: { value: 10, base: 10 },
  }
  expect(patchOf(draft, NONE)).toEqual({ maxLinks: 7, stream: { maxStreams: 10 } })
})

test('a change in a group within another is sent in both', () => {
  expect(NONE['identity.claims.name']).toBe('name')
  const draft = {
    'identity.claims.name': { value: 'nickname', base: 'name' },
    'identity.audience': { value: 'pages', base: null },
  }
  expect(patchOf(draft, NONE)).toEqual({ identity: { claims: { name: 'nickname' }, audience: 'pages' } })
})

test('a change that another admin has made too is no longer a change', () => {
  const draft = { maxLinks: { value: 7, base: 5 } }
  expect(changedPaths(draft, { ...NONE, maxLinks: 7 })).toEqual([])
  expect(conflicts(draft, { ...NONE, maxLinks: 7 })).toEqual([])
})

test("another admin's different value is a conflict, unless it is the value that this edit began from", () => {
  const draft = { maxLinks: { value: 7, base: 5 } }
  expect(conflicts(draft, NONE)).toEqual([])
  expect(conflicts(draft, { ...NONE, maxLinks: 6 })).toEqual(['maxLinks'])
})

test('a group that is switched on is sent as a whole, and one that is switched off as null, whatever was typed in it', () => {
  const on = { classifier: { value: true, base: false }, 'classifier.url': { value: 'https://b.example/', base: null } }
  expect(patchOf(on, NONE)).toEqual({ classifier: { url: 'https://b.example/', fallback: 'hold' } })
  const off = {
    classifier: { value: false, base: true },
    'classifier.url': { value: 'https://b.example/', base: 'https://a.example/' },
  }
  expect(patchOf(off, WITH_CLASSIFIER)).toEqual({ classifier: null })
  const url = { 'classifier.url': { value: 'https://b.example/', base: 'https://a.example/' } }
  expect(patchOf(url, WITH_CLASSIFIER)).toEqual({ classifier: { url: 'https://b.example/' } })
})

test('every setting has its own label, and there are no other labels', () => {
  // Single sign-on has a form of its own.
  const ofForm = table.fields.filter(({ group }) => group !== 'staff.oidc')
  expect(Object.keys(LABELS).sort()).toEqual(ofForm.map(({ path }) => path).sort())
  expect(new Set(Object.values(LABELS)).size).toBe(ofForm.length)
})

test('a length of time is said exactly, in its largest units', () => {
  expect(durationWords(900, 'seconds')).toBe('15 minutes')
  expect(durationWords(10_000, 'milliseconds')).toBe('10 seconds')
  expect(durationWords(1_500, 'milliseconds')).toBe('1 second 500 milliseconds')
  expect(durationWords(3_630, 'seconds')).toBe('1 hour 30 seconds')
  expect(durationWords(0, 'seconds')).toBe('0 seconds')
  expect(durationWords(24, 'hours')).toBe('1 day')
  expect(durationWords(1_095, 'days')).toBe('1\u00A0095 days')
})

test('a length of time is edited in the largest unit in which it is whole', () => {
  expect(unitsFor('seconds', 3_600)).toEqual(['seconds', 'minutes', 'hours'])
  expect(unitsFor('milliseconds', 30_000)).toEqual(['milliseconds', 'seconds'])
  const units = unitsFor('seconds')
  expect([0, 90, 900, 7_200, 86_400].map((each) => fittingUnit(each, units))).toEqual([
    'seconds',
    'seconds',
    'minutes',
    'hours',
    'days',
  ])
})
