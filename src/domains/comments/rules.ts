import { invalid } from '../../core/errors.ts'
import type { TenantSettings } from '../../core/settings/tenant.ts'
import { digestOf, normalizeText } from './text/normalize.ts'
import { countLinks } from './text/markdown.ts'
import { linkText, visibleText } from './text/markdown-text.ts'
import { SearchedText, wordFilter } from './text/words.ts'

/** Why a comment waits for a moderator, or was flagged. */
export const HOLD_REASONS = [
  'pre_moderation',
  'suspect_word',
  'too_many_links',
  'repeated_text',
  'first_comments',
  'shadow_ban',
  'classifier',
  'reports',
] as const

export type HoldReason = (typeof HOLD_REASONS)[number]

/** A text to judge, as written and as shown, with the addresses of its links. */
export interface JudgedText {
  readonly body: string
  readonly bodyHtml: string
  /**
   * All forms: a word with markup inside is found only as shown, one in an escaped address only in
   * what a browser makes of it.
   */
  readonly searched: () => SearchedText
}

/** A condition on the author's history for a verdict to count: only the database can decide it. */
interface AuthorCondition {
  /** One of the author's latest comments has the same text. */
  repeats?: true
  /** The author has fewer approved comments. */
  approvedBelow?: number
}

type RuleOutcome =
  | { refuse: string; message: string }
  | { hold: HoldReason }
  | { hold: HoldReason; where: Readonly<AuthorCondition> }

type Rule = (text: JudgedText, settings: TenantSettings) => RuleOutcome | null

// The answer names neither the word nor the list, which would teach how to get around them.
const refuseBannedWords: Rule = (text, { bannedWords }) =>
  hasWord(text, bannedWords) ? { refuse: 'banned_word', message: 'has a word that is not allowed here' } : null

const holdSuspectWords: Rule = (text, { suspectWords }) =>
  hasWord(text, suspectWords) ? { hold: 'suspect_word' } : null

const holdManyLinks: Rule = ({ body, bodyHtml }, { maxLinks }) =>
  countLinks(body, bodyHtml) > maxLinks ? { hold: 'too_many_links' } : null

const holdRepeatedText: Rule = () => ({ hold: 'repeated_text', where: { repeats: true } })

const holdFirstComments: Rule = (_text, { holdFirstComments: approvedBelow }) =>
  approvedBelow > 0 ? { hold: 'first_comments', where: { approvedBelow } } : null

const holdUnderPreModeration: Rule = (_text, { moderationMode }) =>
  moderationMode === 'pre' ? { hold: 'pre_moderation' } : null

/**
 * The first verdict that counts wins. Then follows the author's ban: an open one refuses, one in
 * shadow holds. Last comes the tenant's classifier, if nothing has held the comment.
 */
const RULES: readonly Rule[] = [
  refuseBannedWords,
  holdSuspectWords,
  holdManyLinks,
  holdRepeatedText,
  holdFirstComments,
  holdUnderPreModeration,
]

/** The rules' verdicts on a text, before the author's history is known. */
export interface Judgement {
  /** If the author repeats this text, the reason is `repeated_text`. */
  repeats: boolean
  /** Else, if the author has fewer approved comments: `first_comments`. */
  approvedBelow: number
  /** Else this reason; null for none. */
  reason: HoldReason | null
  /** For finding repetitions; null for a text that is too short. */
  textDigest: string | null
}

/** Judges a text by the tenant's rules. Throws `validation_failed` with `banned_word`. */
export function judgeText(body: string, bodyHtml: string, settings: TenantSettings): Judgement {
  const normalized = normalizeText(body)
  const text = textOf(body, bodyHtml, normalized)
  const textDigest = digestOf(normalized)
  const asked: Required<{ repeats: boolean; approvedBelow: number }> = { repeats: false, approvedBelow: 0 }
  for (const rule of RULES) {
    const verdict = rule(text, settings)
    if (verdict === null) continue
    if ('refuse' in verdict) throw invalid('/body', verdict.refuse, verdict.message)
    if (!('where' in verdict)) return { ...asked, reason: verdict.hold, textDigest }
    Object.assign(asked, verdict.where)
  }
  return { ...asked, reason: null, textDigest }
}

/** The author's history. */
export interface AuthorHistory {
  repeats: boolean
  approvedCount: number
}

/** The verdict once the author's history is known. CREATE (create-sql.ts) says the same in SQL. */
export function holdReasonOf({ repeats, approvedBelow, reason }: Judgement, history: AuthorHistory): HoldReason | null {
  if (repeats && history.repeats) return 'repeated_text'
  return history.approvedCount < approvedBelow ? 'first_comments' : reason
}

/** How a tenant handles verdicts. */
export interface HoldPolicy {
  /** With `post`, a comment held by a rule is published, and queued for moderators. */
  flags: boolean
  /** Whether the classifier is asked about comments that nothing has held. */
  asks: boolean
}

export const holdPolicy = ({ moderationMode, classifier }: TenantSettings): HoldPolicy => ({
  flags: moderationMode === 'post',
  asks: classifier !== null && classifier.url !== null,
})

/** The outcome for a comment. */
export interface Decision {
  status: 'approved' | 'pending'
  holdReason: HoldReason | null
  flagged: boolean
  /** Whether to ask the classifier. */
  asks: boolean
}

/** The comment's state for a verdict. CREATE (create-sql.ts) decides the same in SQL. */
export function decide(reason: HoldReason | null, isShadowBanned: boolean, policy: HoldPolicy): Decision {
  if (isShadowBanned) {
    // What would be public but for the ban is so to its author (`inShadow`).
    const holdReason = reason === null || policy.flags ? 'shadow_ban' : reason
    return { status: 'pending', holdReason, flagged: false, asks: false }
  }
  if (reason !== null && !policy.flags) return { status: 'pending', holdReason: reason, flagged: false, asks: false }
  const flagged = reason !== null
  if (policy.asks) return { status: 'pending', holdReason: reason ?? 'classifier', flagged, asks: true }
  return { status: 'approved', holdReason: reason, flagged, asks: false }
}

function textOf(body: string, bodyHtml: string, normalized: string): JudgedText {
  let searched: SearchedText | undefined
  return { body, bodyHtml, searched: () => (searched ??= searchedText(body, bodyHtml, normalized)) }
}

/** A comment as word lists search it. */
export const searchedText = (body: string, bodyHtml: string, normalized?: string): SearchedText =>
  new SearchedText([body, visibleText(bodyHtml).trim(), linkText(bodyHtml)], normalized)

const hasWord = (text: JudgedText, entries: readonly string[]): boolean =>
  entries.length > 0 && wordFilter(entries).matches(text.searched())
