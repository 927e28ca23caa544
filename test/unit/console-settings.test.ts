import { expect, test } from 'vitest'

import table from '../../src/generated/settings.json' with { type: 'json' }
import { changedPaths, conflicts, patchOf, valuesOf } from '../../src/console/pages/settings/draft.ts'
import { LABELS } from '../../src/console/pages/settings/labels.ts'
import { tenantSettings } from '../../src/core/tenant-settings.ts'

const NONE = valuesOf(tenantSettings({}))
const WITH_CLASSIFIER = valuesOf(tenantSettings({ classifier: { url: 'https://a.example/', fallback: 'approve' } }))

test('only what was changed is sent, in its group', () => {
  const draft = {
    maxLinks: { value: 7, base: 5 },
    'stream.maxStreams': { value: 10, base: 5000 },
    maxDepth: { value: 10, base: 10 },
  }
  expect(patchOf(draft, NONE)).toEqual({ maxLinks: 7, stream: { maxStreams: 10 } })
})

test('what somebody else has set to the same is not changed any more', () => {
  const draft = { maxLinks: { value: 7, base: 5 } }
  expect(changedPaths(draft, { ...NONE, maxLinks: 7 })).toEqual([])
  expect(conflicts(draft, { ...NONE, maxLinks: 7 })).toEqual([])
})

test('what somebody else has set to something else is a conflict, unless it is what this one began from', () => {
  const draft = { maxLinks: { value: 7, base: 5 } }
  expect(conflicts(draft, NONE)).toEqual([])
  expect(conflicts(draft, { ...NONE, maxLinks: 6 })).toEqual(['maxLinks'])
})

test('a group that comes into being is sent whole, one that goes is null, whatever was typed in it', () => {
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

test('every setting has a label of its own, and there is none for what is no setting', () => {
  expect(Object.keys(LABELS).sort()).toEqual(table.fields.map(({ path }) => path).sort())
  expect(new Set(Object.values(LABELS)).size).toBe(table.fields.length)
})
