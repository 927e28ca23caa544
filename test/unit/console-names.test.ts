import { expect, test } from 'vitest'

import { namesApart, sharedNames } from '../../src/console/ui/names-apart.ts'
import { pageName, pageNameApart } from '../../src/console/ui/page-name.ts'

test('names that are alike have their external ids behind them', () => {
  const list = [
    { name: 'Ann', externalId: 'u1' },
    { name: 'Bob', externalId: 'u2' },
    { name: 'Ann', externalId: 'u3' },
  ]
  expect(namesApart(list, ({ name }) => name)).toEqual(['Ann (u1)', 'Bob', 'Ann (u3)'])
})

test('a name is shared by two readers, not by two comments of one', () => {
  const named = (id: string, name: string) => ({ id, name })
  const list = [named('1', 'Bob'), named('2', 'Ann'), named('1', 'Bob'), named('3', 'Ann'), named('2', 'Ann')]
  expect(sharedNames(list, ({ name }) => name)).toEqual(['Ann'])
})

test.each([
  ['https://news.example/2026/the-bridge', '/2026/the-bridge'],
  ['http://news.example/caf%C3%A9?page=2#end', '/café?page=2#end'],
  ['https://news.example/?id=7', '/?id=7'],
  // They would turn around what stands behind the name, or break its line.
  ['https://news.example/a%E2%80%AEb', '/a%E2%80%AEb'],
  ['https://news.example/a%0Ab', '/a%0Ab'],
  ['https://news.example', 'news.example'],
  ['HTTPS://news.example/', 'news.example'],
  ['https://news.example/100%', '/100%'],
  ['article-123', 'article-123'],
  ['https://', 'https://'],
])('a page without a title whose external id is %s is called %s', (externalId, name) => {
  expect(pageName({ title: null, externalId })).toBe(name)
  expect(pageName({ title: 'The bridge', externalId })).toBe('The bridge')
})

test('pages that have one name are told apart by their addresses, or by the external id', () => {
  const addresses = ['https://one.example/', 'http://one.example/', 'https://other.example/'].map(
    (host) => `${host}café`,
  )
  const pages = addresses.map((address) => ({ id: address, externalId: encodeURI(address) }))
  expect(sharedNames(pages, pageName)).toEqual(['/café'])
  expect(pages.map(pageNameApart)).toEqual(addresses)
  expect(pageNameApart({ title: 'The bridge', externalId: 'a-1' })).toBe('The bridge (a-1)')
  expect(pageNameApart({ title: null, externalId: '/café' })).toBe('/café')
})
