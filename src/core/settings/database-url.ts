// As in libpq: `postgres://user:password@one:5432,two:5432/name?option=value`.
const MANY = /^(postgres(?:ql)?:\/\/(?:[^@/?]*@)?)([^/?]*)((?:\/[^,?]*)?(?:\?.*)?)$/

/** Values of `target_session_attrs` that the service fulfils anyway with several hosts. */
const ATTRIBUTES: ReadonlySet<string | null> = new Set(['read-write', 'primary', 'any', null])

/**
 * One URL for each host that a PostgreSQL URL names; null where the text is no such URL. The
 * service connects to the host that takes writes.
 */
export function databaseHosts(url: string): URL[] | null {
  const [, scheme = '', hosts = '', rest = ''] = MANY.exec(url) ?? []
  const urls = hosts.split(',').map((host) => `${scheme}${host.trim()}${rest}`)
  if (!urls.every((each) => URL.canParse(each))) return null
  return urls.every(asksForWrites) ? urls.map(withoutAttributes) : null
}

const ATTRIBUTE = 'target_session_attrs'

const asksForWrites = (url: string): boolean => ATTRIBUTES.has(new URL(url).searchParams.get(ATTRIBUTE))

function withoutAttributes(text: string): URL {
  const url = new URL(text)
  // Only where needed: a change of `searchParams` rewrites all options, perhaps in another
  // encoding.
  if (url.searchParams.has(ATTRIBUTE)) url.searchParams.delete(ATTRIBUTE)
  return url
}
