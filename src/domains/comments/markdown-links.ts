import type MarkdownIt from 'markdown-it'
import type { RuleInline } from 'markdown-it/lib/parser_inline.mjs'
import type StateInline from 'markdown-it/lib/rules_inline/state_inline.mjs'
import type Token from 'markdown-it/lib/token.mjs'

/** The longest local part of an e-mail address (RFC 5321, section 4.5.3.1.1). */
const MAX_LOCAL_PART = 64

const SCHEME = /(?<![a-z0-9])https?$/i
const HOST = /[\p{L}\p{N}][\p{L}\p{M}\p{N}._:@-]*/uy
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

const LOCAL_PART = /[\w.+-]/
const DOMAIN = /[a-z0-9-]+(?:\.[a-z0-9-]+)+/iy
/**
 * A letter right beside an e-mail address would belong to it, so the address is not linked. Chinese
 * letters do not count, because Chinese writes no space there.
 */
const LETTER = /[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}]/u

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
  HOST.lastIndex = from
  if (!HOST.test(text)) return null
  let end = HOST.lastIndex
  if (/[/?#]/.test(text.charAt(end))) end = endOfPath(text, end)
  while (TRAILING.test(text.charAt(end - 1))) end--
  return end
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
    if (start === at || at - start > MAX_LOCAL_PART || LETTER.test(text.charAt(start - 1))) continue
    DOMAIN.lastIndex = at + 1
    const domain = withoutHyphens(DOMAIN.exec(text)?.[0])
    if (domain === undefined || !/\.[a-z][a-z0-9-]+$/i.test(domain)) continue
    if (LETTER.test(text.charAt(at + 1 + domain.length))) continue
    if (text.slice(Math.max(done, start - 7), start).toLowerCase() === 'mailto:') start -= 7
    const end = at + 1 + domain.length
    yield { start, end, text: text.slice(start, end) }
    done = end
  }
}
