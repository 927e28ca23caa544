import { afterEach, expect, test, vi } from 'vitest'

import { warn } from '../../src/clients/widget/warnings.ts'

afterEach(() => vi.unstubAllGlobals())

test.each([
  ['https://news.example/a?b=c#d', '/a?b=c#d'],
  ['https://news.example//evil.example/a', '/evil.example/a'],
  ['https://news.example/\\evil.example', '/evil.example'],
  ['https://news.example///evil.example', '/evil.example'],
])('the sign-in page of %s gets a path of the site to come back to', async (address, back) => {
  const { href, origin } = new URL(address)
  const assign = vi.fn<(url: URL) => void>()
  vi.stubGlobal('document', { baseURI: href })
  vi.stubGlobal('location', { href, origin, assign })
  await warn('sign-in', { getAttribute: () => '/login' } as never)
  expect(assign.mock.calls[0]?.[0].searchParams.get('return')).toBe(back)
})

test('a sign-in page without an address is told to the developer of the page', async () => {
  const say = vi.spyOn(console, 'warn').mockReturnValue(undefined)
  const { href, origin } = new URL('https://news.example/a')
  vi.stubGlobal('document', { baseURI: href })
  vi.stubGlobal('location', { href, origin })
  await warn('sign-in', { getAttribute: () => 'https://[' } as never)
  expect(String(say.mock.lastCall)).toContain('set sign-in="/login"')
  say.mockRestore()
})
