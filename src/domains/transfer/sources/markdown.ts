import MarkdownIt from 'markdown-it'

import { boundWork, TooMuchWork } from '../../comments/markdown-bounds.ts'
import { htmlToMarkdown } from './html.ts'

/**
 * Converts another program's Markdown to ours. If it contains HTML, which ours shows as text, or if
 * its line breaks count (`breaks`), it is rendered as in that program, and converted back.
 */
export function fromMarkdown(body: string, { breaks = false } = {}): string {
  const differs = /<[a-z/!]/i.test(body) || (breaks && /\S[^\n]*\n[^\n]*\S/.test(body))
  if (!differs) return body
  try {
    return htmlToMarkdown((breaks ? withBreaks : withoutBreaks).render(body))
  } catch (error) {
    if (error instanceof TooMuchWork) return body
    throw error
  }
}

const withBreaks = rendererOf(true)
const withoutBreaks = rendererOf(false)

function rendererOf(breaks: boolean): MarkdownIt {
  const markdown = new MarkdownIt('commonmark', { html: true, breaks }).enable('strikethrough')
  boundWork(markdown)
  return markdown
}
