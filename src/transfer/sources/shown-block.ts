import type { Heading, Paragraph } from 'mdast'

import { renderMarkdown } from '../../domains/comments/text/markdown.ts'
import { visibleText } from '../../domains/comments/text/markdown-text.ts'
import { keepMarks, type Mark, phrasingOf, type TextRun } from './text-runs.ts'
import { writeMarkdown } from './write-markdown.ts'

/** Makes a paragraph or a heading of its text. */
type MakeBlock = (children: Paragraph['children']) => Paragraph | Heading

const isCode = (mark: Mark): boolean => mark === 'inlineCode'

/** Marks to keep where not all are recognised, one after the other. */
const FEWER: readonly ((marks: readonly Mark[]) => readonly Mark[])[] = [
  (marks) => marks.filter((mark, index) => index === 0 || isCode(mark)),
  (marks) => marks.filter((mark) => mark === 'strong' || isCode(mark)),
  (marks) => marks.filter(isCode),
]

/** The writer takes quadratic time: more runs are tried once, and then without marks. */
const MAX_RUNS = 300

/**
 * A block with as many marks as our renderer recognises. Marks that touch others may join them into
 * one row of `*`, which is read in another way: `*a***b*c***`.
 */
export function blockOf(runs: readonly TextRun[], make: MakeBlock): Paragraph | Heading {
  const whole = make(phrasingOf(runs))
  if (runs.every(({ marks }) => marks.length === 0)) return whole
  const text = spaceless(runs.map((run) => run.text).join(''))
  const isShown = (block: Paragraph | Heading): boolean =>
    spaceless(visibleText(renderMarkdown(writeMarkdown({ type: 'root', children: [block] })))) === text
  if (isShown(whole)) return whole
  for (const kept of runs.length > MAX_RUNS ? [] : FEWER) {
    const block = make(phrasingOf(keepMarks(runs, kept)))
    if (isShown(block)) return block
  }
  return make(phrasingOf(keepMarks(runs, () => [])))
}

const spaceless = (text: string): string => text.replace(/\s/g, '')
