import type { HoldReason } from '../../generated/console.ts'

/** Why a comment is held or flagged, in a few words. */
export const HOLD_REASONS: Readonly<Record<HoldReason, string>> = {
  pre_moderation: 'every comment waits',
  suspect_word: 'has a suspect word',
  too_many_links: 'has many links',
  repeated_text: 'the same text within 24 hours',
  earlier_rejections: 'several rejected in a row',
  first_comments: 'one of their first comments',
  guest: 'a guest writes their first ones',
  held_reader: 'all of this reader wait',
  shadow_ban: 'banned in shadow',
  classifier: 'the classifier is unsure',
  reports: 'reported often',
  author_banned: 'withheld by a ban',
}
