/** An element of the widget, as far as a warning is about it. */
interface Warned extends HTMLElement {
  readonly discussion: string
  readonly backend: string
}

/**
 * Warnings for the page's developer, in English, about faults of the page or its set-up that look
 * like faults of the widget.
 */
const WARNINGS = {
  backend: describeBackend,
  /** A page may bring it in a moment later. */
  discussion: ({ isConnected, discussion }: Warned) =>
    isConnected && discussion === '' && 'discussion is missing: set it to the external id of the page',
  page: (element: Warned) =>
    element.hasAttribute('site')
      ? `there is no site ${element.getAttribute('site')}, or "${element.discussion}" is no address of its origins: look at it in the console`
      : `the backend knows no page "${element.discussion}": look at discussion="…" and at isPage`,
  stream: () =>
    `nothing new comes by itself: the stream refuses ${location.origin}. Add it to the tenant's allowedOrigins, and the ` +
    "stream's own origin to connect-src where the page has a policy",
  closed: () =>
    'nobody can write here yet: the site takes no guests, and no issuer signs readers in. Set up one of them in the console',
  'sign-in': (element: Warned) =>
    !goesToSignIn(element) &&
    'nobody signs the reader in: set sign-in="/login", or listen to engagement-sign-in and call its preventDefault()',
}

export type Warning = keyof typeof WARNINGS

/**
 * Goes to the sign-in page, with the path to come back to: only a path, so that it can refuse other
 * sites. Of several slashes at its beginning the path keeps one: browsers read `//host` as a site.
 */
function goesToSignIn(element: Warned): boolean {
  const place = element.getAttribute('sign-in')
  if (place === null || !URL.canParse(place, document.baseURI)) return false
  const url = new URL(place, document.baseURI)
  url.searchParams.set('return', location.href.slice(location.origin.length).replace(/^\/+/, '/'))
  location.assign(url)
  return true
}

/**
 * Asks the backend for the signed-in reader, which it answers without the service, and to anyone.
 * The backend logs its own failures.
 */
async function describeBackend(element: Warned): Promise<string | false> {
  const { backend } = element
  if (element.hasAttribute('site')) return describeSite(backend)
  const expected = 'expected the JSON of engagement-service/backend: look at backend="…"'
  if (!URL.canParse(backend, document.baseURI)) return `${backend} is no address; ${expected}`
  const { href, origin } = new URL(`${backend}/me`, document.baseURI)
  const response = await fetch(href, { credentials: 'include' }).catch(() => null)
  if (response === null) {
    const refusal = origin === location.origin ? '' : `, or not for ${location.origin} (CORS)`
    return `no answer from ${href}${refusal}; ${expected}`
  }
  const answer: unknown = await response.json().catch(() => null)
  const isBackend = answer instanceof Object && ('reader' in answer || ('code' in answer && response.status !== 404))
  const type = response.headers.get('content-type') ?? 'of no type'
  return !isBackend && `${href} answered ${response.status}, ${type}; ${expected}`
}

/** The service tells other origins nothing, not even that they are others. */
async function describeSite(base: string): Promise<string | false> {
  const response = await fetch(`${base}/settings`, { credentials: 'omit' }).catch(() => null)
  if (response?.ok) return false
  // Of a file, `location` has another one.
  const { origin } = globalThis
  if (origin === 'null')
    return 'this page has no origin, which no site can have: open it by http or https, not as a file or in a sandboxed frame'
  if (response?.status === 404) return `there is no site ${base}: look at site="…"`
  return (
    `no answer from ${base} for ${origin}: add it to the origins of the site in the console, ` +
    'and the service to connect-src where the page has a policy'
  )
}

const said = new Set<string>()

/** Says it in the browser's console, once. */
export async function warn(about: Warning, element: Warned): Promise<void> {
  const text = await WARNINGS[about](element)
  if (text === false || said.has(text)) return
  said.add(text)
  console.warn(`<${element.localName}>: ${text}`, element)
}
