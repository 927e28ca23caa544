import MarkdownIt from 'markdown-it'

import { MAX_BODY_LENGTH } from '../../domains/comments/fields.ts'
import { boundWork, TooMuchWork } from '../../domains/comments/text/markdown-bounds.ts'
import { htmlToMarkdown } from './html.ts'

/**
 * Converts another program's Markdown to ours. If it contains HTML, which ours shows as text, or if
 * its line breaks count (`breaks`), it is rendered as in that program, and converted back.
 */
export function fromMarkdown(body: string, { breaks = false } = {}): string {
  const differs = /<[a-z/!]/i.test(body) || (breaks && /\S[^\S\n]*\n[^\S\n]*\S/.test(body))
  if (!differs || body.length > MAX_LENGTH) return body
  try {
    return htmlToMarkdown(showSpaces((breaks ? withBreaks : withoutBreaks).render(hideSpaces(body))))
  } catch (error) {
    if (error instanceof TooMuchWork) return body
    throw error
  }
}

/** Longer text is too long for a comment, even if all characters are emoji. */
const MAX_LENGTH = 2 * MAX_BODY_LENGTH

/**
 * Spaces that markdown-it's pattern for tags takes both for space and for a part of a value, which
 * makes it try every combination: 30 of them take minutes.
 */
const SPACES =
  '\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff'
/** As many of Unicode's noncharacters, which stand for them while markdown-it works. */
const FIRST_STAND_IN = 0xfdd0

const hideSpaces = (text: string): string =>
  text.replace(/[^\S\t\n\v\f\r ]/g, (space) => String.fromCharCode(FIRST_STAND_IN + SPACES.indexOf(space)))

const showSpaces = (text: string): string =>
  text.replace(/[\ufdd0-\ufde2]/g, (standIn) => SPACES.charAt(standIn.charCodeAt(0) - FIRST_STAND_IN))

const withBreaks = rendererOf(true)
const withoutBreaks = rendererOf(false)

function rendererOf(breaks: boolean): MarkdownIt {
  const markdown = new MarkdownIt('commonmark', { html: true, breaks }).enable('strikethrough')
  boundWork(markdown)
  return markdown
}
