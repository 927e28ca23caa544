import { z } from 'zod'
import { wrong } from './schemas.ts'

/** `1 secret`, `2 secrets`. */
export const counted = (count: number | bigint, one: string, many = `${one}s`): string =>
  `${count} ${Number(count) === 1 ? one : many}`

/** `10 000`. */
export const grouped = (count: number): string => count.toLocaleString('en').replaceAll(',', ' ')

/** The length of a text in characters: code points, as PostgreSQL and JSON Schema count them. */
export const charactersIn = (text: string): number =>
  text.length - (text.match(/[\uD800-\uDBFF][\uDC00-\uDFFF]/g)?.length ?? 0)

/** Whether a text has at most this many characters. */
export const hasAtMost = (text: string, characters: number): boolean =>
  text.length <= characters || (text.length <= 2 * characters && charactersIn(text) <= characters)

/** Characters that leave no mark, for the inside of a class in a regular expression. */
export const UNSEEN = '\\s\\p{Cc}\\p{Cf}\\p{Default_Ignorable_Code_Point}\\u2800\\uFFFC'
const SEEN = new RegExp(`[^${UNSEEN}]`, 'u')

/** The text, or null if it shows nothing. */
export const shownOrNull = (text: string | null): string | null => (text !== null && SEEN.test(text) ? text : null)

/** Letters that a joiner or non-joiner between them gives other forms. */
const SCRIPTS =
  'Arabic Syriac Nko Mongolian Devanagari Bengali Gurmukhi Gujarati Oriya Tamil Telugu Kannada Malayalam Sinhala Khmer Myanmar'
const JOINED = `[${SCRIPTS.split(' ')
  .map((script) => `\\p{Script_Extensions=${script}}`)
  .join('')}]`
/** Invisible characters that shape others: in emoji, Chinese characters and some scripts. */
const SHAPING = [
  '(?<=[\\p{Extended_Pictographic}\\p{Emoji_Modifier}\\uFE0F])\\u200D(?=\\p{Extended_Pictographic})',
  '(?<=\\p{Extended_Pictographic})[\\uFE0E\\uFE0F]',
  '(?<=[0-9#*])[\\uFE0E\\uFE0F](?=\\u20E3)',
  '(?<=\\p{Script=Han})[\\uFE00-\\uFE02\\u{E0100}-\\u{E01EF}]',
  '(?<=\\p{Script=Mongolian})[\\u180B-\\u180D\\u180F]',
  `(?<=${JOINED})[\\u200C\\u200D](?=${JOINED})`,
  // Malayalam ends words so.
  '(?<=\\u0D4D)\\u200D',
].join('|')
/** A flag of tags, and what is not seen. */
const FLAG_OR_UNSEEN = new RegExp(
  `\\u{1F3F4}[\\u{E0020}-\\u{E007F}]+|(?!${SHAPING})[\\p{Cc}\\p{Cf}\\p{Default_Ignorable_Code_Point}\\u2800\\uFFFC]`,
  'gu',
)

/**
 * A name without characters that turn or hide others, on one line; null if nothing is left. Two
 * names that look the same would else be two texts.
 */
export function nameOrNull(text: string | null): string | null {
  if (text === null) return null
  const seen = text.replace(/\s/g, ' ').replace(FLAG_OR_UNSEEN, (part) => (part.startsWith('🏴') ? part : ''))
  // What is gone may have been what a kept character shapes.
  return seen === text ? shownOrNull(seen.trim()) : nameOrNull(seen)
}

/** At most `max` characters. Zod's own `max` counts UTF-16 units, of which an emoji has two. */
export const atMost = <S extends z.ZodType<string>>(max: number, schema: S): S =>
  schema
    .refine((text) => hasAtMost(text, max), wrong('too_long', `must have at most ${counted(max, 'character')}`))
    .meta({ maxLength: max })

/**
 * A Markdown text without white space at its end and blank lines at its beginning. The first line
 * keeps its indent where Markdown reads it: of four columns or more it makes code, and beside
 * further lines it says how lists are nested.
 */
export function trimMarkdown(text: string): string {
  const trimmed = text.trim()
  const blank = text.slice(0, text.length - text.trimStart().length)
  const indent = blank.slice(Math.max(blank.lastIndexOf('\n'), blank.lastIndexOf('\r')) + 1)
  const isRead = /[\n\r\t]/.test(trimmed) || /\t| {4}/.test(indent)
  return isRead && trimmed !== '' && /^[ \t]*$/.test(indent) ? indent + trimmed : trimmed
}

/** Refuses NUL, which PostgreSQL cannot store, and lone surrogates, which are not valid text. */
export const noNul = (schema: z.ZodString) =>
  schema
    .refine((text) => !text.includes('\0'), wrong('invalid_character', 'must not contain NUL'))
    .refine((text) => text.isWellFormed(), wrong('invalid_character', 'must be well-formed Unicode'))

/** The tenant's own id of a page. */
export const externalIdSchema = noNul(atMost(512, z.string().min(1)))

/** The tenant's own id of a reader: the claim `sub` of an assertion. */
export const readerIdSchema = noNul(atMost(255, z.string().min(1)))

/**
 * Whether the URL parser would drop or replace nothing silently: so the stored text is the checked
 * one.
 */
export const isCleanUrl = (text: string): boolean => !/[\s\p{Cc}\p{Surrogate}]/u.test(text)

/**
 * Whether a URL names its host as it is written. The URL parser also takes `https:///host`,
 * `https:host` and `https://host\\@other`, in which other programs read another host.
 */
export const namesHost = (url: string): boolean => /^[a-z][a-z\d+.-]*:\/\/[^/\\?#]+([/?#]|$)/i.test(url)

/** An absolute http or https address of at most 2 048 characters. */
export const webUrl = atMost(2048, z.string()).refine(
  (text) => isCleanUrl(text) && namesHost(text) && URL.canParse(text) && /^https?:$/.test(new URL(text).protocol),
  wrong('invalid_url', 'must be an http or https URL'),
)
