import { expect, test } from 'vitest'

import { type StringKey, wordsFor } from '../../src/clients/widget/strings.ts'

test('a text that is gone, named by a file of an earlier release, is empty', () => {
  const { text } = wordsFor('en')
  expect(text('textOfAnEarlierRelease' as StringKey, { n: 2 })).toBe('')
  expect(text('comments', { n: 2 })).toBe('2 comments')
})
