import { describe, expect, test } from 'vitest'

import { wordDetails } from '../../src/domains/comments/hold-details.ts'
import { normalizeText } from '../../src/domains/comments/text/normalize.ts'
import { wordStream } from '../../src/domains/comments/text/word-streams.ts'
import { compileWords, SearchedText, type WordFilter } from '../../src/domains/comments/text/words.ts'
import { countCpu } from '../harness/cpu.ts'

const searches = (filter: WordFilter, text: string): boolean => filter.matches(new SearchedText([text]))

/** The least CPU of many runs: a run may have to collect garbage of others. */
const leastCpuOf = (work: () => void): number => {
  const runs = Array.from({ length: 30 }, () => {
    const micros = countCpu()
    for (let n = 0; n < 5; n++) work()
    return micros()
  })
  return Math.min(...runs)
}

describe('a long list', () => {
  const entries = (tail: string) => Array.from({ length: 1000 }, (_, n) => `${'啊'.repeat(90)}${tail}${n}`)

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

describe('a text of many signs', () => {
  test.each(['é$', 'é½', '是$'])('%s is folded at some times the cost of letters', (unit) => {
    const source = unit.repeat(5000)
    const letters = 'éñ'.repeat(5000)
    const cost = leastCpuOf(() => wordStream(source, { signs: true }))
    expect(cost / leastCpuOf(() => normalizeText(letters))).toBeLessThan(2.8)
  })

  // Fewer places than are told, so that each text has the same number of them.
  test.each([
    ['between white space', 'éa$ ', '😀 '],
    ['in one run', 'é,', '😀é,'],
  ])('has its places found in linear time %s', (_where, unit, place) => {
    const costOf = (count: number): number => {
      const text = unit.repeat(count) + place.repeat(15)
      const found = wordDetails('banned_word', ['😀', '1$'], text, new Set([0]))
      expect(found.filter(({ start }) => start !== null)).toHaveLength(15)
      return leastCpuOf(() => wordDetails('banned_word', ['😀', '1$'], text, new Set([0])))
    }
    expect(costOf(2000) / leastCpuOf(() => wordStream(unit.repeat(2000), { signs: true }))).toBeLessThan(35)
  })
})
