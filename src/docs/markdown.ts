import { readFileSync } from 'node:fs'
import { join, posix } from 'node:path'

import hljs from 'highlight.js'
import MarkdownIt, { type Token } from 'markdown-it'

import { ROOT } from '../core/process/root.ts'

export const FOLDER = join(ROOT, 'docs')

export const escapeHtml = (text: string): string => text.replace(/[&<>"]/g, (one) => `&#${one.charCodeAt(0)};`)

/** A page without its comments. */
const withoutComments = (text: string): string =>
  text
    .split('<!--')
    .map((part, n) => (n === 0 ? part : part.slice(part.indexOf('-->') + '-->'.length)))
    .join('')

const texts = new Map<string, string>()

/** The Markdown of a page of `docs`, without its comments. */
export function textOf(name: string): string {
  const text = texts.get(name) ?? withoutComments(readFileSync(join(FOLDER, name), 'utf8'))
  texts.set(name, text)
  return text
}

export const titleOf = (name: string): string => /^# (.+)$/m.exec(textOf(name))?.[1]?.replaceAll('`', '') ?? name

/**
 * The path below `/docs/`: `guides/rest.md` becomes `guides/rest`, and a folder's README the
 * folder.
 */
export const addressOf = (name: string): string => name.replace(/(^|\/)README\.md$|\.md$/, '$1')

/** Where a link of a page leads, as a path below `docs`. Null for another site or folder. */
export function targetOf(name: string, href: string): string | null {
  if (/^[a-z]+:|^#/i.test(href)) return null
  const target = posix.join(posix.dirname(name), href.replace(/#[^]*/, ''))
  return target.startsWith('..') ? null : target
}

/** A link of a page as browsers need it, without `.md`; null if the target is not served. */
export function linkFrom(name: string, href: string): string | null {
  if (/^[a-z]+:|^#/i.test(href)) return href
  const target = targetOf(name, href)
  if (target === null) return null
  const relative = posix.relative(posix.dirname(name), addressOf(target).replace(/\/$/, ''))
  const address = `${relative === '' ? '.' : relative}${/(^|\/)README\.md(#|$)/.test(href) ? '/' : ''}`
  return `${address}${/#[^]*/.exec(href)?.[0] ?? ''}`
}

const LINK = /(!?)\[([^\][]*)\]\(([^()\s]+)\)/g

/** The page as it is served in Markdown. Files outside of `docs` are not: links become text. */
export const sourceOf = (name: string): string =>
  textOf(name).replace(LINK, (whole, image: string, label: string, href: string) =>
    linkFrom(name, href) !== null ? whole : image === '' ? label : '',
  )

/** GitHub's anchor of a heading; the second heading of the same name ends in `-1`. */
export function anchorOf(heading: string, taken: Set<string>): string {
  const base = heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/g, '-')
  let anchor = base
  for (let n = 1; taken.has(anchor); n++) anchor = `${base}-${n}`
  taken.add(anchor)
  return anchor
}

/** Languages of code blocks that the highlighter knows by another name, or not at all. */
const LANGUAGES: Readonly<Record<string, string>> = { sh: 'bash', jsonl: 'json', vue: 'html', text: '', csv: '' }

function highlight(code: string, name: string): string {
  // Requests without their version, which the highlighter takes for plain text.
  if (name === 'http') return escapeHtml(code).replace(/^[A-Z]+/gm, '<span class="hljs-keyword">$&</span>')
  const language = LANGUAGES[name] ?? name
  return language === '' ? escapeHtml(code) : hljs.highlight(code, { language, ignoreIllegals: true }).value
}

/** Where the examples say that the service is: on this machine, and in public. */
const SERVICE = /http:\/\/127\.0\.0\.1:4000|https:\/\/comments\.example\.com/g

/**
 * Pages whose addresses begin with `BASE_URL`, wherever the page is opened: of services that are
 * yet to be started, and those that identity providers must know.
 */
const OF_BASE_URL = /^(operations|guides\/single-sign-on)\//

/** Marks the addresses of the service, for which the script of the page puts its own. */
const markService = (html: string, { name }: { name: string }): string =>
  OF_BASE_URL.test(name) ? html : html.replace(SERVICE, '<span data-service>$&</span>')

const markdown = new MarkdownIt()
markdown.renderer.rules.fence = (tokens, index, _options, page: { name: string }) => {
  const { content = '', info = '' } = tokens[index] ?? {}
  const code = highlight(content, info)
  // JSON shows what the service sends: its addresses begin with `BASE_URL`.
  return `<div class="code"><pre><code>${info === 'json' ? code : markService(code, page)}</code></pre></div>\n`
}
markdown.renderer.rules.code_inline = (tokens, index, _options, page: { name: string }) =>
  `<code>${markService(escapeHtml(tokens[index]?.content ?? ''), page)}</code>`
markdown.renderer.rules.table_open = () => '<div class="table"><table>\n'
markdown.renderer.rules.table_close = () => '</table></div>\n'

export interface Heading {
  level: number
  text: string
  anchor: string
}

/** A part of a page that a search finds: a heading and the text up to the next one. */
export interface Section extends Heading {
  text: string
  body: string
}

export interface Rendered {
  html: string
  sections: readonly Section[]
}

/** The tokens of a page, as the index of a folder is read by them. */
export const tokensOf = (name: string): Token[] => markdown.parse(textOf(name), {})

export function renderPage(name: string): Rendered {
  const tokens = tokensOf(name)
  const anchors = new Set<string>()
  const sections: Section[] = []
  tokens.forEach((token, index) => {
    const opener = tokens[index - 1]
    if (opener?.type === 'heading_open') {
      const text = (token.children ?? []).map(({ content }) => content).join('')
      const anchor = anchorOf(text, anchors)
      opener.attrSet('id', anchor)
      sections.push({ level: Number(opener.tag.slice(1)), text, anchor, body: '' })
      token.children = linksOf(name, token)
      if (opener.tag !== 'h1') token.children.push(linkTo(anchor))
      return
    }
    const section = sections.at(-1)
    if (section !== undefined) section.body += plainText(token, name.startsWith('reference/'))
    token.children = linksOf(name, token)
  })
  return { html: markdown.renderer.render(withoutEmpty(tokens), markdown.options, { name }), sections }
}

/** The mark beside a heading, for those who copy its address. */
function linkTo(anchor: string): Token {
  const [inline] = markdown.parseInline('', {})
  if (inline === undefined) throw new Error('markdown-it parses no inline text')
  const token = Object.assign(Object.create(Object.getPrototypeOf(inline) as object) as Token, inline)
  token.type = 'html_inline'
  token.content = `<a href="#${anchor}" class="anchor" aria-hidden="true" tabindex="-1">#</a>`
  return token
}

/** The words of a token, for the search. Examples of the reference would double the index. */
function plainText({ type, info, content, children }: Token, isReference: boolean): string {
  if (type === 'fence') return info === 'json' || (isReference && info === 'sh') ? '' : ` ${content}`
  if (type !== 'inline') return ''
  const words = (children ?? []).map(({ type: kind, content: text }) => {
    if (kind === 'image') return ''
    return kind === 'softbreak' || kind === 'hardbreak' ? ' ' : text
  })
  return ` ${words.join('')}`
}

/** Its children, whose links lead to pages. Images of files outside of `docs` are dropped. */
function linksOf(name: string, { children }: Token): Token[] {
  let isOutside = false
  return (children ?? []).flatMap((child) => {
    if (child.type === 'image') {
      const source = linkFrom(name, child.attrGet('src') ?? '')
      if (source !== null) child.attrSet('src', source)
      return source === null ? [] : [child]
    }
    if (child.type === 'link_open') {
      const target = linkFrom(name, child.attrGet('href') ?? '')
      isOutside = target === null
      if (target !== null) child.attrSet('href', target)
    }
    return isOutside && child.type.startsWith('link_') ? [] : [child]
  })
}

/** Drops elements that contained only images: paragraphs, and tables without a filled cell. */
function withoutEmpty(tokens: readonly Token[]): Token[] {
  const kept: Token[] = []
  for (const token of tokens) {
    kept.push(token)
    const opener = { paragraph_close: 'paragraph_open', table_close: 'table_open' }[token.type]
    if (opener === undefined) continue
    const begin = kept.findLastIndex(({ type }) => type === opener)
    const body = token.type === 'table_close' ? kept.findLastIndex(({ type }) => type === 'tbody_open') : begin
    if (kept.slice(body).every(({ type, children }) => type !== 'inline' || children?.length === 0)) kept.splice(begin)
  }
  return kept
}
