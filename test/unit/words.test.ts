import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

import { digestOf as digestOfFolded, normalizeText } from '../../src/domains/comments/text/normalize.ts'
import { readEntry } from '../../src/domains/comments/text/word-entries.ts'
import { compileWords, SearchedText, type WordFilter, wordFilter } from '../../src/domains/comments/text/words.ts'
import { effort } from '../harness/effort.ts'
import { CORPORA } from '../harness/harmless.ts'

const digestOf = (text: string): string | null => digestOfFolded(normalizeText(text))
const searches = (filter: WordFilter, text: string): boolean => filter.matches(new SearchedText([text]))
const finds = (entry: string, text: string): boolean => searches(compileWords([entry]), text)

describe('an entry of a word list', () => {
  test.each([
    ['as a word', 'ass', 'You ass!'],
    ['in any case', 'ass', 'ASS'],
    ['without its accents', 'cafe', 'CAFÉ'],
    ['with accents apart', 'café', 'cafe\u0301'],
    ['with more accents than letters', 'bad', 'b\u0336a\u0336d\u0336'],
    ['ß for ss', 'strasse', 'Straße'],
    ['a final sigma', 'λογος', 'ΛΌΓΟΣ'],
    ['a dotless i', 'istanbul', 'ISTANBUL İstanbul'],
    ['with both forms of a capital I', 'sıkıcı', 'SIKICI'],
    ['in capitals for a dotless i', 'SIKICI', 'sıkıcı'],
    ['in capitals with a dot', 'istanbul', 'İSTANBUL'],
    ['with an accent on a letter that is no other one', 'idiot', 'an ïdíot'],
    ['with other accents beside a letter of its own', 'señor', 'séñór'],
    ['a ligature', 'oeuvre', 'Œuvre'],
    ['a final letter of Hebrew', '*מטומטם*', 'המטומטמים'],
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
    ['in Arabic, with vowel marks that the text lacks', 'كَلْب', 'كلب'],
    ['in Japanese, before another script', 'グロ', 'グロ画像'],
    ['in Thai, with a vowel that has a compatible form', 'น้ำ', 'ดื่มน้ำ'],
    ['in Korean, beside a foreign word', 'bad', '이 bad는'],
    ['with punctuation of its own', 'C++', 'I dislike C++ a lot'],
    ['with punctuation before it', '</a>', 'x</a>y'],
    ['with punctuation within it', 'f*ck', 'F*CK that'],
    ['with a symbol at its end', '100%', 'at 100%.'],
    ['with a sign of more', '18+', 'only 18+!'],
    ['as a heart', '<3', 'i <3 you'],
    ['as a beginning', 'spam*', 'spammers'],
    ['as an end', '*spam', 'antispam'],
    ['anywhere', '*spam*', 'antispammer'],
    ['anywhere, by a wide star', '＊グロ＊', 'グローバル'],
    ['with a star as the word itself', 'spam*', 'spam'],
    ['in Hebrew, without points', 'שלום', 'שָׁלוֹם'],
    ['as an emoji', '🖕', 'hello🖕🏽you'],
    ['as a sum', '€100', 'only €100!'],
    ['as an emoji of another form', '❤', 'with ❤️'],
    ['as an emoji beside an emoji that has it', '👩', '👩‍💻👩'],
    ['as an emoji between letters', '1️⃣', 'x1️⃣y'],
    ['as a key of a star', '*️⃣', 'press *️⃣'],
    ['as a flag beside others', '🇷🇺', '🇫🇷🇷🇺🇺🇸'],
    ['as a flag of tags', '🏴󠁧󠁢󠁥󠁮󠁧󠁿', 'go 🏴󠁧󠁢󠁥󠁮󠁧󠁿!'],
    ['as a phrase with an emoji', 'vote 🇷🇺', 'Vote: 🇷🇺!'],
    ['as a sign', '№', '№5'],
    ['as a sign of another width', '￥', '¥500'],
    ['as a sign in lower case', 'Ⓐ', 'ⓐ Ⓑ'],
    ['as a sign in upper case', 'ⅷ', 'Ⅷ'],
    ['beside a character that stands for a sign', '🖕', '\uFDD0🖕'],
    ['as a raised letter', 'ª', 'la 1ª vez'],
    ['with a raised digit', 'x²', 'x²+1'],
    ['in Arabic, stretched', 'كلب', 'كـــلـب'],
    ['in Arabic, stretched in the entry', 'كـلب', 'كلب'],
    ['in Arabic, with Persian kaf', 'كلب', 'کلب'],
    ['in Persian, with Arabic kaf and yeh', 'کثیف', 'كثيف'],
    ['in Persian, with Arabic digits', '۱۸', '١٨'],
    ['in Arabic, with a hamza that the entry lacks', 'احمق', 'أحمق'],
    ['in Arabic, with a wasla', 'احمق', 'ٱحمق'],
    ['in Arabic, in forms of presentation', 'كلب', 'ﻛﻠﺐ'],
    ['in Persian, with a heh that has a hamza', 'خانه', 'خانۀ'],
    ['in Arabic, with marks of the Quran', 'كلب', 'كل\u06DAب'],
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
    ['without its accents', 'café', 'cafe'],
    ['with other accents', 'café', 'cafè'],
    ['with only some of its accents', 'résumé', 'resumé'],
    ['in ñ', 'ano', 'año'],
    ['in a stroked letter', 'slow', 'słow'],
    ['in ð', 'ad', 'að'],
    ['in an umlaut', 'schwul', 'schwül'],
    ['in å', 'fan', 'får fån'],
    ['in й', 'мои', 'мой'],
    ['in a dotless i', 'idiot', 'ıdıot'],
    ['in another letter of Vietnamese', 'ăn', 'ắn'],
    ['without its punctuation', 'C++', 'vitamin C'],
    ['apart from its punctuation', '18+', '18 + 3'],
    ['within a word without a star', 'spam', 'antispammer'],
    ['before a word without a star there', 'spam*', 'antispam'],
    ['without its hyphen', 'e-mail', 'e mail'],
    ['within a word of Japanese', 'デブ', '宇宙デブリの問題'],
    ['within a word of Chinese', '北', '北京'],
    ['as the letter that an emoji shows', 'ℹ️', 'I am here.'],
    ['as the letter in a ring', 'Ⓜ️', "I'm m"],
    ['as the digit of a key', '1️⃣', 'Only 1 of us'],
    ['as the star of a key', '*️⃣', 'a * b'],
    ['as the letters of a sign', '№', 'No'],
    ['as the letters of a raised sign', '™', 'TM tm'],
    ['as the letter that is raised', 'ª', 'a A'],
    ['as the digit that is raised', 'x²', 'x2'],
    ['as the parts of a fraction', '½', '1 2 1/2 1⁄2'],
    ['as the letters of a number', 'Ⅳ', 'IV'],
    ['as ringed letters', 'ⓘⓓⓘⓞⓣ', 'idiot'],
    ['as the word of a sign', '㊙', '秘'],
    ['as the name of a currency', '﷼', 'ریال'],
    ['in two flags', '🇷🇺', '🇫🇷🇺🇸'],
    ['in an emoji that has it', '👩', '👩‍💻'],
    ['in an emoji that has it, with stars', '*👩*', '👩‍💻'],
    ['in a heart on fire', '❤️', '❤️‍🔥'],
    ['in the flag of a part of a country', '🏴', '🏴󠁧󠁢󠁥󠁮󠁧󠁿'],
    ['in Arabic, without its hamza', 'أحمق', 'احمق'],
    ['in Arabic, with another hamza', 'أمل', 'إمل'],
    ['in Arabic, with a yeh without dots', 'علي', 'على'],
    ['in Arabic, with a heh for a teh', 'كلبة', 'كلبه'],
  ])('is not found %s', (_how, entry, text) => expect(finds(entry, text)).toBe(false))

  test.each(['***', ' - ', '\u200B', '*a*', 'e*', '*の*', '\u0301abc', '+', '*'])(
    'is refused if it could match nothing, or nearly everything, and then matches nothing: %j',
    (entry) => {
      expect(readEntry(entry)).toEqual({ problem: expect.stringMatching(/^(must|would|cannot) /) })
      for (const text of ['***', 'a - b', '', '\u200B', 'e a', 'あのね', entry]) expect(finds(entry, text)).toBe(false)
    },
  )

  test('that is taken matches itself', () => {
    const unit = fc.oneof(
      fc.constantFrom(...Array.from(" *-+é ñİIıß<>'’“.!$ก่ำ漢字かガーﾊﾞ가각🖕\u0301\u200Bﷺאַكَﬁ")),
      fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
    )
    fc.assert(
      fc.property(fc.string({ unit, minLength: 1, maxLength: 12 }), (entry) => {
        const core = entry.trim().replace(/^[*＊]+|[*＊]+$/g, '')
        if ('patterns' in readEntry(entry)) expect(finds(entry, core), JSON.stringify(entry)).toBe(true)
      }),
      { numRuns: effort(3000) },
    )
  })

  test('that is an emoji or a sign is found exactly where Intl.Segmenter has that grapheme', () => {
    const part = fc.constantFrom(
      ...Array.from('👩💻❤🔥🏴🇫🇷🇺🇸1#*Ⓜℹ№ª²a '),
      '\u200D',
      '\uFE0F',
      '\u20E3',
      '🏽',
      '\u{E0067}',
    )
    const any = fc.string({ unit: part, minLength: 1, maxLength: 12 })
    const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' })
    const graphemes = (text: string): string[] =>
      Array.from(segmenter.segment(text), ({ segment }) =>
        segment.replace(/\uFE0F|\p{Emoji_Modifier}|(?<=^[^🏴].*)\u{E0067}/gu, '').replace(/\u200D+$/u, ''),
      )
    const isSign = (one: string): boolean => /^(?:[👩💻❤🔥🏴Ⓜℹ№ª²]|\p{Regional_Indicator}|[1#*]\u20E3)/u.test(one)
    fc.assert(
      fc.property(any, any, (one, text) => {
        const [sign] = graphemes(one).filter(isSign)
        if (sign === undefined) return
        expect(finds(sign, text), JSON.stringify([sign, text])).toBe(graphemes(text).includes(sign))
      }),
      { numRuns: effort(3000) },
    )
  })

  test('is found among any other entries exactly as when it is alone', () => {
    const letters = fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 4 }).map((all) => all.join(' '))
    const text = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 20 }).map((all) => all.join(' '))
    const property = fc.property(fc.array(letters, { maxLength: 8 }), text, (entries, haystack) => {
      const found = entries.flatMap((entry, index) => (` ${haystack} `.includes(` ${entry} `) ? [index] : []))
      expect(searches(compileWords(entries), haystack)).toBe(found.length > 0)
      expect([...compileWords(entries).entriesIn(new SearchedText([haystack]))].toSorted((a, b) => a - b)).toEqual(
        found,
      )
    })
    fc.assert(property, { numRuns: effort(2000) })
  })

  test('with stars is found as a part of words', () => {
    const letters = fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 2, maxLength: 4 })
    const entry = fc.tuple(fc.constantFrom('', '*'), letters, fc.constantFrom('', '*'))
    const text = fc.string({ unit: fc.constantFrom('a', 'b', ' '), maxLength: 20 })
    const property = fc.property(fc.array(entry, { minLength: 1, maxLength: 6 }), text, (entries, haystack) => {
      const isFound = ([opens, core, closes]: (typeof entries)[number]): boolean =>
        haystack
          .split(' ')
          .some((word) =>
            opens === '' && closes === ''
              ? word === core
              : opens === ''
                ? word.startsWith(core)
                : closes === ''
                  ? word.endsWith(core)
                  : word.includes(core),
          )
      expect(searches(compileWords(entries.map((parts) => parts.join(''))), haystack)).toBe(entries.some(isFound))
    })
    fc.assert(property, { numRuns: effort(2000) })
  })

  test('is compiled once for equal lists', () => {
    expect(wordFilter(['some', 'list'])).toBe(wordFilter(['some', 'list']))
    expect(wordFilter(['some', 'list'])).not.toBe(wordFilter(['some\nlist', '']))
  })
})

describe.each(Object.entries(CORPORA))('in %s', (_language, { entries, harmless, hits }) => {
  test('no harmless sentence has an entry', () => {
    expect(harmless.length).toBeGreaterThanOrEqual(20)
    const found = harmless.flatMap((text) =>
      entries.filter((entry) => finds(entry, text)).map((entry) => [entry, text]),
    )
    expect(found).toEqual([])
  })

  test('sentences with an entry are found, whatever the list holds beside it', () => {
    const filter = compileWords(entries)
    expect(hits.filter((text) => !searches(filter, text))).toEqual([])
    expect(entries.map(readEntry).filter((entry) => 'problem' in entry)).toEqual([])
  })
})

test('entries with accents or punctuation find nothing harmless in any of the languages', () => {
  const special = Object.values(CORPORA).flatMap(({ entries }) =>
    entries.filter((entry) => /[^\p{ASCII}]|[^\p{L} *]/u.test(entry) && /\p{Script=Latin}/u.test(entry)),
  )
  const filter = compileWords(special)
  const texts = Object.values(CORPORA).flatMap(({ harmless }) => harmless)
  expect(special.length).toBeGreaterThan(20)
  expect(texts.filter((text) => searches(filter, text))).toEqual([])
})

describe('folding', () => {
  test('never throws, and is idempotent', () => {
    const text = fc.string({ unit: 'binary', maxLength: 200 })
    fc.assert(
      fc.property(text, (any) => {
        expect(normalizeText(normalizeText(any))).toBe(normalizeText(any))
        normalizeText(any, { accents: true, dotless: true })
        digestOf(any)
      }),
      { numRuns: effort(2000) },
    )
  })

  test('knows the three spellings of a word with ß', () => {
    expect(['straße', 'STRAẞE', 'Strasse'].map((text) => normalizeText(text))).toEqual(Array(3).fill('strasse'))
  })

  test('accepts lone surrogates, endless marks and mixed directions', () => {
    for (const text of ['\uD800', 'a'.repeat(5000) + '\u0301'.repeat(5000), '\u202E\u2066שלום\u2069 abc 👨‍👩‍👧‍👦']) {
      expect(() => finds('abc', text)).not.toThrow()
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
