import { Badge } from '@mantine/core'

import type { CommentStatus, HoldReason } from '../../generated/console.ts'

/** The state of a comment. A waiting one stands out. */
export const CommentStatusBadge = ({ status }: { status: CommentStatus }) =>
  status === 'pending' ? <Badge variant="filled">{status}</Badge> : <Badge>{status}</Badge>

/** Why a comment is held or flagged, in a few words. */
export const HOLD_REASONS: Readonly<Record<HoldReason, string>> = {
  pre_moderation: 'every comment waits',
  suspect_word: 'has a suspect word',
  too_many_links: 'has many links',
  repeated_text: 'the same text within 24 hours',
  first_comments: 'one of their first comments',
  shadow_ban: 'banned in shadow',
  classifier: 'the classifier is unsure',
  reports: 'reported often',
}
