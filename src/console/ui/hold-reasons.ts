import type { HoldReason } from '../../generated/console.ts'

/** Why a comment is held or flagged, in a few words. */
export const HOLD_REASONS: Readonly<Record<HoldReason, string>> = {
  pre_moderation: 'every comment waits',
  suspect_word: 'has a suspect word',
  too_many_links: 'has many links',
  repeated_text: 'the same text within 24 hours',
  earlier_rejections: 'several comments rejected in a row',
  first_comments: 'one of their first comments',
  guest: 'one of the first comments of a guest',
  held_reader: 'all comments of this reader wait',
  shadow_ban: 'banned in shadow',
  classifier: 'the classifier is unsure',
  reports: 'reported often',
  author_banned: 'withheld by a ban',
}
