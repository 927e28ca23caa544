import type { Delete, Emphasis, Root, Strong, Text } from 'mdast'
import { type ConstructName, defaultHandlers, type Handle, type Options, toMarkdown } from 'mdast-util-to-markdown'

/** A text without anything to escape, as most are. The writer would scan it some 40 times. */
const PLAIN = /^[^\\`*_[\]<>&~#\r\n\t]*$/
/** Beginnings that would start a list, a heading or another block. */
const BEGINS_BLOCK = /^(?:\s|\d{1,9}[.)]|[-+=|:])/

/** Whether the text is written unchanged as a paragraph. */
export const isPlain = (text: string): boolean => PLAIN.test(text) && !BEGINS_BLOCK.test(text)

const writeText: Handle = (node: Text, parent, state, info) => {
  const { value } = node
  // A ! before a link's bracket would make it an image.
  const isInline = info.before !== '\n' && PLAIN.test(value)
  if ((isInline || isPlain(value)) && !value.endsWith('!')) return value
  return besideEmoji(defaultHandlers.text(node, parent, state, info))
}

/** The writer takes an emoji for a letter, next to which it does not escape `_`. */
const besideEmoji = (written: string): string =>
  written.replace(/(\\?)(_+)/g, (all, escape: string, signs: string, at: number) => {
    // The first sign may be escaped already.
    const rest = escape === '' ? signs : signs.slice(1)
    const isAfter = escape === '' && SYMBOL.test(written.slice(Math.max(0, at - 2), at))
    const end = at + all.length
    if (rest === '' || (!isAfter && !SYMBOL.test(written.slice(end, end + 2)))) return all
    return all.slice(0, all.length - rest.length) + '\\_'.repeat(rest.length)
  })

const SYMBOL = /^[\u{10000}-\u{10ffff}]$/u

/**
 * Writes a mark. The library's own handlers encode letters beside some marks, such as `&#x662F;`:
 * the runs are made so that each mark is recognised as it is (`cutEdges`).
 */
function markedBy(sign: string, construct: ConstructName): Handle {
  const write: Handle = (node: Delete | Emphasis | Strong, _, state, info) => {
    const tracker = state.createTracker(info)
    const exit = state.enter(construct)
    let value = tracker.move(sign)
    value += tracker.move(state.containerPhrasing(node, { ...tracker.current(), before: value, after: sign.charAt(0) }))
    exit()
    return value + tracker.move(sign)
  }
  return Object.assign(write, { peek: () => sign.charAt(0) })
}

const OPTIONS: Options = {
  bullet: '-',
  rule: '-',
  fences: true,
  handlers: {
    text: writeText,
    delete: markedBy('~~', 'strikethrough' as ConstructName),
    strong: markedBy('**', 'strong'),
    emphasis: markedBy('*', 'emphasis'),
  },
  unsafe: [
    { character: '~', inConstruct: 'phrasing' },
    { character: '\\', inConstruct: 'phrasing' },
  ],
}

/** A tree as Markdown, without a final line end. */
export function writeMarkdown(tree: Root): string {
  const written = toMarkdown(tree, OPTIONS)
  let end = written.length
  while (written.charAt(end - 1) === '\n') end--
  return written.slice(0, end)
}
