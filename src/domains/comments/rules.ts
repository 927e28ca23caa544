import { invalid } from '../../core/errors.ts'
import type { ModerationMode, TenantSettings } from '../../core/settings/tenant.ts'
import { isGuestId } from '../readers/guest-ids.ts'
import type { ReaderTrust } from '../../generated/prisma/enums.ts'
import { type HoldDetail, linkDetails, wordDetails } from './hold-details.ts'
import { digestOf, normalizeBody } from './text/normalize.ts'
import { countLinks } from './text/markdown.ts'
import { linkText, visibleText } from './text/markdown-text.ts'
import { withoutMentions } from './text/mentions.ts'
import { SearchedText, wordFilter } from './text/words.ts'

/** Why a comment waits for a moderator, or was flagged. */
export const HOLD_REASONS = [
  'pre_moderation',
  'suspect_word',
  'too_many_links',
  'repeated_text',
  'earlier_rejections',
  'first_comments',
  'guest',
  'held_reader',
  'shadow_ban',
  'classifier',
  'reports',
  'author_banned',
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
  /** As many of the author's latest comments that moderators have judged were all rejected. */
  rejections?: number
  /** The author has fewer approved comments. */
  approvedBelow?: number
}

type RuleOutcome =
  | { refuse: string; message: string }
  | { hold: HoldReason }
  | { hold: HoldReason; where: Readonly<AuthorCondition> }

type Rule = (text: JudgedText, settings: RuleSettings) => RuleOutcome | null

// The answer names neither the word nor the list, which would teach how to get around them.
const refuseBannedWords: Rule = (text, { bannedWords }) =>
  hasWord(text, bannedWords) ? { refuse: 'banned_word', message: 'has a word that is not allowed here' } : null

const holdSuspectWords: Rule = (text, { suspectWords }) =>
  hasWord(text, suspectWords) ? { hold: 'suspect_word' } : null

const holdManyLinks: Rule = ({ body, bodyHtml }, { maxLinks }) =>
  countLinks(body, bodyHtml) > maxLinks ? { hold: 'too_many_links' } : null

const holdOwnRepetition: Rule = () => ({ hold: 'repeated_text', where: { repeats: true } })

const holdAfterRejections: Rule = (_text, { holdAfterRejections: rejections }) =>
  rejections > 0 ? { hold: 'earlier_rejections', where: { rejections } } : null

const holdFirstComments: Rule = (_text, { holdFirstComments: approvedBelow }) =>
  approvedBelow > 0 ? { hold: 'first_comments', where: { approvedBelow } } : null

const holdUnderPreModeration: Rule = (_text, { moderationMode }) =>
  moderationMode === 'pre' ? { hold: 'pre_moderation' } : null

/**
 * The first verdict that counts wins, unless the trust in the author decides. Then follows their
 * ban: an open one refuses, one in shadow holds. Last comes the tenant's classifier, if nothing has
 * held the comment.
 */
const RULES: readonly Rule[] = [
  refuseBannedWords,
  holdSuspectWords,
  holdManyLinks,
  holdOwnRepetition,
  holdAfterRejections,
  holdFirstComments,
  holdUnderPreModeration,
]

/** The rules' verdicts on a text, before the author's history is known. */
export interface Judgement {
  /** If the author repeats this text, the reason is `repeated_text`. */
  repeats: boolean
  /**
   * Else, if that many of the author's latest judged comments were all rejected:
   * `earlier_rejections`. 0: the rule is off.
   */
  rejections: number
  /** Else, if the author has fewer approved comments: `first_comments`. */
  approvedBelow: number
  /** Else this reason; null for none. */
  reason: HoldReason | null
  /** What the rule of this reason has found; null for rules that look for nothing in the text. */
  details: HoldDetail[] | null
  /** For finding repetitions; null for a text that is too short. */
  textDigest: string | null
}

type AskedOfAuthor = Pick<Judgement, 'repeats' | 'rejections' | 'approvedBelow'>

const NOTHING_ASKED = (): AskedOfAuthor => ({ repeats: false, rejections: 0, approvedBelow: 0 })

/** Whether a rule holds a text for what it has found in it. */
export const isHeldForText = ({ reason }: Pick<Judgement, 'reason'>): boolean =>
  reason !== null && reason !== 'pre_moderation'

/** The settings that the rules read. */
export type RuleSettings = Pick<
  TenantSettings,
  'bannedWords' | 'suspectWords' | 'maxLinks' | 'holdAfterRejections' | 'holdFirstComments' | 'moderationMode'
>

/** What the rules say of a text alone. */
export interface Verdict extends Omit<Judgement, 'textDigest' | 'details'> {
  /** What they have found, and where. */
  details: HoldDetail[]
  /** Whether they refuse it. */
  isRefused: boolean
}

/** What `judgeText` decides, in words and without an author: for trying settings. */
export function explainText(body: string, bodyHtml: string, settings: RuleSettings): Verdict {
  const text = textOf(body, bodyHtml, normalizeBody(body))
  const asked = NOTHING_ASKED()
  for (const rule of RULES) {
    const verdict = rule(text, settings)
    if (verdict === null) continue
    if ('refuse' in verdict) {
      return { ...asked, reason: null, isRefused: true, details: detailsOf('banned_word', text, settings) }
    }
    if (!('where' in verdict)) {
      return { ...asked, reason: verdict.hold, isRefused: false, details: detailsOf(verdict.hold, text, settings) }
    }
    Object.assign(asked, verdict.where)
  }
  return { ...asked, reason: null, isRefused: false, details: [] }
}

function detailsOf(
  rule: HoldReason | 'banned_word',
  { body, bodyHtml, searched }: JudgedText,
  { bannedWords, suspectWords }: RuleSettings,
): HoldDetail[] {
  if (rule === 'too_many_links') return linkDetails(body, bodyHtml)
  if (rule !== 'banned_word' && rule !== 'suspect_word') return []
  const entries = rule === 'banned_word' ? bannedWords : suspectWords
  return wordDetails(rule, entries, withoutMentions(body), wordFilter(entries).entriesIn(searched()))
}

/** Judges a text by the tenant's rules. Throws `validation_failed` with `banned_word`. */
export function judgeText(body: string, bodyHtml: string, settings: TenantSettings): Judgement {
  const normalized = normalizeBody(body)
  const text = textOf(body, bodyHtml, normalized)
  const textDigest = digestOf(normalized)
  const asked = NOTHING_ASKED()
  for (const rule of RULES) {
    const verdict = rule(text, settings)
    if (verdict === null) continue
    if ('refuse' in verdict) throw invalid('/body', verdict.refuse, verdict.message)
    if (!('where' in verdict)) {
      const details = detailsOf(verdict.hold, text, settings)
      return { ...asked, reason: verdict.hold, details: details.length === 0 ? null : details, textDigest }
    }
    Object.assign(asked, verdict.where)
  }
  return { ...asked, reason: null, details: null, textDigest }
}

/** The author's history. */
export interface AuthorHistory {
  repeats: boolean
  isRejected: boolean
  approvedCount: number
}

/** The verdict once the author's history is known. CREATE (create-sql.ts) says the same in SQL. */
export function holdReasonOf(
  { repeats, rejections, approvedBelow, reason }: Judgement,
  history: AuthorHistory,
): HoldReason | null {
  if (repeats && history.repeats) return 'repeated_text'
  if (rejections > 0 && history.isRejected) return 'earlier_rejections'
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

/**
 * A judgement under a discussion's own moderation mode; null for the tenant's. CREATE
 * (create-sql.ts) decides so in SQL.
 */
export function underMode(mode: ModerationMode | null, judged: Judgement & HoldPolicy): Judgement & HoldPolicy {
  if (mode === null) return judged
  const reason = judged.reason === 'pre_moderation' ? null : judged.reason
  return { ...judged, reason: mode === 'pre' ? (reason ?? 'pre_moderation') : reason, flags: mode === 'post' }
}

/**
 * A judgement by the trust in the author. CREATE (create-sql.ts) decides so in SQL. Banned words
 * refuse a text before this, and a ban counts after it (`decide`).
 */
export function underTrust(trust: ReaderTrust, judged: Judgement & HoldPolicy): Judgement & HoldPolicy {
  if (trust === 'normal') return judged
  const noRules = { ...judged, ...NOTHING_ASKED(), asks: false }
  return trust === 'hold' ? { ...noRules, reason: 'held_reader', flags: false } : { ...noRules, reason: null }
}

/** How many comments of an author must be approved before any appears: 0 but for guests. */
export const guestBelowOf = (externalId: string, { guests }: Pick<TenantSettings, 'guests'>): number =>
  isGuestId(externalId) ? guests.hold : 0

/** What the rules make of a comment. */
export interface Ruling {
  status: 'approved' | 'pending'
  holdReason: HoldReason | null
  flagged: boolean
  /** Whether to ask the classifier. */
  asks: boolean
}

/** The comment's state for a verdict. CREATE (create-sql.ts) decides the same in SQL. */
export function decide(reason: HoldReason | null, isShadowBanned: boolean, policy: HoldPolicy): Ruling {
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
  new SearchedText([withoutMentions(body), visibleText(bodyHtml).trim(), linkText(bodyHtml)], normalized)

const hasWord = (text: JudgedText, entries: readonly string[]): boolean =>
  entries.length > 0 && wordFilter(entries).matches(text.searched())
