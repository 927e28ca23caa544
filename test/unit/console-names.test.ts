import { expect, test } from 'vitest'

import { namesApart, sharedNames } from '../../src/console/ui/names-apart.ts'

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
