import { decodeHTMLStrict } from 'entities'
import { Parser } from 'htmlparser2'
import type { Blockquote, Code, List, ListItem, Nodes, Parents, Root, RootContent } from 'mdast'

import { charactersIn, hasAtMost } from '../../core/input/texts.ts'
import { MAX_BODY_LENGTH } from '../../domains/comments/fields.ts'
import {
  addressOf,
  BREAK,
  cleanText,
  type Mark,
  MARKS,
  paragraphsOf,
  type TextRun,
  withAddresses,
} from './text-runs.ts'
import { blockOf } from './shown-block.ts'
import { isPlain, writeMarkdown } from './write-markdown.ts'

// Longer than other files, because a conversion is one pass over the HTML with one state.

/**
 * Converts HTML to Markdown that our renderer (`src/domains/comments/text/markdown.ts`) shows like
 * the HTML. Text that looks like Markdown is escaped. Elements that the renderer cannot show are
 * reduced to their text. With `lineBreaks` line ends of the text count, as in WordPress. HTML with
 * more text than a comment may have is not converted: its text alone is returned, which is too long
 * as well.
 */
export function htmlToMarkdown(html: string, { lineBreaks = false } = {}): string {
  const plain = plainParagraphs(html, lineBreaks)
  if (plain !== null) return plain
  const converter = new Converter(lineBreaks)
  try {
    if (/[<&]/.test(html)) parse(html, converter)
    else converter.addText(html)
    return writeMarkdown(converter.end())
  } catch (error) {
    if (error instanceof TooLong) return textOfTags(html)
    throw error
  }
}

/** The text of HTML whose structure does not matter. */
const textOfTags = (html: string): string => decodeHTMLStrict(html.replace(/<[^<>]*>/g, ' '))

const PARAGRAPHS = /^(?:[^<&]*|\s*(?:<p>[^<&]*<\/p>\s*)+)$/

/**
 * A fast path for paragraphs without markup, which most comments are: it takes a tenth of the time.
 */
function plainParagraphs(html: string, lineBreaks: boolean): string | null {
  if (!PARAGRAPHS.test(html) || (lineBreaks && html.includes('\n')) || /:\/\/|@/.test(html)) return null
  const texts = html.split(/<\/?p>/).map((text) => text.replace(/[ \t\n\r\f]+/g, ' ').replace(/^ | $/g, ''))
  const paragraphs = texts.filter((text) => text !== '')
  return paragraphs.every((text) => isPlain(text) && cleanText(text) === text) ? paragraphs.join('\n\n') : null
}

/** The text of HTML on one line, for instance of a title. */
export function textOfHtml(html: string): string {
  if (!/[<&]/.test(html)) return html.trim()
  // The parser takes quadratic time for nested elements.
  if (html.length > MAX_BODY_LENGTH) return textOfTags(html).replace(/\s+/g, ' ').trim()
  let text = ''
  new Parser({ ontext: (part) => (text += part) }, PARSER).end(html)
  return decodeHTMLStrict(text).replace(/\s+/g, ' ').trim()
}

/**
 * Without the parser's own decoding: like browsers, it would decode entities without `;`, but
 * `&section=2` in people's texts is no entity.
 */
const PARSER = { decodeEntities: false }

/** Deeper nesting is not a comment's own markup: only its text is kept. */
const MAX_DEPTH = 200

class TooDeep extends Error {}

/** There is more text than a comment may have. */
class TooLong extends Error {}

function parse(html: string, converter: Converter): void {
  let depth = 0
  // The parser splits texts, possibly within an address.
  let text = ''
  const addText = (): void => {
    if (text !== '') converter.addText(decodeHTMLStrict(text))
    text = ''
  }
  const handler = {
    onopentag(name: string, attributes: Record<string, string>) {
      addText()
      if (++depth > MAX_DEPTH) throw new TooDeep()
      converter.open(name, attributes)
    },
    ontext: (piece: string) => void (text += piece),
    onclosetag(name: string) {
      addText()
      depth--
      converter.close(name)
    },
    onend: addText,
  }
  const parser = new Parser(handler, PARSER)
  try {
    parser.end(html)
  } catch (error) {
    if (!(error instanceof TooDeep)) throw error
    converter.reset()
    converter.addText(textOfTags(html))
  }
}

/** Elements whose text is not shown. */
const HIDDEN = new Set(['script', 'style', 'template', 'title', 'noscript', 'svg', 'math', 'object', 'select'])

const BLOCKS = new Set(
  (
    'address article aside body caption center dd details dialog div dl dt fieldset figcaption figure footer form ' +
    'header hgroup html legend main nav p section summary table tbody tfoot thead tr'
  ).split(' '),
)

const TAGS: Readonly<Record<Mark, readonly string[]>> = {
  delete: ['s', 'strike', 'del'],
  strong: ['b', 'strong'],
  emphasis: ['i', 'em', 'cite', 'dfn'],
  inlineCode: ['code', 'tt', 'kbd', 'samp'],
}
const MARK_OF = new Map(MARKS.flatMap((mark) => TAGS[mark].map((tag) => [tag, mark])))

/** The most nested blocks: the renderer shows deeper ones as they were written. */
const MAX_BLOCKS = 6

/**
 * Builds the tree of a Markdown text from the elements of HTML. Not rehype-remark 10 or Turndown 7:
 * 2 000 nested elements overflow their stack, 250 times `<b>x` keeps rehype-remark busy for three
 * minutes, and 15 and 19 of 24 cases of our tests would need handlers of ours.
 */
class Converter {
  private readonly lineBreaks: boolean
  private containers: Parents[] = []
  private runs: TextRun[] = []
  private heading: 1 | 2 | 3 | 4 | 5 | 6 | null = null
  private marks = new Map<Mark, number>()
  private links: (string | null)[] = []
  /** The open elements whose text stands above or below the line. */
  private raised: ('sup' | 'sub')[] = []
  /** For each open block, whether it has its own container. */
  private blocks: boolean[] = []
  private hidden = 0
  private pre: { depth: number; text: string; lang: string | null } | null = null
  /** The characters of the finished blocks, which have at least as many as Markdown. */
  private length = 0

  constructor(lineBreaks: boolean) {
    this.lineBreaks = lineBreaks
    this.reset()
  }

  reset(): void {
    this.containers = [{ type: 'root', children: [] }]
    this.runs = []
    this.heading = null
    this.marks.clear()
    this.links = []
    this.raised = []
    this.blocks = []
    this.hidden = 0
    this.pre = null
    this.length = 0
  }

  end(): Root {
    if (this.pre !== null) this.endPre()
    this.flush()
    while (this.containers.length > 1) this.leave()
    return this.containers[0] as Root
  }

  open(name: string, attributes: Readonly<Record<string, string>>): void {
    if (HIDDEN.has(name)) this.hidden++
    if (this.hidden > 0) return
    const { pre } = this
    if (pre !== null) {
      if (name === 'pre') pre.depth++
      if (name === 'br') pre.text += '\n'
      if (name === 'sup' || name === 'sub') this.raised.push(name)
      if (name === 'code') pre.lang ??= languageOf(attributes['class'] ?? '')
      return
    }
    const mark = MARK_OF.get(name)
    if (mark !== undefined) this.marks.set(mark, (this.marks.get(mark) ?? 0) + 1)
    else if (BLOCKS.has(name)) this.flush()
    else if (/^h[1-6]$/.test(name)) {
      this.flush()
      this.heading = Number(name[1]) as 1
    } else this.openOther(name, attributes)
  }

  private openOther(name: string, attributes: Readonly<Record<string, string>>): void {
    switch (name) {
      case 'a':
        this.links.push(addressOf(decoded(attributes['href'])))
        break
      case 'br':
        this.runs.push(BREAK)
        break
      case 'img':
      case 'iframe':
      case 'video':
      case 'audio':
      case 'embed':
        this.addMedia(attributes)
        break
      case 'q':
        this.addText('“')
        break
      case 'td':
      case 'th':
        this.addText(' ')
        break
      case 'sup':
      case 'sub':
        this.raised.push(name)
        break
      case 'hr':
        this.flush()
        this.count(['---'])
        this.append({ type: 'thematicBreak' })
        break
      case 'pre':
        this.flush()
        this.pre = { depth: 1, text: '', lang: null }
        break
      case 'blockquote':
        this.enter({ type: 'blockquote', children: [] })
        break
      case 'ul':
      case 'ol':
        this.enter({
          type: 'list',
          ordered: name === 'ol',
          start: startOf(attributes['start']),
          spread: false,
          children: [],
        })
        break
      case 'li':
        this.flush()
        // Only the items of a list have containers of their own.
        if (this.container.type === 'list') this.enter({ type: 'listItem', spread: false, children: [] })
        else this.blocks.push(false)
        break
    }
  }

  close(name: string): void {
    if (this.hidden > 0) {
      if (HIDDEN.has(name)) this.hidden--
      return
    }
    if (this.pre !== null) {
      if (name === 'pre' && --this.pre.depth === 0) this.endPre()
      if (name === 'sup' || name === 'sub') this.raised.pop()
      return
    }
    const mark = MARK_OF.get(name)
    if (mark !== undefined) this.marks.set(mark, (this.marks.get(mark) ?? 0) - 1)
    else if (BLOCKS.has(name)) this.flush()
    else if (/^h[1-6]$/.test(name)) {
      this.flush()
      this.heading = null
    } else if (name === 'a') this.links.pop()
    else if (name === 'sup' || name === 'sub') this.raised.pop()
    else if (name === 'q') this.addText('”')
    else if (/^(?:blockquote|[uo]l|li)$/.test(name)) {
      this.flush()
      if (this.blocks.pop() === true) this.leave()
    }
  }

  addText(text: string): void {
    if (this.hidden > 0) return
    if (this.pre !== null) {
      this.pre.text += this.raisedOr(text)
      return
    }
    if (!this.lineBreaks) return this.addLine(text)
    text.split(/\r\n?|\n/).forEach((line, index) => {
      if (index > 0) this.runs.push(BREAK)
      this.addLine(line)
    })
  }

  private addLine(line: string): void {
    const shown = cleanText(line).replace(/[ \t\n\r\f]+/g, ' ')
    if (shown === '') return
    const text = this.raisedOr(shown)
    const href = this.links.at(-1) ?? null
    const marks = MARKS.filter((mark) => (this.marks.get(mark) ?? 0) > 0)
    if (href !== null || marks.includes('inlineCode')) this.runs.push({ text, marks, href })
    else this.runs.push(...withAddresses(text).map((part) => ({ ...part, marks })))
  }

  private raisedOr(text: string): string {
    const raised = this.raised.at(-1)
    return raised === undefined ? text : raisedText(text, raised)
  }

  /** Embedded content becomes a link, which each reader may follow or not. */
  private addMedia({ src, alt, title }: Readonly<Record<string, string>>): void {
    const text = decoded(alt || title)
    const href = addressOf(decoded(src))
    // An image of an emoji is replaced by the emoji.
    const isEmoji = text.length <= 8 && /^\p{Extended_Pictographic}/u.test(text)
    if (href === null || isEmoji || this.links.at(-1) != null) {
      if (text !== '') this.addLine(text)
      return
    }
    this.links.push(href)
    this.addLine(text || href)
    this.links.pop()
  }

  private get container(): Parents {
    return this.containers.at(-1) as Parents
  }

  private enter(node: Blockquote | List | ListItem): void {
    this.flush()
    const isNested = this.containers.length <= MAX_BLOCKS || node.type === 'listItem'
    this.blocks.push(isNested)
    if (isNested) this.containers.push(node)
  }

  private leave(): void {
    const node = this.containers.pop() as Blockquote | List | ListItem
    if (node.children.length > 0) this.append(node)
  }

  private append(node: RootContent): void {
    const { container } = this
    const isItem = node.type === 'listItem'
    const child = container.type === 'list' && !isItem ? { type: 'listItem', spread: false, children: [node] } : node
    ;(container.children as Nodes[]).push(child as Nodes)
  }

  private endPre(): void {
    const { text, lang } = this.pre ?? { text: '', lang: null }
    this.pre = null
    const value = cleanText(text).replace(/\r\n?/g, '\n').replace(/^\n/, '').trimEnd()
    const node: Code = { type: 'code', lang, value }
    if (value === '') return
    this.count([value])
    this.append(node)
  }

  /** The writer takes quadratic time, so it must not get more than a comment may have. */
  private count(texts: readonly string[]): void {
    for (const text of texts) {
      if (!hasAtMost(text, MAX_BODY_LENGTH)) throw new TooLong()
      this.length += charactersIn(text)
    }
    if (this.length > MAX_BODY_LENGTH) throw new TooLong()
  }

  /** Ends the current paragraph. */
  private flush(): void {
    const runs = this.runs
    this.runs = []
    for (const part of paragraphsOf(runs)) {
      this.count(part.map(({ text }) => text))
      const depth = this.heading
      this.append(
        blockOf(part, (children) =>
          depth === null ? { type: 'paragraph', children } : { type: 'heading', depth, children },
        ),
      )
    }
  }
}

const RAISED = {
  sup: ['0123456789+-−=()abcdefghijklmnoprstuvwxyz', '⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ'],
  sub: ['0123456789+-−=()aehijklmnoprstuvx', '₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ'],
} as const

/**
 * What stands above or below the line, in characters that do: `10<sup>6</sup>` is not 106. Words,
 * as in `1<sup>st</sup>`, stay as they are. A text for which there are no such characters gets a
 * sign before it.
 */
function raisedText(text: string, kind: 'sup' | 'sub'): string {
  if (/^\s*$|\p{L}{2}/u.test(text)) return text
  const [from, to] = RAISED[kind].map((all) => Array.from(all)) as [string[], string[]]
  const trimmed = text.trim()
  const characters = Array.from(trimmed, (one) => to[from.indexOf(one)])
  const isRaised = !characters.includes(undefined)
  // A mark such as ™ is no power.
  if (!isRaised && !/[\p{L}\p{N}]/u.test(text)) return text
  const raised = isRaised ? characters.join('') : `${kind === 'sup' ? '^' : '_'}(${trimmed})`
  // The spaces around it stay.
  return text.replace(trimmed, () => raised)
}

const decoded = (attribute: string | undefined): string => decodeHTMLStrict(attribute ?? '')

const languageOf = (names: string): string | null =>
  /(?:^|\s)lang(?:uage)?-([\w+#.-]{1,50})(?!\S)/.exec(names)?.[1] ?? null

const startOf = (start: string | undefined): number => (/^\d{1,9}$/.test(start ?? '') ? Number(start) : 1)
