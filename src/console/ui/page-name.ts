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

/**
 * What a page is called: its title; without one its external id, of which an address is shortened
 * to what stands behind its host, for people to read.
 */
export function pageName({ title, externalId }: { title?: string | null; externalId: string }): string {
  if (title != null) return title
  const [, host, path = ''] = /^https?:\/\/([^/?#]+)(.*)$/is.exec(externalId) ?? []
  if (host === undefined) return externalId
  return path === '' || path === '/' ? host : decoded(path)
}
