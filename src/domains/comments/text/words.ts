import { LRUCache } from 'lru-cache'

import { type EntryPattern, readEntry } from './word-entries.ts'
import { hasSigns } from './signs.ts'
import { plainStream, type StreamForm, type WordStream, wordStream } from './word-streams.ts'
import { Automaton } from './automaton.ts'

/** The forms of one text that are searched: as written, as shown, and its links. */
export class SearchedText {
  readonly #sources: readonly string[]
  readonly #streams = new Map<string, WordStream[]>()

  /** `normalized` is the first source, normalized, where that is known already. */
  constructor(sources: readonly string[], normalized?: string) {
    this.#sources = [...new Set(sources)]
    if (normalized === undefined) return
    const others = this.#sources.slice(1).map((source) => wordStream(source, {}))
    this.#streams.set(keyOf({}), [plainStream(normalized), ...others])
  }

  /** Its streams, made once for all lists. For signs, those of the forms that have one. */
  in(form: StreamForm): readonly WordStream[] {
    const key = keyOf(form)
    const sources = (): readonly string[] =>
      form.signs === true ? this.#sources.filter((source) => hasSigns(source)) : this.#sources
    const made = this.#streams.get(key) ?? sources().map((source) => wordStream(source, form))
    this.#streams.set(key, made)
    return made
  }

  hasCapitalI(): boolean {
    return this.#sources.some((source) => /[IＩ\u{1D400}-\u{1D7FF}]/u.test(source))
  }
}

const keyOf = ({ accents, punctuation, dotless, signs }: StreamForm): string =>
  `${accents === true} ${punctuation === true} ${dotless === true} ${signs === true}`

export interface WordFilter {
  /** Whether an entry is in the text. */
  matches(text: SearchedText): boolean
  /** The indices of the entries that are in the text. */
  entriesIn(text: SearchedText): ReadonlySet<number>
  /** Where they are in a source, at most `most` of them. */
  placesIn(source: string, most: number): WordPlace[]
}

/** A place in the stream of a text in this form. */
export interface WordPlace {
  entry: number
  form: StreamForm
  from: number
  to: number
}

/**
 * Compiles a list of words and phrases (`readEntry`). Entries that cannot be read match nothing:
 * they were stored under earlier rules. The filter's time depends on the text, and on how many
 * entries are in one another, but not on the length of the list.
 */
export function compileWords(entries: readonly string[]): WordFilter {
  const lists = new Map<string, { form: StreamForm; patterns: (EntryPattern & { entry: number })[] }>()
  entries.forEach((entry, index) => {
    const read = readEntry(entry)
    if ('problem' in read) return
    for (const pattern of read.patterns) {
      const key = keyOf(pattern.form)
      const list = lists.get(key) ?? { form: pattern.form, patterns: [] }
      list.patterns.push({ ...pattern, entry: index })
      lists.set(key, list)
    }
  })
  const searches = [...lists.values()].map(({ form, patterns }) => ({ form, automaton: new Automaton(patterns) }))
  // Ends early if `found` returns true.
  const search = (text: SearchedText, found: (places: readonly number[]) => boolean): boolean =>
    searches.some(({ form, automaton }) => {
      const scan = (stream: WordStream): boolean => automaton.scan(stream, found)
      if (text.in(form).some(scan)) return true
      return automaton.knows('ı') && text.hasCapitalI() && text.in({ ...form, dotless: true }).some(scan)
    })
  return {
    matches: (text) => search(text, () => true),
    entriesIn: (text) => {
      // A list may have a word many times, in spellings that are one, and a text as well.
      const found = new Set<readonly number[]>()
      search(text, (places) => {
        found.add(places)
        return false
      })
      return new Set([...found].flat())
    },
    placesIn: (source, most) => {
      const text = new SearchedText([source])
      const places: WordPlace[] = []
      for (const { form: plain, automaton } of searches) {
        const isTurkish = automaton.knows('ı') && text.hasCapitalI()
        for (const form of isTurkish ? [plain, { ...plain, dotless: true }] : [plain]) {
          for (const stream of text.in(form)) {
            automaton.scan(stream, ([entry = 0], from, to) => {
              places.push({ entry, form, from, to })
              return places.length >= most
            })
          }
        }
      }
      return places.slice(0, most)
    },
  }
}

/** Settings are read again every few seconds: the same lists, as other objects. */
const compiled = new LRUCache<string, WordFilter>({
  maxSize: 1_000_000,
  sizeCalculation: (_filter, key) => key.length + 1,
})
const byList = new WeakMap<readonly string[], WordFilter>()

/** The filter of a list in the settings. Lists that are in use are compiled once. */
export function wordFilter(entries: readonly string[]): WordFilter {
  const known = byList.get(entries)
  if (known !== undefined) return known
  const key = entries.join('\n')
  const filter = compiled.get(key) ?? compileWords(entries)
  compiled.set(key, filter)
  byList.set(entries, filter)
  return filter
}
