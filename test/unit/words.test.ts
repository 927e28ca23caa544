import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

import { digestOf as digestOfFolded, normalizeText, wordsOf } from '../../src/domains/comments/normalize.ts'
import { compileWords } from '../../src/domains/comments/words.ts'
import { countCpu } from '../harness/cpu.ts'

const digestOf = (text: string): string | null => digestOfFolded(normalizeText(text))
const finds = (entry: string, text: string): boolean => compileWords([entry])(wordsOf(text))

describe('an entry of a word list', () => {
  test.each([
    ['as a word', 'ass', 'You ass!'],
    ['in any case', 'ass', 'ASS'],
    ['without its accents', 'cafe', 'CAFÉ'],
    ['with accents that the text has not', 'café', 'cafe'],
    ['with accents apart', 'café', 'cafe\u0301'],
    ['with more accents than letters', 'bad', 'b\u0336a\u0336d\u0336'],
    ['ß for ss', 'strasse', 'Straße'],
    ['a final sigma', 'λογος', 'ΛΌΓΟΣ'],
    ['a dotless i', 'istanbul', 'ISTANBUL İstanbul'],
    ['a stroked letter', 'slow', 'słow'],
    ['with zero-width characters in it', 'bad', 'b\u200Ba\u2060d\uFEFF'],
    ['with a soft hyphen in it', 'bad', 'ba\u00ADd'],
    ['with marks of direction in it', 'bad', '\u202Ebad\u202C'],
    ['in wide letters', 'bad', 'ｂａｄ'],
    ['in mathematical letters', 'bad', '𝐛𝐚𝐝'],
    ['in ringed letters', 'bad', 'ⓑⓐⓓ'],
    ['between signs', 'bad', '(_bad_)…'],
    ['as a phrase', 'buy now', 'Please BUY   now'],
    ['as a phrase over a line', 'buy now', 'buy\nnow'],
    ['as a phrase with signs between', 'buy now', 'buy-now'],
    ['after a beginning of itself', 'a a b', 'a a a b'],
    ['with signs of its own', "don't", 'Don’t'],
    ['in Chinese, without spaces', '坏话', '他说了坏话了'],
    ['in Japanese, without spaces', 'ばか', 'おまえはばかだ'],
    ['in half-width katakana', 'バカ', 'お前はﾊﾞｶだ'],
    ['in Thai, without spaces', 'โง่', 'คนโง่มาก'],
    ['beside a script without spaces', 'bad', '这个bad词'],
    ['in Arabic, without vowel marks', 'كلب', 'كَلْب'],
    ['in Hebrew, without points', 'שלום', 'שָׁלוֹם'],
    ['as an emoji', '🖕', 'hello🖕🏽you'],
    ['as a sum', '€100', 'only €100!'],
  ])('is found %s', (_how, entry, text) => expect(finds(entry, text)).toBe(true))

  test.each([
    ['within another word', 'ass', 'first class assets'],
    ['at the end of another word', 'tard', 'mustard'],
    ['in part', 'buy now', 'buy it now'],
    ['over letters between', 'buy now', 'buynow'],
    ['in another order', 'buy now', 'now buy'],
    ['where a kana has a mark', 'か', 'が'],
    ['where a Thai letter has a vowel', 'ก', 'กี่'],
    ['where a Hindi vowel is another', 'कि', 'का'],
    ['beside a number', '10', '100'],
  ])('is not found %s', (_how, entry, text) => expect(finds(entry, text)).toBe(false))

  test('of punctuation alone matches nothing', () => {
    const filter = compileWords(['***', ' - ', '\u200B'])
    for (const text of ['***', 'a - b', '', '\u200B']) expect(filter(wordsOf(text))).toBe(false)
  })

  test('is found among any other entries exactly as when it is alone', () => {
    const letters = fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 4 }).map((all) => all.join(' '))
    const text = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 20 }).map((all) => all.join(' '))
    const property = fc.property(fc.array(letters, { maxLength: 8 }), text, (entries, haystack) => {
      const expected = entries.some((entry) => ` ${haystack} `.includes(` ${entry} `))
      expect(compileWords(entries)(wordsOf(haystack))).toBe(expected)
    })
    fc.assert(property, { numRuns: 2000 })
  })
})

describe('folding', () => {
  test('never throws, and is idempotent', () => {
    const text = fc.string({ unit: 'binary', maxLength: 200 })
    fc.assert(
      fc.property(text, (any) => {
        expect(wordsOf(normalizeText(any))).toEqual(wordsOf(any))
        digestOf(any)
      }),
      { numRuns: 2000 },
    )
  })

  test('knows the three spellings of a word with ß', () => {
    expect(['straße', 'STRAẞE', 'Strasse'].map(wordsOf)).toEqual([['strasse'], ['strasse'], ['strasse']])
  })

  test('accepts lone surrogates, endless marks and mixed directions', () => {
    for (const text of ['\uD800', 'a'.repeat(5000) + '\u0301'.repeat(5000), '\u202E\u2066שלום\u2069 abc 👨‍👩‍👧‍👦']) {
      expect(() => wordsOf(text)).not.toThrow()
    }
  })

  test('for repetitions ignores case, spaces and invisible characters, and texts under 20 characters', () => {
    const digest = digestOf('This is the very same text.')
    expect(digest).toMatch(/^-?\d{1,19}$/)
    for (const same of ['this is  the very\n\nsame TEXT. ', 'This is\u200B the very same text.']) {
      expect(digestOf(same)).toBe(digest)
    }
    expect(digestOf('This is the very same text!')).not.toBe(digest)
    expect(digestOf('x'.repeat(19))).toBeNull()
    expect(digestOf(`${'x'.repeat(10)}${' '.repeat(30)}`)).toBeNull()
    expect(digestOf('x'.repeat(20))).not.toBeNull()
  })
})

describe('a long list', () => {
  const textOf = (word: string): readonly string[] => wordsOf(`${word} `.repeat(10_000 / (word.length + 1)))
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

  test('takes the time of a list of one, even for a text that nearly has each of its entries', () => {
    const text = textOf('啊'.repeat(9999))
    expect(text).toHaveLength(9999)
    const [one, many] = [compileWords(['啊啊b']), compileWords(entries('b'))]
    expect([one(text), many(text)]).toEqual([false, false])
    expect(leastCpuOf(() => many(text)) / leastCpuOf(() => one(text))).toBeLessThan(10)
  })
})
