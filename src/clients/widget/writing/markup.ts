// What the buttons of the formatting bar make of a text: Markdown, as the service reads it.

/** A text, and what is selected in it. */
export interface Selected {
  text: string
  start: number
  end: number
}

/** What stands in place of the part from `start` to `end`, and what is selected afterwards. */
export interface Change extends Selected {
  select: [start: number, end: number]
}

export type Format = 'bold' | 'italic' | 'link' | 'quote' | 'code' | 'list'

export const change = (format: Format, selected: Selected): Change => FORMATS[format](selected)

const FORMATS: Readonly<Record<Format, (selected: Selected) => Change>> = {
  bold: (selected) => wrap(selected, '**'),
  italic: (selected) => wrap(selected, '*'),
  code,
  link,
  quote: (selected) => prefix(selected, '> '),
  list: (selected) => prefix(selected, '- '),
}

/** Without the white space at its ends, next to which a mark would be none. */
function trimmed({ text, start, end }: Selected): Selected {
  const inner = text.slice(start, end)
  const blank = inner.length - inner.trimStart().length
  return inner.trim() === ''
    ? { text, start, end }
    : { text, start: start + blank, end: start + inner.trimEnd().length }
}

/** How many of these signs stand one after the other, before or behind a place. */
function run(text: string, sign: string, at: number, step: 1 | -1): number {
  let n = 0
  while (text[step > 0 ? at + n : at - 1 - n] === sign) n++
  return n
}

/** Of a run of asterisks, two are bold, one is italic, and three are both. */
const isMarked = (length: number, mark: string): boolean => (mark === '*' ? length === 1 || length === 3 : length >= 2)

/** Puts marks around the selection, or removes those that are there. */
function wrap(selected: Selected, mark: string): Change {
  const { text, start, end } = trimmed(selected)
  const n = mark.length
  const inner = text.slice(start, end)
  const within = Math.min(run(inner, '*', 0, 1), run(inner, '*', inner.length, -1))
  if (inner.length > 2 * within && isMarked(within, mark)) {
    return { start, end, text: inner.slice(n, -n), select: [start, end - 2 * n] }
  }
  const around = Math.min(run(text, '*', start, -1), run(text, '*', end, 1))
  if (isMarked(around, mark)) return { start: start - n, end: end + n, text: inner, select: [start - n, end - n] }
  return { start, end, text: mark + inner + mark, select: [start + n, end + n] }
}

/** Lines become a block of their own. Within it, a longer fence than any that is there. */
function code({ text, start, end }: Selected): Change {
  const inner = text.slice(start, end)
  const longest = Math.max(0, ...(inner.match(/`+/g) ?? []).map(({ length }) => length))
  if (inner.includes('\n')) {
    const fence = '`'.repeat(Math.max(3, longest + 1))
    const before = start === 0 || text[start - 1] === '\n' ? '' : '\n'
    const after = end === text.length || text[end] === '\n' ? '' : '\n'
    const from = start + before.length + fence.length + 1
    const block = `${before}${fence}\n${inner.replace(/\n$/, '')}\n${fence}${after}`
    return { start, end, text: block, select: [from, from + inner.replace(/\n$/, '').length] }
  }
  if (text[start - 1] === '`' && text[end] === '`')
    return { start: start - 1, end: end + 1, text: inner, select: [start - 1, end - 1] }
  const mark = '`'.repeat(longest + 1)
  const room = inner.startsWith('`') || inner.endsWith('`') ? ' ' : ''
  const from = start + mark.length + room.length
  return { start, end, text: mark + room + inner + room + mark, select: [from, from + inner.length] }
}

const ADDRESS = /^(?:https?:\/\/|mailto:)\S+$/i

/** Selects what is left to write: the text of a link, or its address. */
function link(selected: Selected): Change {
  const { text, start, end } = trimmed(selected)
  const inner = text.slice(start, end)
  if (ADDRESS.test(inner)) return { start, end, text: `[](${inner})`, select: [start + 1, start + 1] }
  const address = 'https://'
  const label = inner.replace(/[[\]\\]/g, String.raw`\$&`).replaceAll('\n', ' ')
  const at = start + label.length + 3
  const isNew = label === ''
  return {
    start,
    end,
    text: `[${label}](${address})`,
    select: isNew ? [start + 1, start + 1] : [at, at + address.length],
  }
}

/** Begins each line of the selection with this, or takes it away where all have it. */
function prefix({ text, start, end }: Selected, mark: string): Change {
  const from = text.lastIndexOf('\n', start - 1) + 1
  const next = text.indexOf('\n', end)
  const to = next < 0 ? text.length : next
  const lines = text.slice(from, to).split('\n')
  const isMarkedAll = lines.every((line) => line.startsWith(mark))
  const made = lines.map((line) => (isMarkedAll ? line.slice(mark.length) : mark + line)).join('\n')
  const caret = from + made.length
  return { start: from, end: to, text: made, select: start === end ? [caret, caret] : [from, caret] }
}

/** How much of a comment is quoted at once. */
const MAX_QUOTE = 1000

/** A quote of this Markdown, to write below it. */
export function quoteOf(markdown: string): string {
  const signs = Array.from(markdown.trim())
  const text = signs.length > MAX_QUOTE ? `${signs.slice(0, MAX_QUOTE).join('')}…` : signs.join('')
  return `${text.replace(/^/gm, '> ').replace(/^> $/gm, '>')}\n\n`
}

/** Text as Markdown that shows the same. */
export const escaped = (text: string): string => text.replace(/[\\*`[<]/g, String.raw`\$&`)
