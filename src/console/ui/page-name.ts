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
 * The name of a page beside another one that `pageName` calls the same: the path of an address has
 * its host in front, a title the external id behind it.
 */
export function pageNameApart(page: Page): string {
  const name = pageName(page)
  if (name === page.externalId) return name
  const [, host, path = ''] = ADDRESS.exec(page.externalId) ?? []
  return page.title == null && host !== undefined ? host + decoded(path) : withId(name, page)
}
