import type MarkdownIt from 'markdown-it'

import { type Id, inLowerCase } from '../../../core/ids.ts'

/** The most readers that one comment names. */
export const MAX_MENTIONS = 10

const ID = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}'
const BEGIN = '[@](reader:'
const ID_LENGTH = 36
const WRITTEN = /\[@\]\(reader:([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\)/g
const ANY_CASE = /(\[@\]\(reader:)([0-9A-Fa-f-]{36})(\))/g
const RENDERED =
  /<span class="mention" data-reader="([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})">@<\/span>/g

/** What the renderer of a text gets beside it. */
export interface RenderEnv {
  mentioned: ReadonlySet<Id>
}

/** The tags of mentions, for the list of those that may be in the HTML of a comment. */
export const MENTION_TAGS = [`span class="mention" data-reader="${ID}"`, '/span'] as const

/** Renders `[@](reader:<id>)` without a name; of ids that are no mentions it stays text. */
export function renderMentions(md: MarkdownIt): void {
  md.inline.ruler.before('link', 'mention', (state, silent) => {
    const { src, pos, posMax } = state
    if (!src.startsWith(BEGIN, pos)) return false
    const end = pos + BEGIN.length + ID_LENGTH
    const id = src.slice(pos + BEGIN.length, end)
    if (src[end] !== ')' || end >= posMax || !(state.env as RenderEnv).mentioned.has(id)) return false
    if (!silent) state.push('mention', '', 0).content = id
    state.pos = end + 1
    return true
  })
  md.renderer.rules['mention'] = (tokens, index) =>
    `<span class="mention" data-reader="${tokens[index]?.content ?? ''}">@</span>`
}

/** Whether a text may have mentions. Most have none, and cost no more than this. */
const mayMention = (body: string): boolean => body.includes(BEGIN)

/** The text with the ids of its mentions in lower case, as all that reads it expects them. */
export const withLowerCaseIds = (body: string): string =>
  mayMention(body)
    ? body.replace(ANY_CASE, (_, begin: string, id: string, end: string) => begin + inLowerCase(id) + end)
    : body

/** The first readers whom a text names, as it is written. */
export function writtenMentions(body: string): readonly Id[] {
  if (!mayMention(body)) return []
  const ids = Array.from(body.matchAll(WRITTEN), ([, id = '']) => id)
  return [...new Set(ids)].slice(0, MAX_MENTIONS)
}

/** The text with spaces in place of its mentions: their ids are no words, and all places stay. */
export const withoutMentions = (body: string): string =>
  mayMention(body) ? body.replace(WRITTEN, (written) => ' '.repeat(written.length)) : body

const OPEN = '<span class="mention"'

/** Whether a rendered comment has mentions. A `<` of its text is escaped. */
export const hasMentions = (html: string | null): html is string => html?.includes(OPEN) === true

/** The readers whom a rendered comment names. */
export const mentionsIn = (html: string | null): readonly Id[] =>
  hasMentions(html) ? [...new Set(Array.from(html.matchAll(RENDERED), ([, id = '']) => id))] : []

/** Replaces each mention of a rendered comment. */
export const replaceMentions = (html: string, replace: (written: string, id: Id) => string): string =>
  html.replace(RENDERED, replace)
