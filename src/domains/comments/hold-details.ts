import { addressesIn } from './text/markdown-text.ts'
import { placeFinder } from './text/places.ts'
import { compileWords } from './text/words.ts'

/** The most places of a rule that are told. */
const MOST = 20

/** What a rule has found in a text, and where. */
export interface HoldDetail {
  rule: 'banned_word' | 'suspect_word' | 'too_many_links' | 'repeated_text'
  /** The entry of the list, the address, or the number of copies. */
  match: string
  /** In UTF-16 units of the body; null where only the HTML has it, such as a word with markup. */
  start: number | null
  end: number | null
}

/** The entries of a list that a text has. `shown`: all forms in which lists are searched. */
export function wordDetails(
  rule: 'banned_word' | 'suspect_word',
  entries: readonly string[],
  body: string,
  found: ReadonlySet<number>,
): HoldDetail[] {
  if (found.size === 0) return []
  const entryAt = (index: number): string => entries[index] ?? ''
  const places = compileWords(entries).placesIn(body, MOST)
  const find = placeFinder(body)
  const located = places.map(({ entry, form, ...part }) => ({ entry, range: find(form, part) }))
  const isLocated = new Set(located.flatMap(({ entry, range }) => (range === null ? [] : [entry])))
  const elsewhere = [...found].filter((entry) => !isLocated.has(entry)).map((entry) => ({ entry, range: null }))
  return [...located.filter(({ range }) => range !== null), ...elsewhere]
    .toSorted((one, other) => (one.range?.start ?? Infinity) - (other.range?.start ?? Infinity))
    .slice(0, MOST)
    .map(({ entry, range }) => detail(rule, entryAt(entry), range))
}

/** The links of a text. */
export function linkDetails(body: string, bodyHtml: string): HoldDetail[] {
  let from = 0
  return addressesIn(bodyHtml)
    .slice(0, MOST)
    .map((address) => {
      const start = body.indexOf(address, from)
      if (start < 0) return detail('too_many_links', address, null)
      from = start + address.length
      return detail('too_many_links', address, { start, end: from })
    })
}

/** That readers have posted the same text before, and how often. */
export const copiesDetail = (copies: number): HoldDetail => detail('repeated_text', String(copies), null)

const detail = (rule: HoldDetail['rule'], match: string, range: { start: number; end: number } | null): HoldDetail => ({
  rule,
  match,
  start: range?.start ?? null,
  end: range?.end ?? null,
})
