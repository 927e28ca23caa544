import { Parser } from 'htmlparser2'

import { LINKS, TAGS } from '../widget/nodes/tags.ts'
import { escaped } from './template.ts'

const VOID = /^(br|hr)$/
/** Their ends are ends of lines of the text. */
const BLOCKS = /^(blockquote|br|h[1-6]|hr|li|ol|p|pre|ul)$/

/**
 * A comment's `bodyHtml` as the widget draws it (`contentOf` of its views), and as plain text. The
 * service has sanitised it; this is the page's own line of defence: it writes tags of the allowed
 * kinds again, closes them, and takes over nothing but a link's address.
 */
export function contentOf(bodyHtml: string): { html: string; text: string } {
  let html = ''
  let text = ''
  /** How many elements of other kinds are open: nothing of them is taken over. */
  let refused = 0
  /** The elements that are open. */
  const open: string[] = []
  const parser = new Parser({
    onopentag(name, attributes) {
      open.push(name)
      if (!TAGS.test(name)) refused++
      else if (refused === 0) html += `<${nameOf(name)}${attributesOf(name, attributes)}>`
    },
    ontext(part) {
      if (refused > 0) return
      html += escaped(part)
      text += part
    },
    onclosetag(name) {
      // At the end of the text the parser also closes a tag that was never complete: `<b id=x`.
      if (open.at(-1) !== name) return
      open.pop()
      if (!TAGS.test(name)) refused--
      else if (refused === 0) {
        if (!VOID.test(name)) html += `</${nameOf(name)}>`
        if (BLOCKS.test(name)) text += '\n'
      }
    },
  })
  parser.end(bodyHtml)
  return { html, text: text.replace(/\n+/g, '\n').trim() }
}

/** Headings of a comment must not appear in the page's outline. */
const nameOf = (name: string): string => name.replace(/^h\d/, 'strong')

function attributesOf(name: string, { href = '', start = '1' }: Record<string, string>): string {
  if (name === 'ol') return ` start="${Math.trunc(Number(start)) || 0}"`
  // A mention: its name does not decide the direction of the text, even where it comes first.
  if (name === 'span') return ' dir="auto"'
  return name === 'a' && LINKS.test(href) ? ` href="${escaped(href)}" rel="nofollow ugc noopener"` : ''
}
