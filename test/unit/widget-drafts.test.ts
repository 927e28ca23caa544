import { afterEach, beforeEach, expect, test, vi } from 'vitest'

import { PREFIX, Storage } from '../../src/clients/widget/storage.ts'
import { PANEL, storedPanel } from '../../src/clients/widget/writing/fields.ts'
import { forgetOldDrafts } from '../../src/clients/widget/writing/old-drafts.ts'

const DAY_MS = 86_400_000
const NOW = Date.parse('2026-11-29T12:00:00Z')

/** A browser's storage. */
function webStorage() {
  const items = new Map<string, string>()
  return {
    get length() {
      return items.size
    },
    key: (n: number) => [...items.keys()][n] ?? null,
    getItem: (name: string) => items.get(name) ?? null,
    setItem: (name: string, value: string) => void items.set(name, value),
    removeItem: (name: string) => void items.delete(name),
  }
}

beforeEach(() => {
  vi.spyOn(Date, 'now').mockReturnValue(NOW)
  vi.stubGlobal('localStorage', webStorage())
  vi.stubGlobal('sessionStorage', webStorage())
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.unstubAllGlobals()
})

/** A page of a reader, opened in a new tab. */
const open = (reader = 'ann', page = 'page'): Storage => new Storage(`/engagement:${page}:${reader}`)
const textIn = (storage: Storage, place = 'new'): string => storage.draft(place).text

test('a draft outlives its tab, for its reader and page alone', () => {
  open().setDraft('new', 'A thought')
  expect([textIn(open()), textIn(open('bob')), textIn(open('ann', 'other'))]).toEqual(['A thought', '', ''])
})

test('what a reader wanted before they signed in stays in its tab', () => {
  open().wish = { kind: 'post', id: '' }
  expect(open().wish).toEqual({ kind: 'post', id: '' })
  vi.stubGlobal('sessionStorage', webStorage())
  expect(open().wish).toBeNull()
})

test('the last of two tabs wins, and changes no box that is open in the other', () => {
  const [first, second] = [open(), open()]
  first.setDraft('new', 'First')
  expect([textIn(first), textIn(second)]).toEqual(['First', 'First'])
  second.setDraft('new', 'Second')
  expect([textIn(first), textIn(second), textIn(open())]).toEqual(['First', 'Second', 'Second'])
})

test('a tab that posts its text leaves what another tab has written since', () => {
  const [first, second] = [open(), open()]
  first.setDraft('new', 'First')
  textIn(second)
  second.setDraft('new', 'Second')
  first.setDraft('new', '')
  expect([textIn(first), textIn(second), textIn(open())]).toEqual(['', 'Second', 'Second'])
  second.setDraft('new', '')
  expect(textIn(open())).toBe('')
})

test('two tabs that send the same draft send it under one key', () => {
  open().setDraft('new', 'Once')
  expect(open().draft('new').key).toBe(open().draft('new').key)
})

test.each(['forbidden', 'full'])('a draft is kept in memory where storage is %s', (how) => {
  const refuse = (): never => {
    throw new DOMException('refused', how === 'full' ? 'QuotaExceededError' : 'SecurityError')
  }
  if (how === 'full') localStorage.setItem = refuse
  else Object.defineProperty(globalThis, 'localStorage', { get: refuse, configurable: true })
  const storage = open()
  storage.setDraft('new', 'A thought')
  expect(textIn(storage)).toBe('A thought')
  storage.setDraft('new', '')
  expect(textIn(storage)).toBe('')
  expect(() => forgetOldDrafts(PREFIX)).not.toThrow()
})

test('drafts of more than 30 days are forgotten, and the oldest of more than 100', () => {
  for (let n = 0; n < 110; n++) {
    vi.mocked(Date.now).mockReturnValue(NOW + n)
    open('ann', `page-${n}`).setDraft('new', 'A thought')
  }
  vi.mocked(Date.now).mockReturnValue(NOW - 31 * DAY_MS)
  open('bob').setDraft('new', 'Old')
  vi.mocked(Date.now).mockReturnValue(NOW)
  localStorage.setItem('engagement:broken', '{')
  localStorage.setItem('of-the-site', '{')
  forgetOldDrafts(PREFIX)
  const names = Array.from({ length: localStorage.length }, (_, n) => String(localStorage.key(n)))
  expect(names.length).toBe(101)
  expect(names).toContain('of-the-site')
  expect([textIn(open('ann', 'page-9')), textIn(open('ann', 'page-10')), textIn(open('bob'))]).toEqual([
    '',
    'A thought',
    '',
  ])
})

test('a stored panel that another program has written is ignored', () => {
  const storage = open()
  expect(storedPanel(storage)).toBeNull()
  storage.setDraft(PANEL, '{"kind":"reply","id":"c1"}')
  expect(storedPanel(open())).toEqual({ kind: 'reply', id: 'c1' })
  storage.setDraft(PANEL, '{"kind":')
  expect(storedPanel(open())).toBeNull()
})
