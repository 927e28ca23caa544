import type { PhrasingContent, Text } from 'mdast'

import { mailAddresses, webAddresses } from '../../domains/comments/text/markdown-links.ts'

/** Inline marks, from the outermost inwards. */
export const MARKS = ['delete', 'strong', 'emphasis', 'inlineCode'] as const
export type Mark = (typeof MARKS)[number]

/** A piece of text of one look. */
export interface TextRun {
  text: string
  marks: readonly Mark[]
  href: string | null
}

export const BREAK: Readonly<TextRun> = { text: '\n', marks: [], href: null }

// oxlint-disable-next-line no-control-regex
const CONTROLS = /[\0-\x08\x0b\x0e-\x1f\x7f]/g

/** A text without characters that show nothing and cannot be stored. */
export const cleanText = (text: string): string => text.replace(CONTROLS, '').toWellFormed()

/**
 * A text, and its addresses that our renderer links. As links they need no escapes, which would end
 * them.
 */
export function withAddresses(text: string): { text: string; href: string | null }[] {
  const web = text.includes('://') ? linksIn(text, webAddresses(text), '') : [{ text, href: null }]
  if (!text.includes('@')) return web
  return web.flatMap((part) => (part.href === null ? linksIn(part.text, mailAddresses(part.text), 'mailto:') : [part]))
}

function linksIn(text: string, addresses: Iterable<{ start: number; end: number }>, scheme: string) {
  const parts: { text: string; href: string | null }[] = []
  let done = 0
  for (const { start, end } of addresses) {
    const address = text.slice(start, end)
    const href = address.toLowerCase().startsWith(scheme) ? address : scheme + address
    if (addressOf(href) !== href) continue
    parts.push({ text: text.slice(done, start), href: null }, { text: address, href })
    done = end
  }
  parts.push({ text: text.slice(done), href: null })
  return parts.filter((part) => part.text !== '')
}

/** An address that our renderer links; null for any other. */
export function addressOf(href: string | undefined): string | null {
  const trimmed = href?.trim() ?? ''
  const address = trimmed.startsWith('//') ? `https:${trimmed}` : trimmed
  if (address.length > 2048 || !/^(?:https?:\/\/|mailto:)[^\s\p{Cc}\p{Surrogate}<>]+$/iu.test(address)) return null
  return URL.canParse(address) ? address : null
}

/** The paragraphs of a text, which two line breaks part. Spaces that are not shown are left out. */
export function paragraphsOf(runs: readonly TextRun[]): TextRun[][] {
  const paragraphs: TextRun[][] = [[]]
  let breaks = 0
  let isAfterSpace = true
  for (const run of runs) {
    if (run === BREAK) {
      breaks++
      isAfterSpace = true
      continue
    }
    const text: string = isAfterSpace ? run.text.replace(/^ /, '') : run.text
    if (text === '') continue
    isAfterSpace = text.endsWith(' ')
    if (breaks > 1) paragraphs.push([])
    const paragraph = paragraphs.at(-1) ?? []
    if (breaks > 0) trimEnd(paragraph)
    if (breaks === 1 && paragraph.length > 0) paragraph.push(BREAK)
    breaks = 0
    add(paragraph, { ...run, text })
  }
  for (const paragraph of paragraphs) trimEnd(paragraph)
  return paragraphs.filter((paragraph) => paragraph.length > 0)
}

/** Adds a run; to the one before it where both look the same. */
function add(paragraph: TextRun[], run: TextRun): void {
  const last = paragraph.at(-1)
  const isSame =
    last !== undefined && last !== BREAK && last.href === run.href && last.marks.join() === run.marks.join()
  if (isSame) last.text += run.text
  else paragraph.push(run)
}

function trimEnd(paragraph: TextRun[]): void {
  const last = paragraph.at(-1)
  if (last === undefined || last === BREAK || !last.text.endsWith(' ')) return
  last.text = last.text.slice(0, -1)
  if (last.text === '') paragraph.pop()
}

/** The runs as nodes: links outside, marks within them. */
export const phrasingOf = (runs: readonly TextRun[]): PhrasingContent[] =>
  groupsOf(runs, ({ href }) => href).flatMap(({ key: url, group }) =>
    url === null ? markedOf(group, 0) : [{ type: 'link' as const, url, children: markedOf(group, 0) }],
  )

function markedOf(runs: readonly TextRun[], level: number): PhrasingContent[] {
  const mark = runs.some(({ marks }) => marks.length > 0) ? MARKS[level] : undefined
  if (mark === undefined) return runs.map((run) => (run === BREAK ? { type: 'break' } : textOf(run.text)))
  const groups = groupsOf(runs, ({ marks }) => marks.includes(mark))
  const nodes = groups.flatMap(({ key: isMarked, group }, index): PhrasingContent[] => {
    if (!isMarked) return markedOf(group, level + 1)
    if (mark === 'inlineCode') return [{ type: mark, value: group.map(({ text }) => text).join('') }]
    const { before, inner, after } = spacesOutside(group)
    const children = markedOf(inner, level + 1)
    const outer = {
      last: before.length > 0 ? undefined : groups[index - 1]?.group.at(-1),
      next: after.length > 0 ? undefined : groups[index + 1]?.group[0],
    }
    const isLost = children.length === 0 || (mark === 'delete' && !isSeen(inner, outer))
    return [...before, ...(isLost ? children : [{ type: mark, children }]), ...after]
  })
  return mark === 'delete' ? nodes.reduce(addCode, []) : nodes
}

/** Merges adjacent code: two marks side by side would be read as one. */
function addCode(nodes: PhrasingContent[], node: PhrasingContent): PhrasingContent[] {
  const last = nodes.at(-1)
  if (last?.type === 'inlineCode' && node.type === 'inlineCode') last.value += node.value
  else nodes.push(node)
  return nodes
}

/**
 * Whether `~~` would be recognised here: between two letters, or next to punctuation or a space
 * outside. For the other marks the writer makes sure of that, by encoding letters.
 */
function isSeen(
  inner: readonly TextRun[],
  { last, next }: { last: TextRun | undefined; next: TextRun | undefined },
): boolean {
  const isAfterLetter = last !== undefined && !hasOthers(last) && ENDS_WITH_LETTER.test(last.text)
  const isBeforeLetter = next !== undefined && !hasOthers(next) && BEGINS_WITH_LETTER.test(next.text)
  if (!isAfterLetter && !isBeforeLetter) return true
  if (inner.some(hasOthers)) return false
  const opens = !isAfterLetter || BEGINS_WITH_LETTER.test(inner[0]?.text ?? '')
  return opens && (!isBeforeLetter || ENDS_WITH_LETTER.test(inner.at(-1)?.text ?? ''))
}

const hasOthers = ({ marks }: TextRun): boolean => marks.some((mark) => mark !== 'delete')
const BEGINS_WITH_LETTER = /^[\p{L}\p{N}\p{M}]/u
const ENDS_WITH_LETTER = /[\p{L}\p{N}\p{M}]$/u

const textOf = (value: string): Text => ({ type: 'text', value })

/**
 * Characters at the ends of a mark that must be moved outside: spaces, which would end the mark,
 * and emoji, which the writer does not know to be symbols.
 */
const LEADING = /^(?:\s|(?![\p{L}\p{N}\p{M}])[\u{10000}-\u{10ffff}][\ufe0f\u200d]*)+/u
const EMOJI = /^(?![\p{L}\p{N}\p{M}])[\u{10000}-\u{10ffff}]$/u
/** Characters that belong to the emoji before them. */
const JOINERS = '\ufe0f\u200d'

/** Where the characters at the end of a text that `LEADING` describes begin. */
function startOfTrailing(text: string): number {
  let start = text.length
  for (;;) {
    if (/\s/.test(text.charAt(start - 1))) start--
    else {
      let end = start
      while (end > 0 && JOINERS.includes(text.charAt(end - 1))) end--
      if (!EMOJI.test(text.slice(Math.max(0, end - 2), end))) return start
      start = end - 2
    }
  }
}

/** Moves those of a group out of it, but for those of code. */
function spacesOutside(group: readonly TextRun[]): { before: Text[]; inner: readonly TextRun[]; after: Text[] } {
  const before: Text[] = []
  const after: Text[] = []
  let [from, to] = [0, group.length]
  let [first, last] = [group[0], group.at(-1)]
  for (; first !== undefined && !isCode(first); first = group[++from]) {
    const [edge = ''] = LEADING.exec(first.text) ?? []
    if (edge !== '') before.push(textOf(edge))
    if (edge.length < first.text.length) {
      first = { ...first, text: first.text.slice(edge.length) }
      break
    }
  }
  for (; to > from && last !== undefined && !isCode(last); last = group[--to - 1]) {
    const { text } = to - 1 === from && first !== undefined ? first : last
    const start = startOfTrailing(text)
    if (start < text.length) after.push(textOf(text.slice(start)))
    if (start > 0) {
      last = { ...last, text: text.slice(0, start) }
      break
    }
  }
  const inner = group.slice(from, to)
  if (first !== undefined && inner.length > 0) inner[0] = first
  if (last !== undefined && inner.length > 0) inner[inner.length - 1] = last
  return { before, inner, after: after.toReversed() }
}

const isCode = ({ marks }: TextRun): boolean => marks.includes('inlineCode')

/** Neighbours with the same key. */
function groupsOf<Key>(runs: readonly TextRun[], keyOf: (run: TextRun) => Key): { key: Key; group: TextRun[] }[] {
  const groups: { key: Key; group: TextRun[] }[] = []
  for (const run of runs) {
    const key = keyOf(run)
    const last = groups.at(-1)
    if (last !== undefined && last.key === key) last.group.push(run)
    else groups.push({ key, group: [run] })
  }
  return groups
}
