import { withId } from './names-apart.ts'

/** Signs that nobody sees, of which some turn the text behind them around. */
const UNSEEN = /[\p{Cc}\p{Bidi_Control}]/u

/** `%C3%A9` as é; a text with broken signs, or with unseen ones, stays as it is. */
export function decoded(text: string, decode: (text: string) => string = decodeURI): string {
  try {
    const read = decode(text)
    return UNSEEN.test(read) ? text : read
  } catch {
    return text
  }
}

export interface Page {
  title?: string | null
  externalId: string
}

const ADDRESS = /^https?:\/\/([^/?#]+)(.*)$/is

/**
 * What a page is called: its title; without one its external id, of which an address is shortened
 * to what stands behind its host, for people to read.
 */
export function pageName({ title, externalId }: Page): string {
  if (title != null) return title
  const [, host, path = ''] = ADDRESS.exec(externalId) ?? []
  if (host === undefined) return externalId
  return path === '' || path === '/' ? host : decoded(path)
}

/**
 * The name of a page beside another one that `pageName` calls the same: a title has the external id
 * behind it, and an address is shown whole. Often only `http` and `https` tell two apart.
 */
export function pageNameApart(page: Page): string {
  const { title, externalId } = page
  if (title != null) return withId(title, page)
  return ADDRESS.test(externalId) ? decoded(externalId) : externalId
}
