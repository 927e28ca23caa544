import type { HistoryStrings } from './history.ts'
import type { Text, WritingStrings } from './writing.ts'

/**
 * What every reader may see. `writing.ts` adds what signed-in readers see,
 * `history.ts` what those see who ask for earlier texts.
 */
export const en = {
  title: 'Comments',
  comments: { one: '{n} comment', other: '{n} comments' } as Text,
  newComments: { one: '{n} new comment', other: '{n} new comments' } as Text,
  newReplies: { one: '{n} new reply', other: '{n} new replies' } as Text,
  showReplies: { one: 'Show {n} reply', other: 'Show {n} replies' } as Text,
  hideReplies: 'Hide replies',
  sort: 'Sort by',
  newest: 'Newest',
  oldest: 'Oldest',
  top: 'Top',
  more: 'More comments',
  moreReplies: 'More replies',
  empty: 'No comments yet.',
  failed: 'The comments cannot be loaded.',
  offline: 'You are offline.',
  retry: 'Try again',
  write: 'Write a comment',
  writeReply: 'Reply to {name}',
  signIn: 'Sign in to comment',
  reply: 'Reply',
  react: 'React',
  menu: 'More actions',
  like: 'Like',
  love: 'Love',
  laugh: 'Funny',
  wow: 'Wow',
  sad: 'Sad',
  angry: 'Angry',
  edited: 'edited',
  pinned: 'Pinned',
  you: 'You',
  anonymous: 'A reader',
  deleted: 'This comment was deleted.',
  withheld: 'This comment is not shown.',
  unfold: 'Show more',
  fold: 'Show less',
  locked: 'Comments are closed.',
  nobody_yet: 'Nobody can write here yet.',
  archived: 'This discussion is archived.',
  reader_banned: 'You cannot take part in discussions at present.',
  rate_limited: 'That was too fast. Try again {time}.',
  not_found: 'This comment is gone.',
  unknown_page: 'There are no comments for this page.',
  network: 'There is no connection. Try again in a moment.',
  error: 'That did not work. Try again.',
  unloaded: 'That did not load. Load the page again.',
}

export type Strings = Record<keyof typeof en | keyof WritingStrings | keyof HistoryStrings, Text>
export type StringKey = keyof Strings
