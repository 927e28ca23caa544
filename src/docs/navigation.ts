import { posix } from 'node:path'

import { targetOf, titleOf, tokensOf } from './markdown.ts'

/** Pages below one heading of an index, in the order of its links. */
export interface Group {
  /** Null for links above the first heading. */
  title: string | null
  names: string[]
}

/** A part of the documentation, with a link in the head of each page. */
export interface Part {
  label: string
  /** The page that its link opens. */
  index: string
  /** Pages of the part that its index does not list. */
  more?: readonly string[]
}

export const PARTS: readonly Part[] = [
  { label: 'Guides', index: 'guides/README.md' },
  { label: 'REST', index: 'reference/rest/README.md' },
  { label: 'GraphQL', index: 'reference/graphql.md' },
  { label: 'Reference', index: 'reference/README.md' },
  { label: 'Operations', index: 'operations/README.md' },
  { label: 'Design', index: 'decisions/README.md', more: ['architecture.md'] },
]

/** The parts whose pages follow each other. */
export const FOLDERS = ['guides', 'reference', 'operations'] as const

/** The pages that an index links to, of its folder and those within it, by its headings. */
export function groupsOf(index: string): Group[] {
  const folder = posix.dirname(index)
  const groups: Group[] = [{ title: null, names: [] }]
  const seen = new Set([index])
  const tokens = tokensOf(index)
  tokens.forEach((token, n) => {
    if (tokens[n - 1]?.type === 'heading_open' && tokens[n - 1]?.tag === 'h2') {
      groups.push({ title: token.content, names: [] })
    }
    for (const child of token.children ?? []) {
      const name = child.type === 'link_open' ? targetOf(index, child.attrGet('href') ?? '') : null
      if (name === null || seen.has(name) || !name.startsWith(`${folder}/`) || !name.endsWith('.md')) continue
      seen.add(name)
      groups.at(-1)?.names.push(name)
    }
  })
  return groups.filter(({ names }) => names.length > 0)
}

const isIndex = (name: string): boolean => name.endsWith('/README.md')

/** The pages of a folder and those within it, in the order of the links of their indexes. */
export function sequenceFrom(index: string): string[] {
  const within = groupsOf(index).flatMap(({ names }) =>
    names.flatMap((name) => (isIndex(name) ? sequenceFrom(name) : [name])),
  )
  return [...new Set([index, ...within])]
}

/** The pages before and after a page. */
export function neighboursOf(name: string): { previous: string | undefined; next: string | undefined } {
  const sequence = FOLDERS.map((folder) => sequenceFrom(`${folder}/README.md`)).find((one) => one.includes(name)) ?? []
  const at = sequence.indexOf(name)
  return { previous: sequence[at - 1], next: at < 0 ? undefined : sequence[at + 1] }
}

/** The part that a page belongs to: the one with the longest folder, or that lists it. */
export function partOf(name: string): Part | undefined {
  const isWithin = ({ index, more = [] }: Part): boolean =>
    index === name || more.includes(name) || (isIndex(index) && name.startsWith(`${posix.dirname(index)}/`))
  return PARTS.filter(isWithin).toSorted((one, other) => other.index.length - one.index.length)[0]
}

/** An entry of the list of pages. */
export interface Entry {
  name: string
  title: string
  /** The pages of its folder, where the shown page is one of them. */
  within: Entry[]
}

/** The list of pages beside a page. */
export function entriesFor(name: string, { index, more = [] }: Part): { title: string | null; entries: Entry[] }[] {
  const entryOf = (each: string): Entry => {
    const isOpen = isIndex(each) && name.startsWith(`${posix.dirname(each)}/`)
    const within = isOpen ? groupsOf(each).flatMap(({ names }) => names.map(entryOf)) : []
    return { name: each, title: titleOf(each), within }
  }
  const first = [index, ...more].map((each) => ({ name: each, title: titleOf(each), within: [] }))
  const groups = isIndex(index) ? groupsOf(index) : []
  return [
    { title: null, entries: first },
    ...groups.map(({ title, names }) => ({ title, entries: names.map(entryOf) })),
  ]
}
