import { domainToUnicode } from 'node:url'

import MarkdownIt from 'markdown-it'

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"' }
const withoutEntities = (text: string): string =>
  text.replace(/&(amp|lt|gt|quot);/g, (_, name: string) => ENTITIES[name] ?? ' ')

/**
 * The readable text of a rendered comment. Inline markup leaves no gap in a word; paragraphs stay
 * separate.
 */
export const visibleText = (html: string): string => withoutEntities(html.replace(/<[^<>]*>/g, ''))

/**
 * Where the links of a rendered comment lead, and their titles, one a line, as a browser reads
 * them. In the Markdown an address may be written with escapes, and in the HTML as Punycode.
 */
export function linkText(html: string): string {
  const found = new Set<string>()
  for (const [, href = '', title] of html.matchAll(/<a href="([^"]*)"(?: title="([^"]*)")?/g)) {
    found.add(href)
    if (title !== undefined) found.add(title)
  }
  return [...found].map((text) => readAddress(withoutEntities(text))).join('\n')
}

/** Where the links of a rendered comment lead, in their order. */
export const addressesIn = (html: string): string[] =>
  Array.from(html.matchAll(/<a href="([^"]*)"/g), ([, href = '']) => withoutEntities(href))

// Unlike `decodeURIComponent`, it leaves bytes that are no text and goes on.
const { decode } = new MarkdownIt().utils.lib.mdurl

function readAddress(text: string): string {
  const decoded = text.includes('%') ? decode(text, '') : text
  return decoded.replace(/\bxn--[\w.-]+/gi, (host) => domainToUnicode(host) || host)
}
