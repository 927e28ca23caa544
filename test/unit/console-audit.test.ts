import { expect, test } from 'vitest'

import { changesOf } from '../../src/console/pages/audit/changes.ts'
import { actionWords, fieldWords, kindWords, valueWords } from '../../src/console/pages/audit/words.ts'
import { AUDIT_ACTIONS } from '../../src/core/audit.ts'
import table from '../../src/generated/settings.json' with { type: 'json' }

test('shows only changes, field by field', () => {
  const before = { state: 'open', policy: { timeoutMs: 500, maxAttempts: 3 }, url: null }
  const after = { state: 'locked', policy: { timeoutMs: 900, maxAttempts: 3 }, url: null }
  expect(changesOf(before, after)).toEqual([
    { field: 'state', before: 'open', after: 'locked' },
    { field: 'policy.timeoutMs', before: '500', after: '900' },
  ])
})

test('shows added and removed words of a list, and the whole list if only the order has changed', () => {
  expect(changesOf({ words: ['a', 'b'] }, { words: ['b', 'c'] })).toEqual([{ field: 'words', before: 'a', after: 'c' }])
  expect(changesOf({ words: ['a'] }, { words: ['a', 'b'] })).toEqual([{ field: 'words', before: null, after: 'b' }])
  expect(changesOf({ words: ['a', 'b'] }, { words: ['b', 'a'] })).toEqual([
    { field: 'words', before: 'a, b', after: 'b, a' },
  ])
})

test('shows every field with a value of a created or deleted thing', () => {
  expect(changesOf(null, { label: 'x', expiresAt: null })).toEqual([{ field: 'label', before: null, after: 'x' }])
  expect(changesOf({ label: 'x' }, undefined)).toEqual([{ field: 'label', before: 'x', after: null }])
})

test('shows lists, objects, instants and switches in words, not as JSON', () => {
  const after = { origins: ['a', 'b'], none: [], badges: [{ id: 'x', label: 'X' }], posting: true }
  expect(changesOf(null, after).map((change) => change.after)).toEqual(['a, b', 'none', 'id x label X', 'yes'])
  expect(changesOf(null, { createdAt: '2026-11-30T22:31:41.012Z' })[0]?.after).not.toContain('T22:')
})

test('shows null if another value replaces it', () => {
  expect(changesOf({ autoCloseDays: null }, { autoCloseDays: 30 })).toEqual([
    { field: 'autoCloseDays', before: 'none', after: '30' },
  ])
})

test.each(['2026-99-99T9:Z', '2026-99-99T09:00:00Z'])('shows %s as it is, which is no time', (title) => {
  expect(changesOf(null, { title })).toEqual([{ field: 'title', before: null, after: title }])
})

test('tells null, an empty text, a switch and a text with its word apart', () => {
  const shown = (before: unknown, after: unknown) =>
    changesOf({ title: before }, { title: after }).map((change) => [change.before, change.after])
  expect(shown(null, '')).toEqual([['none', 'empty']])
  expect(shown('none', '')).toEqual([['“none”', 'empty']])
  expect(shown(true, 'yes')).toEqual([['yes', '“yes”']])
  expect(shown(null, [])).toEqual([])
  // Within a second.
  expect(shown('2026-11-30T09:00:00.001Z', '2026-11-30T09:00:00.002Z')).toHaveLength(1)
})

test('every action has words of its own, and what is unknown is shown by its code', () => {
  const words = Object.values(AUDIT_ACTIONS).flatMap((verbs) => Object.values<string>(verbs))
  expect(new Set(words).size).toBe(words.length)
  expect(kindWords('api_key')).toBe('API key')
  expect(actionWords('a_newer_kind.save')).toBe('A newer kind save')
  expect(kindWords('a_newer_kind')).toBe('A newer kind')
  expect(actionWords('comment.approve')).toBe('Approved a comment')
})

test('a setting is called by its label, and another field by the words of its name', () => {
  expect(fieldWords('settings', 'maxLinks')).toBe('Links that a comment may have')
  expect(fieldWords('settings', 'webhookPolicy.timeoutMs')).toBe('Longest attempt')
  expect(fieldWords('settings', 'staff.oidc.issuer')).toBe('Single sign-on: Issuer')
  expect(fieldWords('settings', 'staff.oidc.roles.comment-editors')).toBe('Single sign-on: Roles comment-editors')
  expect(fieldWords('settings', 'ofANewerRelease')).toBe('of a newer release')
  expect(fieldWords('webhook_endpoint', 'policy.timeoutMs')).toBe('policy timeout ms')
  expect(fieldWords('settings', 'constructor')).toBe('constructor')
})

test('every setting has a label in the audit log', () => {
  for (const { path } of table.fields) expect(fieldWords('settings', path), path).toMatch(/^[A-Z]/)
})

test('a value that is chosen from a list is called as the settings call it', () => {
  const said = (type: string, before: object, after: object) =>
    changesOf(before, after, (field, text) => valueWords(type, field, text)).map((change) => [
      change.before,
      change.after,
    ])
  const modes = [{ moderationMode: 'none' }, { moderationMode: 'pre' }] as const
  const words = ['Only what a rule holds waits for a moderator', 'Each comment waits for a moderator']
  expect(said('settings', ...modes)).toEqual([words])
  expect(said('discussion', { moderationMode: null }, modes[1])).toEqual([['none', words[1]]])
  expect(said('webhook_endpoint', { policy: { schedule: 'days' } }, { policy: {} })).toEqual([
    ['Days: ten attempts in some three days', null],
  ])
  expect(said('settings', { 'identity.issuer': 'pre' }, { erasureMode: 'of a newer release' })).toEqual([
    ['pre', null],
    [null, 'of a newer release'],
  ])
})

test('every value of a setting that is chosen from a list has words', () => {
  const shown = table.fields
    // Roles are called as in the table of members.
    .filter(({ path }) => path !== 'staff.oidc.defaultRole')
    .flatMap(({ path, values }) => (values ?? []).map(({ value }) => valueWords('settings', path, value)))
  expect(shown.length).toBeGreaterThan(10)
  for (const words of shown) expect(words).toMatch(/^[A-Z]/)
})
