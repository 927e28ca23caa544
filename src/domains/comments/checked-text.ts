import { z } from 'zod'

import { requireCaller } from '../../core/access.ts'
import { type Ctx, ofRequest } from '../../core/context.ts'
import { invalid } from '../../core/errors.ts'
import type { Id } from '../../core/ids.ts'
import { charactersIn } from '../../core/input/texts.ts'
import { validate } from '../../core/input/validate.ts'
import { bodySchema, MAX_BODY_LENGTH } from './fields.ts'
import { isBlank, renderMarkdown } from './text/markdown.ts'
import { type Judgement, judgeText } from './rules.ts'

/** The stored text of a comment, and the rules' judgement. */
export interface CheckedText {
  body: string
  bodyHtml: string
  judgement: Judgement
}

/**
 * Renders and judges a text that may name the readers `mentioned`. Call it after all cheaper
 * checks: it is the most work of a request. Throws `validation_failed` with `blank`, `banned_word`
 * or, if a document's mutations have too much text together, `too_long`.
 */
export function checkText(ctx: Ctx, body: string, mentioned: ReadonlySet<Id>): CheckedText {
  spendCharacters(ctx, charactersIn(body))
  const bodyHtml = renderMarkdown(body, mentioned)
  if (isBlank(bodyHtml)) throw invalid('/body', 'blank', 'must contain visible text')
  return { body, bodyHtml, judgement: judgeText(body, bodyHtml, requireCaller(ctx).tenant.settings) }
}

const previewSchema = z.object({ body: bodySchema })

/** A text as a comment would show it. */
export interface CommentPreview {
  bodyHtml: string
}

/**
 * Renders a text. Nothing is stored or judged, and mentions have no names. Throws
 * `validation_failed`, with `too_long` also as `checkText` does.
 */
export function previewText(ctx: Ctx, input: { body: string }): CommentPreview {
  const { body } = validate(previewSchema, input)
  spendCharacters(ctx, charactersIn(body))
  return { bodyHtml: renderMarkdown(body) }
}

const texts = ofRequest(() => ({ characters: 0 }))

/** All texts of a document together have as many characters as one comment may. */
function spendCharacters(ctx: Ctx, characters: number): void {
  const sent = texts(ctx)
  if (sent.characters + characters > MAX_BODY_LENGTH) {
    throw invalid(
      '/body',
      'too_long',
      `must have at most ${MAX_BODY_LENGTH} characters, counted over the whole request`,
    )
  }
  sent.characters += characters
}
