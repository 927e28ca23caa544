import { describe, expect, test } from 'vitest'

import { compileWords, SearchedText, type WordFilter } from '../../src/domains/comments/text/words.ts'
import { countCpu } from '../harness/cpu.ts'

const searches = (filter: WordFilter, text: string): boolean => filter.matches(new SearchedText([text]))

describe('a long list', () => {
  const entries = (tail: string) => Array.from({ length: 1000 }, (_, n) => `${'啊'.repeat(90)}${tail}${n}`)

  /** The least CPU of many runs: a run may have to collect garbage of others. */
  const leastCpuOf = (work: () => void): number => {
    const runs = Array.from({ length: 30 }, () => {
      const micros = countCpu()
      for (let n = 0; n < 5; n++) work()
      return micros()
    })
    return Math.min(...runs)
  }
  const costOf = (filter: WordFilter, body: string): number =>
    leastCpuOf(() => expect(searches(filter, body)).toBe(false))

  test('takes the time of a list of one, even for a text that nearly has each of its entries', () => {
    const body = '啊'.repeat(9999)
    expect(costOf(compileWords(entries('b')), body) / costOf(compileWords(['啊啊b']), body)).toBeLessThan(10)
  })

  test('of ends of one another costs some times as much, not once for each of them', () => {
    // Each is within words alone: no boundary ends the search.
    const nested = compileWords(
      Array.from({ length: 1000 }, (_, n) => `${'ab'.repeat((n % 49) + 1)}${n > 48 ? 'x' : ''}`),
    )
    const body = 'ab'.repeat(5000)
    expect(costOf(nested, body) / costOf(compileWords(['zz']), body)).toBeLessThan(60)
  })
})

test('a word that a list has a thousand times is counted once for each entry, at the cost of one', () => {
  const text = new SearchedText(['a '.repeat(40_000)])
  const timed = (entries: string[]) => {
    const filter = compileWords(entries)
    filter.entriesIn(text)
    const before = process.cpuUsage()
    const found = filter.entriesIn(text)
    const { user, system } = process.cpuUsage(before)
    return { found, ms: (user + system) / 1000 }
  }
  const one = timed(['a'])
  const many = timed(Array.from({ length: 1000 }, (_, n) => (n % 2 === 0 ? 'a' : 'A')))
  expect(many.found.size).toBe(1000)
  expect(many.ms).toBeLessThan(5 * one.ms + 10)
})
