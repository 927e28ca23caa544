import type { EventType } from './events.ts'

/** When an event is written. Shown in `docs/reference/events.md` and in GraphQL. */
export const EVENT_HELP: Readonly<Record<EventType, string>> = {
  comment_created: 'A comment was posted. `data.comment.status` says whether it waits for a moderator.',
  comment_edited:
    'The author has changed the text. If the actor is the system and there is no body, reports have hidden the comment.',
  comment_deleted: 'The author, a moderator or an erasure has deleted the comment.',
  comment_approved: "A moderator or the tenant's classifier has approved the comment.",
  comment_rejected: "A moderator or the tenant's classifier has rejected the comment.",
  comment_pinned: 'A moderator has pinned the comment.',
  comment_unpinned: 'A moderator has removed the pin.',
  reaction_toggled: 'A reader has set, changed or removed a reaction.',
  discussion_locked: 'The discussion takes no more comments of readers.',
  discussion_unlocked: 'The discussion takes comments of readers again.',
  discussion_archived: 'The discussion is archived, which is final.',
  notification_reply: "A reader's comment was answered. Only this reader's tickets and API keys get the event.",
}
