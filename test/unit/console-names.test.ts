import { expect, test } from 'vitest'

import { namesApart } from '../../src/console/ui/names-apart.ts'

test('names that are alike have their external ids behind them', () => {
  const list = [
    { name: 'Ann', externalId: 'u1' },
    { name: 'Bob', externalId: 'u2' },
    { name: 'Ann', externalId: 'u3' },
  ]
  expect(namesApart(list, ({ name }) => name)).toEqual(['Ann (u1)', 'Bob', 'Ann (u3)'])
})
