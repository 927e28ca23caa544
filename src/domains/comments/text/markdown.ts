import MarkdownIt from 'markdown-it'
import cjkFriendly from 'markdown-it-cjk-friendly'

import type { Id } from '../../../core/ids.ts'
import { UNSEEN } from '../../../core/input/texts.ts'
import { boundWork, TooMuchWork } from './markdown-bounds.ts'
import { linkAddresses } from './markdown-links.ts'
import { MENTION_TAGS, type RenderEnv, renderMentions } from './mentions.ts'

const LINK_REL = 'nofollow ugc noopener'

/**
 * The most bytes of a text's HTML: this many times its own bytes, at least the floor, at most the
 * cap.
 */
const MAX_GROWTH = 8
const FLOOR_BYTES = 1024
const MAX_HTML_BYTES = 100_000

// Readers type into a plain box: a line break is meant as one, as in GitHub's comments.
// CommonMark expects a space after emphasis that ends with punctuation, which Chinese, Japanese and
// Korean do not write: without the plugin `**好。**再` would show its asterisks.
const markdown = new MarkdownIt('commonmark', { html: false, xhtmlOut: false, breaks: true })
  .enable('strikethrough')
  .use(cjkFriendly)
const { escapeHtml } = markdown.utils

// The parser drops deeper nesting (`maxNesting` of markdown-it's preset): such a text is shown as
// it was written, so that nothing is lost.
const MAX_LEVEL = 20
markdown.core.ruler.push('depth', ({ tokens }) => {
  if (tokens.some(({ level }) => level >= MAX_LEVEL - 2)) throw new TooMuchWork()
})

// CommonMark lets a line without `>` continue a quote, which would swallow the answer that a reader
// writes below it. This rule ends a quote's own chain, and no other.
markdown.block.ruler.before('paragraph', 'quote_end', (_state, _line, _end, silent) => silent, { alt: ['blockquote'] })

/** The allowed schemes of links. */
markdown.validateLink = (url) => /^(?:https?|mailto):/i.test(url)
const spend = boundWork(markdown)
linkAddresses(markdown)
renderMentions(markdown)

/** The cost of parsing and encoding an address. Most addresses need neither. */
const NORMALIZE_WORK = 60
const NORMAL_ADDRESS = /^(?:https?:\/\/|mailto:[\w.+-]+@)[a-z0-9.-]+(?::\d+)?(?:[/?#][\w.~:/?#@!$&'()*+,;=-]*)?$/i
const { normalizeLink } = markdown
markdown.normalizeLink = (url) => {
  if (NORMAL_ADDRESS.test(url)) return url
  spend(NORMALIZE_WORK)
  return normalizeLink(url)
}
markdown.normalizeLinkText = (url) => url

const { rules } = markdown.renderer
rules.text = (tokens, index) => escapeText(tokens[index]?.content ?? '')
rules.link_open = (tokens, index) => {
  const token = tokens[index]
  return openLink(token?.attrGet('href') ?? '', token?.attrGet('title') ?? null)
}
// Every visitor would load a reader's image, so an image becomes a link.
rules.image = (tokens, index) => {
  const token = tokens[index]
  const src = token?.attrGet('src') ?? ''
  return `${openLink(src, null)}${escapeText(token?.content || src)}</a>`
}
rules.fence = (tokens, index) => {
  const { content = '', info = '' } = tokens[index] ?? {}
  const language = /^[\w+#.-]{1,50}(?!\S)/.exec(info)?.[0]
  const attribute = language === undefined ? '' : ` class="language-${language}"`
  return `<pre><code${attribute}>${escapeText(content)}</code></pre>\n`
}

/**
 * A reference's address is repeated wherever it is used, so long addresses used often cost work.
 */
function openLink(href: string, title: string | null): string {
  spend((href.length + (title?.length ?? 0)) >> 3)
  const attribute = title === null ? '' : ` title="${escapeHtml(title)}"`
  return `<a href="${escapeHtml(href)}"${attribute} rel="${LINK_REL}">`
}

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' }
export const escapeText = (text: string): string => text.replace(/[&<>]/g, (sign) => ESCAPES[sign] ?? sign)

// A second line of defence: only tags that the renderer can legitimately make may leave here.
const TAG = new RegExp(
  [
    '<(?:/?(?:blockquote|code|em|h[1-6]|li|ol|p|pre|s|strong|ul)',
    '[bh]r',
    'ol start="\\d{1,9}"',
    'code class="language-[\\w+#.-]{1,50}"',
    `a href="(?:[Hh][Tt]{2}[Pp][Ss]?|[Mm][Aa][Ii][Ll][Tt][Oo]):[^"<>\\s]*"(?: title="[^"<>]*")? rel="${LINK_REL}"`,
    ...MENTION_TAGS,
    '/a)>',
  ].join('|'),
  'g',
)
const isSafe = (html: string): boolean => !/[<>]/.test(html.replace(TAG, ''))

// Texts without any markup: letters, digits, spaces and plain punctuation on one line, without an
// address. Most comments are like this.
const PLAIN = /^(?!\d+[.)]|[-+=# ])[\p{L}\p{N} ,.;?!'’()-]+$/u
const LINKISH = /\bwww|\.\p{L}/iu
const isPlain = (body: string): boolean => PLAIN.test(body) && !LINKISH.test(body)

const NOBODY: ReadonlySet<Id> = new Set()

/**
 * Renders CommonMark with strikethrough and autolinks as HTML that is safe to insert. Raw HTML is
 * shown as text. A text whose HTML would be too large (`MAX_GROWTH`) or too much work is shown as
 * it was written. `[@](reader:<id>)` names one of `mentioned`, and is text otherwise.
 */
export const renderMarkdown = (body: string, mentioned = NOBODY): string =>
  isPlain(body) ? `<p>${body}</p>\n` : renderThoroughly(body, mentioned)

/** Any text up to this length is rendered in less time than one database query takes. */
const SHORT_LENGTH = 500

/** Whether rendering costs next to nothing. */
export const isCheapToRender = (body: string): boolean => body.length <= SHORT_LENGTH || isPlain(body)

/** Renders any text through the parser, plain ones too. */
export function renderThoroughly(body: string, mentioned = NOBODY): string {
  const html = tryRender(body, { mentioned })
  return html !== null && Buffer.byteLength(html) <= maxBytesOf(body) && isSafe(html) ? html : renderAsText(body)
}

/** The most bytes of a text's HTML. */
export const maxBytesOf = (body: string): number =>
  Math.min(MAX_HTML_BYTES, Math.max(FLOOR_BYTES, MAX_GROWTH * Buffer.byteLength(body)))

function tryRender(body: string, env: RenderEnv): string | null {
  try {
    return markdown.render(body, env)
  } catch (error) {
    if (error instanceof TooMuchWork) return null
    throw error
  }
}

/** The text in paragraphs, with line breaks but no other markup: at most six times its bytes. */
export const renderAsText = (body: string): string =>
  body
    .split(/\n(?:[ \t]*\n)+/)
    .map((paragraph) => `<p>${escapeText(paragraph).replaceAll('\n', '<br>\n')}</p>\n`)
    .join('')

/**
 * The number of links in a rendered comment. A `<` of its text is escaped, so only tags of the
 * renderer are found. In a text that is shown as it was written, addresses count too: they are
 * there to be copied.
 */
export function countLinks(body: string, html: string): number {
  const links = html.match(/<a /g)?.length ?? 0
  if (links > 0) return links
  const addresses = body.match(/https?:\/\//gi)?.length ?? 0
  return addresses > 0 && html === renderAsText(body) ? addresses : 0
}

const VISIBLE = new RegExp(`(?:^|>)[${UNSEEN}]*[^<${UNSEEN}]`, 'u')

/** Whether a rendered comment shows nothing: no visible character outside its tags. */
export const isBlank = (html: string): boolean => !VISIBLE.test(html)
