/**
 * One text, or one for each plural form of the language; `{n}` is a number, `{name}` a name,
 * `{time}` a time.
 */
type Text = string | Partial<Record<Intl.LDMLPluralRule, string>>

const en = {
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
  retry: 'Try again',
  write: 'Write a comment',
  writeReply: 'Reply to {name}',
  post: 'Post',
  save: 'Save',
  cancel: 'Cancel',
  signIn: 'Sign in to comment',
  reply: 'Reply',
  edit: 'Edit',
  delete: 'Delete',
  confirmDelete: 'Delete this comment for good?',
  report: 'Report',
  reportWhy: 'What is wrong with this comment?',
  spam: 'Spam',
  abuse: 'Abuse',
  off_topic: 'Off topic',
  other: 'Something else',
  note: 'A note to the moderators (optional)',
  send: 'Send report',
  reported: 'Thank you. The moderators will see it.',
  react: 'React',
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
  awaiting: 'Awaiting moderation: only you can see this.',
  unpublished: 'This comment was not published: only you can see this.',
  posted: 'Your comment is published.',
  deleted: 'This comment was deleted.',
  withheld: 'This comment is not shown.',
  unfold: 'Show more',
  fold: 'Show less',
  locked: 'Comments are closed.',
  archived: 'This discussion is archived.',
  reader_banned: 'You cannot take part in discussions at present.',
  rate_limited: 'That was too fast. Try again {time}.',
  edit_window_closed: 'The time to edit it is over.',
  identity_required: 'You are signed out. Sign in and send it again: your text is kept.',
  already_reported: 'You have reported this comment.',
  banned_word: 'It has a word that is not allowed here.',
  blank: 'There is nothing to read in it.',
  too_long: 'That is too long.',
  too_deep: 'Replies cannot go any deeper.',
  not_found: 'This comment is gone.',
  unknown_page: 'There are no comments for this page.',
  error: 'That did not work. Your text is kept: try again in a moment.',
}

export type StringKey = keyof typeof en
export type Strings = Record<StringKey, Text>

const languages: Record<string, Strings> = { en }

const primaryOf = (lang: string): string => lang.toLowerCase().split('-')[0] ?? ''

/** Loads a language from its own file. If that fails, English stays. */
export async function loadStrings(lang: string): Promise<void> {
  if (primaryOf(lang) !== 'ar' || languages['ar']) return
  const shipped = await import('./ar.ts').catch(() => null)
  if (shipped) setStrings('ar', shipped.strings)
}

/**
 * Adds a language, or replaces some of its texts. Missing texts stay English. Widgets use it at
 * their next change.
 */
export const setStrings = (lang: string, strings: Partial<Strings>): void => {
  languages[lang] = { ...(languages[lang] ?? en), ...strings }
}

const DAY = 86_400
const UNITS = [
  ['day', DAY],
  ['hour', 3600],
  ['minute', 60],
] as const

/** Texts, numbers and times in the requested language if it has texts, else in English. */
export function wordsFor(lang: string, own: Partial<Strings> = {}) {
  const known = languages[lang] ?? languages[primaryOf(lang)]
  let locale = 'en'
  try {
    if (known) [locale = 'en'] = Intl.getCanonicalLocales(lang)
  } catch {
    // An invalid language tag.
  }
  const strings: Strings = { ...(known ?? en), ...own }
  const number = new Intl.NumberFormat(locale)
  const plural = new Intl.PluralRules(locale)
  const relative = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' })
  const date = new Intl.DateTimeFormat(locale, { dateStyle: 'medium' })
  return {
    lang: locale,
    dir: /^(ar|fa|he|ps|ur|yi)\b/.test(locale) ? 'rtl' : 'ltr',
    has: (key: string): key is StringKey => Object.hasOwn(strings, key),
    text: (key: StringKey, values: { n?: number; name?: string; time?: string } = {}): string => {
      const text = strings[key]
      const { n = 0 } = values
      const form = typeof text === 'string' ? text : (text[plural.select(n)] ?? text.other ?? '')
      const all: Record<string, string | number> = { ...values, n: number.format(n) }
      return form.replace(/\{(\w+)\}/g, (_, name: string) => String(all[name] ?? ''))
    },
    number: (n: number): string => number.format(n),
    inSeconds: (seconds: number): string => relative.format(seconds, 'second'),
    /** The time since then, to the minute; the date after a week. */
    ago: (iso: string): string => {
      const seconds = (Date.now() - Date.parse(iso)) / 1000
      if (seconds > 7 * DAY) return date.format(new Date(iso))
      const [unit, size] = UNITS.find(([, each]) => seconds >= each) ?? ['second', Infinity]
      return relative.format(-Math.floor(seconds / size) || 0, unit)
    },
    full: (iso: string): string => new Date(iso).toLocaleString(locale),
  }
}

export type Words = ReturnType<typeof wordsFor>
