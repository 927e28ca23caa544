import { now } from './backend.ts'
import { en, type StringKey, type Strings } from './strings/strings.ts'

/** The languages that have a file of their own. */
const FILES: Record<string, () => Promise<{ strings: Strings }>> = {
  ar: () => import('./languages/ar.ts'),
  de: () => import('./languages/de.ts'),
  es: () => import('./languages/es.ts'),
  fr: () => import('./languages/fr.ts'),
  it: () => import('./languages/it.ts'),
  ja: () => import('./languages/ja.ts'),
  nl: () => import('./languages/nl.ts'),
  pl: () => import('./languages/pl.ts'),
  pt: () => import('./languages/pt.ts'),
}

/** Of those files, by primary language. */
const shipped: Record<string, Strings | undefined> = {}
/** Of the page, by language, which may have a region. */
const languages: Record<string, Partial<Strings>> = {}

const primaryOf = (lang: string): string => lang.toLowerCase().split('-')[0] ?? ''

/** Loads a language from its own file. If that fails, English stays. */
export async function loadStrings(lang: string): Promise<void> {
  const primary = primaryOf(lang)
  shipped[primary] ??= (await FILES[primary]?.().catch(() => null))?.strings
}

/**
 * Adds a language, or replaces some of its texts, also of a region alone. Missing texts are those
 * of the widget in that language, else English. Widgets use it at their next change.
 */
export const setStrings = (lang: string, strings: Partial<Strings>): void => {
  languages[lang] = { ...languages[lang], ...strings }
}

const DAY = 86_400
const UNITS = [
  ['day', DAY],
  ['hour', 3600],
  ['minute', 60],
] as const

/** Texts, numbers and times in the requested language if it has texts, else in English. */
export function wordsFor(lang: string, own: Partial<Strings> = {}) {
  const primary = primaryOf(lang)
  const known = { ...shipped[primary], ...languages[primary], ...languages[lang] }
  let locale = 'en'
  try {
    if (primary === 'en' || shipped[primary] || languages[primary] || languages[lang])
      [locale = 'en'] = Intl.getCanonicalLocales(lang)
  } catch {
    // An invalid language tag.
  }
  const strings = { ...en, ...known, ...own } as Strings
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
    inSeconds: (seconds: number): string => {
      const [unit, size] = UNITS.find(([, each]) => seconds >= 2 * each) ?? ['second', 1]
      return relative.format(Math.ceil(seconds / size), unit)
    },
    /** The time since then, to the minute; the date after a week. */
    ago: (iso: string): string => {
      const seconds = (now() - Date.parse(iso)) / 1000
      if (seconds > 7 * DAY) return date.format(new Date(iso))
      const [unit, size] = UNITS.find(([, each]) => seconds >= each) ?? ['second', Infinity]
      return relative.format(-Math.floor(seconds / size) || 0, unit)
    },
    full: (iso: string): string => new Date(iso).toLocaleString(locale),
  }
}

export type Words = ReturnType<typeof wordsFor>
