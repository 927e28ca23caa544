import type MarkdownIt from 'markdown-it'
import type { RuleInline } from 'markdown-it/lib/parser_inline.mjs'
import type StateInline from 'markdown-it/lib/rules_inline/state_inline.mjs'
import type Token from 'markdown-it/lib/token.mjs'

/** The longest local part of an e-mail address (RFC 5321, section 4.5.3.1.1). */
const MAX_LOCAL_PART = 64

const SCHEME = /(?<![a-z0-9])https?$/i
/** A name and password before a host: ASCII, so that a sentence before an `@` does not count. */
const USER = /[\w.~%+:-]{1,200}@(?=[\p{L}\p{N}])/uy
const HOST = /[\p{L}\p{N}][\p{L}\p{M}\p{N}._-]*/uy
const PORT = /:\d{1,5}(?!\d)/y
/**
 * The characters of a path except brackets: no spaces, quotes or foreign punctuation, such as `。`.
 */
const PATH = new RegExp("[[^\\p{P}\\p{Z}\\p{C}<>`^\\|][\\-._:\\/?#@!\\&'*,;%]]+", 'vy')
/**
 * Punctuation that ends a sentence, not an address, as in GFM; an opening bracket has nothing
 * behind it here.
 */
const TRAILING = /[?!.,:;*_~'([]/
const CLOSING: Readonly<Record<string, string>> = { '(': ')', '[': ']' }

/**
 * The scripts of the last label of a host: one script each, but for those that Japanese and Korean
 * write together (UTS 39, section 5.1). Digits and hyphens belong to any.
 */
const SCRIPTS = [
  ['Latin'],
  ['Cyrillic'],
  ['Greek'],
  ['Han', 'Hiragana', 'Katakana', 'Hangul', 'Bopomofo'],
  ...'Arabic,Armenian,Bengali,Devanagari,Ethiopic,Georgian,Gujarati,Gurmukhi,Hebrew,Kannada,Khmer,Lao,Malayalam'
    .split(',')
    .map((script) => [script]),
  ...'Myanmar,Oriya,Sinhala,Tamil,Telugu,Thaana,Thai,Tibetan'.split(',').map((script) => [script]),
].map((scripts) => {
  const letters = scripts.map((script) => `\\p{scx=${script}}`).join('')
  return { first: new RegExp(`^[${letters}]`, 'u'), label: new RegExp(`[${letters}\\p{N}\\p{M}_-]+`, 'uy') }
})
/** Of a label that begins with ASCII, digits included. */
const LATIN_LABEL = /[\p{scx=Latin}\p{N}\p{M}_-]+/uy

/** Scripts whose running text follows an address without a space. */
const RUNNING_TEXT = /^[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}]/u
const NOT_ASCII = /[^\0-\x7F]/

const LOCAL_PART = /[\w.+-]/
const DOMAIN = /[a-z0-9-]+(?:\.[a-z0-9-]+)+/iy
/**
 * A letter right before an e-mail address would belong to it, so the address is not linked. Chinese
 * letters do not count, because Chinese writes no space there.
 */
const LETTER_BEFORE = /[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}]/u
/** So would one behind it, of the script of its domain. */
const LETTER_AFTER = /\p{Script=Latin}/u

/**
 * Links `http://`, `https://` and e-mail addresses in text (GFM, section 6.9, without `www.`). It
 * looks at each character a few times at most: linkify-it, markdown-it's own way, takes quadratic
 * time.
 */
export function linkAddresses(md: MarkdownIt): void {
  const linkWeb: RuleInline = (state, silent) => {
    const { src, pos } = state
    if (!src.startsWith('://', pos)) return false
    const scheme = SCHEME.exec(src.slice(Math.max(0, pos - 6), pos))?.[0]
    if (scheme === undefined || (!silent && !state.pending.endsWith(scheme))) return false
    const end = endOfAddress(src, pos + 3)
    if (end === null || end > state.posMax) return false
    const text = src.slice(pos - scheme.length, end)
    const href = md.normalizeLink(text)
    if (!md.validateLink(href)) return false
    if (!silent) {
      state.pending = state.pending.slice(0, -scheme.length)
      pushLink(state, href, text)
    }
    state.pos = end
    return true
  }

  md.inline.ruler.after('text', 'link_web', linkWeb)
  md.core.ruler.after('inline', 'links', ({ tokens, Token: TokenClass }) => {
    for (const token of tokens) {
      if (token.children === null || !/[@:]|!\[/.test(token.content)) continue
      token.children = withLinks(token.children, TokenClass, md.validateLink)
    }
  })
}

/** The web addresses of a text that become links. */
export function* webAddresses(text: string): Generator<{ start: number; end: number }> {
  let done = 0
  for (const { 0: scheme, index: start } of text.matchAll(/(?<![a-z0-9])https?:\/\//gi)) {
    const end = start < done ? null : endOfAddress(text, start + scheme.length)
    if (end === null) continue
    yield { start, end }
    done = end
  }
}

/**
 * The end of the address whose host begins at `from`; null without a host. An unmatched closing
 * bracket ends it.
 */
function endOfAddress(text: string, from: number): number | null {
  const start = endOf(USER, text, from) ?? from
  const run = endOf(HOST, text, start)
  if (run === null) return null
  const host = endOfHost(text, start, run)
  let end = host === run ? (endOf(PORT, text, host) ?? host) : host
  if (host === run && /[/?#]/.test(text.charAt(end))) {
    // Of a host in another script than ASCII, the path may be in it as well.
    const isOwn = NOT_ASCII.test(text.slice(start, host))
    end = isOwn ? endOfPath(text, end) : endOfRunningText(text, end, endOfPath(text, end))
  }
  while (TRAILING.test(text.charAt(end - 1))) end--
  return end
}

const endOf = (pattern: RegExp, text: string, from: number): number | null => {
  pattern.lastIndex = from
  return pattern.test(text) ? pattern.lastIndex : null
}

/** A host ends where its last label would mix scripts: `example.comを見て`. */
function endOfHost(text: string, from: number, run: number): number {
  let end = run
  while (text.charAt(end - 1) === '.') end--
  // In the host alone: `text.lastIndexOf` would go back to the beginning of a text without a dot.
  const label = from + text.slice(from, end).lastIndexOf('.') + 1
  const first = text.slice(label, label + 2)
  const pattern = /^[\w-]/.test(first)
    ? LATIN_LABEL
    : (SCRIPTS.find((script) => script.first.test(first))?.label ?? null)
  const stop = pattern === null ? null : endOf(pattern, text, label)
  return stop === null || stop >= end ? run : stop
}

/** The path from `from` to `end` ends at text of these scripts, where it is ASCII so far. */
function endOfRunningText(text: string, from: number, end: number): number {
  const path = text.slice(from, end)
  const foreign = path.search(NOT_ASCII)
  return foreign >= 0 && RUNNING_TEXT.test(path.slice(foreign)) ? from + foreign : end
}

function endOfPath(text: string, from: number): number {
  const expected: string[] = []
  let end = from
  for (;;) {
    PATH.lastIndex = end
    if (PATH.test(text)) end = PATH.lastIndex
    const bracket = text.charAt(end)
    const closing = CLOSING[bracket]
    if (closing !== undefined) expected.push(closing)
    else if (bracket === '' || bracket !== expected.pop()) return end
    end++
  }
}

function pushLink(state: StateInline, href: string, text: string): void {
  state.push('link_open', 'a', 1).attrs = [['href', href]]
  state.push('text', '', 0).content = text
  state.push('link_close', 'a', -1)
}

function withLinks(tokens: Token[], TokenClass: typeof Token, isLink: (href: string) => boolean): Token[] {
  const make = (type: string, nesting: -1 | 0 | 1, from: Token, content = ''): Token =>
    Object.assign(new TokenClass(type, type === 'text' ? '' : 'a', nesting), { content, level: from.level })
  let depth = 0
  return tokens.flatMap((token) => {
    // HTML has no nested links: an inner link becomes its text, and so does an image, which would
    // be a link.
    if (token.type === 'link_open') return ++depth > 1 ? [] : [token]
    if (token.type === 'link_close') return depth-- > 1 ? [] : [token]
    if (token.type === 'image' && depth > 0) token.type = 'text'
    if (token.type !== 'text' || depth > 0) return [token]
    const { content } = token
    const found: Token[] = []
    let done = 0
    for (const { start, end, text } of mailAddresses(content)) {
      const href = `mailto:${text.replace(/^mailto:/i, '')}`
      if (!isLink(href)) continue
      const open = make('link_open', 1, token)
      open.attrs = [['href', href]]
      found.push(make('text', 0, token, content.slice(done, start)), open, make('text', 0, token, text))
      found.push(make('link_close', -1, token))
      done = end
    }
    return done === 0 ? [token] : [...found, make('text', 0, token, content.slice(done))]
  })
}

/** Without its trailing hyphens. A regular expression would search from every hyphen. */
function withoutHyphens(domain: string | undefined): string | undefined {
  let end = domain?.length ?? 0
  while (domain?.[end - 1] === '-') end--
  return domain?.slice(0, end)
}

/** The e-mail addresses of a text, with an optional `mailto:`. */
export function* mailAddresses(text: string): Generator<{ start: number; end: number; text: string }> {
  let done = 0
  for (let at = text.indexOf('@'); at >= 0; at = text.indexOf('@', at + 1)) {
    let start = at
    while (start > done && at - start <= MAX_LOCAL_PART && LOCAL_PART.test(text.charAt(start - 1))) start--
    if (start === at || at - start > MAX_LOCAL_PART || LETTER_BEFORE.test(text.charAt(start - 1))) continue
    DOMAIN.lastIndex = at + 1
    const domain = withoutHyphens(DOMAIN.exec(text)?.[0])
    if (domain === undefined || !/\.[a-z][a-z0-9-]+$/i.test(domain)) continue
    if (LETTER_AFTER.test(text.charAt(at + 1 + domain.length))) continue
    if (text.slice(Math.max(done, start - 7), start).toLowerCase() === 'mailto:') start -= 7
    const end = at + 1 + domain.length
    yield { start, end, text: text.slice(start, end) }
    done = end
  }
}
