/**
 * One text, or one for each plural form of the language; `{n}` is a number, `{name}` a name,
 * `{time}` a time.
 */
export type Text = string | Partial<Record<Intl.LDMLPluralRule, string>>

/** What signed-in readers see beside the texts of every reader. */
export const strings = {
  post: 'Post',
  save: 'Save',
  cancel: 'Cancel',
  edit: 'Edit',
  delete: 'Delete',
  report: 'Report',
  confirmDelete: 'Delete this comment for good?',
  reportWhy: 'What is wrong with this comment?',
  spam: 'Spam',
  abuse: 'Abuse',
  off_topic: 'Off topic',
  illegal: 'Against the law',
  other: 'Something else',
  note: 'A note to the moderators (optional)',
  send: 'Send report',
  reported: 'Thank you. The moderators will see it.',
  awaiting: 'Awaiting moderation: only you can see this.',
  unpublished: 'This comment was not published: only you can see this.',
  reason: 'Reason: {name}.',
  muted: 'You have muted this reader.',
  mute: 'Mute {name}',
  unmute: 'Unmute',
  show: 'Show',
  posted: 'Your comment is published.',
  identity_required: 'You are signed out. Sign in and try again.',
  kept: 'Your text is kept.',
  away: 'The service does not answer.',
  waits: 'Your text is kept, and sent as soon as there is a connection.',
  slow_mode: 'Try again {time}.',
  edit_window_closed: 'The time to edit it is over.',
  already_reported: 'You have reported this comment.',
  banned_word: 'It has a word that is not allowed here.',
  blank: 'It has no text.',
  changed: 'It was changed elsewhere meanwhile. Save puts your text in the place of this one:',
  too_long: 'It is too long.',
  tooLong: { one: '{n} character too many.', other: '{n} characters too many.' } as Text,
  too_deep: 'Replies cannot go deeper.',
  // The inbox.
  inbox: 'Notifications',
  unread: { one: 'Notifications: {n} unread', other: 'Notifications: {n} unread' } as Text,
  isUnread: 'Unread:',
  repliedToYou: '{name} replied to you',
  mentionedYou: '{name} mentioned you',
  approvedYours: 'Your comment was published',
  rejectedYours: 'Your comment was not published',
  allRead: 'Mark all as read',
  noNotifications: 'No notifications.',
  moreNotifications: 'More notifications',
  notifyMe: 'Notify me of',
  replyToMe: 'replies to my comments',
  mentionOfMe: 'comments that mention me',
  decisionOnMine: 'decisions on my comments',
  // Mentions.
  mentionable: 'Readers to mention',
  found: {
    one: '{n} reader found. Choose with the arrow keys.',
    other: '{n} readers found. Choose with the arrow keys.',
  } as Text,
}

export type WritingStrings = typeof strings
