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
  // As browsers read it.
  const trimmed = (href?.trim() ?? '').replace(/[\t\n\r]/g, '').replace(/[\s<>]/g, encodeURIComponent)
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

/** The runs with fewer marks. */
export function keepMarks(runs: readonly TextRun[], kept: (marks: readonly Mark[]) => readonly Mark[]): TextRun[] {
  const all: TextRun[] = []
  for (const run of runs) {
    if (run === BREAK) all.push(BREAK)
    else add(all, { ...run, marks: kept(run.marks) })
  }
  return all
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

/** The runs on both sides of some, if marks stand between them at most. */
interface Beside {
  last?: TextRun | undefined
  next?: TextRun | undefined
}

function markedOf(runs: readonly TextRun[], level: number, beside: Beside = {}): PhrasingContent[] {
  const mark = runs.some(({ marks }) => marks.length > 0) ? MARKS[level] : undefined
  if (mark === undefined) return runs.map((run) => (run === BREAK ? { type: 'break' } : textOf(run.text)))
  const groups = groupsBy(withoutLost(runs, mark, beside), mark)
  const nodes = groups.flatMap(({ key: isMarked, group }, index): PhrasingContent[] => {
    const { last, next } = besideGroup(groups, index, beside)
    // What stands beside `~~` is beside punctuation.
    const within = (inner: readonly TextRun[], outer: Beside) =>
      markedOf(inner, level + 1, mark === 'delete' ? {} : outer)
    if (!isMarked) return within(group, { last, next })
    if (mark === 'inlineCode') return [{ type: mark, value: group.map(({ text }) => text).join('') }]
    const { before, inner, after } = cutBoth(group, mark, { last, next })
    const edges = (edge: TextRun | undefined) => (edge === undefined ? [] : [textOf(edge.text)])
    const children = within(inner, { last: before ?? last, next: after ?? next })
    return [...edges(before), { type: mark, children }, ...edges(after)]
  })
  return mark === 'delete' ? nodes.reduce(addCode, []) : nodes
}

const groupsBy = (runs: readonly TextRun[], mark: Mark) => groupsOf(runs, ({ marks }) => marks.includes(mark))

const besideGroup = (groups: readonly { group: TextRun[] }[], index: number, beside: Beside): Beside => ({
  last: groups[index - 1]?.group.at(-1) ?? beside.last,
  next: groups[index + 1]?.group[0] ?? beside.next,
})

/** The text that a mark can stand around, and the edges that are moved out of it. */
function cutBoth(group: readonly TextRun[], mark: Mark, { last, next }: Beside) {
  const { edges: before, rest } = cutEdges(group, isLetter(last, mark, -1), 0)
  const { edges: after, rest: inner } = cutEdges(rest, isLetter(next, mark, 0), -1)
  return { before, inner, after }
}

/**
 * Takes a mark off the runs where it would not be recognised. The marks around it must not be split
 * there: `**a****b**` is no bold text.
 */
function withoutLost(runs: readonly TextRun[], mark: Mark, beside: Beside): TextRun[] {
  if (mark === 'inlineCode') return [...runs]
  const groups = groupsBy(runs, mark)
  return groups.flatMap(({ key: isMarked, group }, index) =>
    isMarked && isLost(group, mark, besideGroup(groups, index, beside))
      ? group.map((run) => (run === BREAK ? run : { ...run, marks: run.marks.filter((each) => each !== mark) }))
      : group,
  )
}

function isLost(group: readonly TextRun[], mark: Mark, { last, next }: Beside): boolean {
  const { before, inner, after } = cutBoth(group, mark, { last, next })
  if (inner.length === 0) return true
  if (mark !== 'delete') return isBesideCode(inner, isLetter(last, mark, -1), isLetter(next, mark, 0))
  return !isSeen(inner, { last: before === undefined ? last : undefined, next: after === undefined ? next : undefined })
}

/** Whether a mark would stand between a letter and code, where it is not recognised. */
function isBesideCode(inner: readonly TextRun[], isAfterLetter: boolean, isBeforeLetter: boolean): boolean {
  const [first = BREAK, last = BREAK] = [inner[0], inner.at(-1)]
  return (isAfterLetter && isCode(first)) || (isBeforeLetter && isCode(last))
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
 * outside.
 */
function isSeen(inner: readonly TextRun[], { last, next }: Beside): boolean {
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
 * and emoji, which renderers take for letters or for symbols.
 */
const SPACE_OR_EMOJI = /^(?:\s|(?![\p{L}\p{N}\p{M}])[\u{10000}-\u{10ffff}][\ufe0f\u200d]*)$/u
/** No mark begins between a letter and one of these, nor ends between one of these and a letter. */
const PUNCTUATION = /^(?![\u{10000}-\u{10ffff}])[\p{P}\p{S}]$/u
/** A character, with those that belong to the emoji before it. */
const FIRST = /^[^][\ufe0f\u200d]*/u

/** The side of a text: 0 is its beginning, -1 its end. */
type Side = 0 | -1

function characterAt(text: string, side: Side): string {
  if (side === 0) return FIRST.exec(text)?.[0] ?? ''
  // A long text is not read from its beginning.
  let from = text.length - 1
  while (from > 0 && JOINERS.includes(text.charAt(from))) from--
  return text.slice(/^[\udc00-\udfff]/.test(text.charAt(from)) ? from - 1 : from)
}
/** They belong to the emoji before them. */
const JOINERS = '\ufe0f\u200d'

/** Whether a run has a letter, or what is read like one, beside a mark. */
const isLetter = (run: TextRun | undefined, mark: Mark, side: Side): boolean =>
  run !== undefined &&
  !isCode(run) &&
  !(mark === 'delete' && hasOthers(run)) &&
  isLikeLetter(characterAt(run.text, side))

const isLikeLetter = (character: string): boolean => !/^\s/.test(character) && !PUNCTUATION.test(character)

/** Moves characters at one side of a group out of it, but for those of code. */
function cutEdges(
  group: readonly TextRun[],
  isBesideLetter: boolean,
  side: Side,
): { edges: TextRun | undefined; rest: TextRun[] } {
  let cut = ''
  const rest = [...group]
  let isBeside = isBesideLetter
  for (let run = rest.at(side); run !== undefined && !isCode(run); run = rest.at(side)) {
    let text = run.text
    while (text !== '') {
      const character = characterAt(text, side)
      if (!SPACE_OR_EMOJI.test(character) && !(isBeside && PUNCTUATION.test(character))) break
      isBeside = isLikeLetter(character)
      cut = side === 0 ? cut + character : character + cut
      text = side === 0 ? text.slice(character.length) : text.slice(0, -character.length)
    }
    if (text !== '') {
      rest.splice(side, 1, { ...run, text })
      break
    }
    if (side === 0) rest.shift()
    else rest.pop()
  }
  return { edges: cut === '' ? undefined : { text: cut, marks: [], href: null }, rest }
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
