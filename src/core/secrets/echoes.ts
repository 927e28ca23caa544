const NAMES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#039;',
}

const json = (text: string): string => JSON.stringify(text).slice(1, -1)
const code = (character: string): string => character.charCodeAt(0).toString(16).padStart(4, '0')

/** How receivers write a value down when they answer with what they were sent. */
const WRITERS: readonly ((text: string) => string)[] = [
  (text) => text,
  json,
  // PHP
  (text) => json(text).replaceAll('/', '\\/'),
  // Go, Gson, .NET: they differ in what they escape, and in the case of the digits.
  (text) => json(text).replaceAll(/[<>&]/g, (each) => `\\u${code(each)}`),
  (text) => json(text).replaceAll(/[<>&='+]/g, (each) => `\\u${code(each)}`),
  (text) => json(text).replaceAll(/[<>&'=]/g, (each) => `\\u${code(each)}`),
  (text) => json(text).replaceAll(/[<>&'+]/g, (each) => `\\u${code(each).toUpperCase()}`),
  encodeURIComponent,
  (text) => text.replaceAll(/[&<>"']/g, (each) => NAMES[each] ?? each),
  (text) => text.replaceAll(/[&<>"']/g, (each) => (each === "'" ? '&#39;' : (NAMES[each] ?? each))),
]

/** The forms in which an answer may have `secret`, the longest first. A token has one alone. */
const formsOf = (secret: string): string[] =>
  /^[0-9A-Za-z_.-]*$/.test(secret)
    ? [secret]
    : [...new Set(WRITERS.map((write) => write(secret)))].toSorted((a, b) => b.length - a.length)

/** A text without `secret`, in any of the forms in which receivers write it down. */
export const withoutEchoes = (text: string, secret: string, mark: string): string =>
  formsOf(secret).reduce((left, form) => left.replaceAll(form, mark), text)
