// As in libpq: `postgres://user:password@one:5432,two:5432/name?option=value`.
const MANY = /^(postgres(?:ql)?:\/\/(?:[^@/?]*@)?)([^/?]*)((?:\/[^,?]*)?(?:\?.*)?)$/

/** What libpq may be asked for of several hosts, and is what the service asks for anyway. */
const ATTRIBUTES: ReadonlySet<string | null> = new Set(['read-write', 'primary', 'any', null])

/**
 * One URL for each host that a URL of PostgreSQL names; null where it is none. The service goes to
 * the one that takes writes.
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
  // To change the options writes them all anew, and maybe otherwise.
  if (url.searchParams.has(ATTRIBUTE)) url.searchParams.delete(ATTRIBUTE)
  return url
}
