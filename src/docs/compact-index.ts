import type { AsPlainObject } from 'minisearch'

import { OPTIONS } from './search-options.ts'

/** A section: its anchor, its heading, the beginning of its text, and the words of each field. */
type Section = [anchor: string, heading: string, shown: string, lengths: readonly number[]]

/** A page: its address, its title, what its first section shows as its page, and its sections. */
type Page = [address: string, title: string, part: string, sections: Section[]]

/**
 * The index of the search as it is sent. MiniSearch's own form is three times as large, compressed:
 * it has the number of each section, in quotes, for each word.
 */
export interface CompactIndex {
  pages: Page[]
  /** Each word, and by field the sections that have it: the distances of their numbers. */
  words: [word: string, ...sections: string[]][]
}

type Stored = Record<'address' | 'page' | 'heading' | 'shown', string>

/** How often a section has a word is left out: that changes results little, and costs a tenth. */
export function compact(index: AsPlainObject): CompactIndex {
  const pages: Page[] = []
  for (const [id, stored] of Object.entries(index.storedFields)) {
    const { address, page, heading, shown } = stored as Stored
    const [path = '', anchor = ''] = address.split('#')
    const lengths = index.fieldLength[id] ?? []
    const last = pages.at(-1)
    // A page begins with the section without an anchor, which shows the part of the documentation.
    if (anchor === '') pages.push([path, heading, page, [['', heading, shown, lengths]]])
    else if (last?.[0] === path) last[3].push([anchor, heading, shown, lengths])
    else throw new Error(`${address} comes before its page`)
  }
  const fields = OPTIONS.fields.map((_name, field) => field)
  const words = index.index.map(([word, entries]): CompactIndex['words'][number] => [
    word,
    ...fields.map((field) => distances(Object.keys(entries[field] ?? {}).map(Number))),
  ])
  return { pages, words }
}

/** The index for `MiniSearch.loadJS`. */
export function expand({ pages, words }: CompactIndex): AsPlainObject {
  const sections = pages.flatMap(([path, title, part, all]) =>
    all.map(([anchor, heading, shown, lengths]) => ({
      lengths,
      stored: {
        address: anchor === '' ? path : `${path}#${anchor}`,
        page: anchor === '' ? part : title,
        heading,
        shown,
      },
    })),
  )
  const byId = <T>(valueOf: (section: (typeof sections)[number], id: number) => T): Record<string, T> =>
    Object.fromEntries(sections.map((section, id) => [id, valueOf(section, id)]))
  const average = (field: number): number =>
    sections.reduce((sum, { lengths }) => sum + (lengths[field] ?? 0), 0) / sections.length
  return {
    documentCount: sections.length,
    nextId: sections.length,
    documentIds: byId((_section, id) => id),
    fieldIds: Object.fromEntries(OPTIONS.fields.map((name, field) => [name, field])),
    fieldLength: byId(({ lengths }) => [...lengths]),
    averageFieldLength: OPTIONS.fields.map((_name, field) => average(field)),
    storedFields: byId(({ stored }) => stored),
    dirtCount: 0,
    index: words.map(([word, ...of]) => [
      word,
      Object.fromEntries(of.flatMap((text, field) => (text === '' ? [] : [[field, once(text)]]))),
    ]),
    serializationVersion: 2,
  }
}

const distances = (numbers: readonly number[]): string =>
  numbers.map((each, at) => each - (numbers[at - 1] ?? 0)).join(' ')

function once(text: string): Record<string, number> {
  let id = 0
  return Object.fromEntries(text.split(' ').map((distance) => [(id += Number(distance)), 1]))
}
