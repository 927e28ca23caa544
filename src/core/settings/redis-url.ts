/** Sentinels, and the name of the Redis primary that they watch. */
export interface Sentinels {
  hosts: { host: string; port: number }[]
  /** The name of the primary. */
  name: string
  username?: string
  password?: string
  sentinelPassword?: string
  db: number
  isTls: boolean
}

const SENTINEL_PORT = 26_379

const SENTINEL = /^redis(s?)\+sentinel:\/\//

/** Whether a text is a Sentinel URL, whose commas separate hosts, not URLs. */
export const meansSentinels = (text: string): boolean => SENTINEL.test(text)

/**
 * Parses `redis+sentinel://user:password@one:26379,two/name/db?sentinel_password=…`; null for any
 * other text. User, passwords and database number are optional.
 */
export function sentinelsOf(url: string): Sentinels | null {
  try {
    return parse(url)
  } catch {
    // A percent sign that begins no valid escape.
    return null
  }
}

function parse(url: string): Sentinels | null {
  const tls = SENTINEL.exec(url)?.[1]
  const [, auth = '', list = '', rest = ''] = /^[^:]*:\/\/(?:([^@/?]*)@)?([^@/?]+)(\/.*)$/.exec(url) ?? []
  const hosts = list.split(',').map((host) => (host.trim() === '' ? null : urlOrNull(`redis://${host.trim()}`)))
  const whole = urlOrNull(`redis://${auth === '' ? '' : `${auth}@`}sentinels${rest}`)
  if (tls === undefined || whole === null || !hosts.every((each) => each !== null)) return null
  const [name = '', db = '0', ...more] = whole.pathname.slice(1).split('/')
  if (name === '' || !/^\d{1,4}$/.test(db) || more.length > 0) return null
  const { username, password, searchParams } = whole
  const sentinelPassword = searchParams.get('sentinel_password')
  if ([...searchParams.keys()].some((key) => key !== 'sentinel_password')) return null
  return {
    hosts: hosts.map(({ hostname, port }) => ({
      host: hostname.replace(/^\[|\]$/g, ''),
      port: port === '' ? SENTINEL_PORT : Number(port),
    })),
    name: decodeURIComponent(name),
    ...(username !== '' && { username: decodeURIComponent(username) }),
    ...(password !== '' && { password: decodeURIComponent(password) }),
    ...(sentinelPassword !== null && { sentinelPassword }),
    db: Number(db),
    isTls: tls === 's',
  }
}

const urlOrNull = (text: string): URL | null => (URL.canParse(text) ? new URL(text) : null)
