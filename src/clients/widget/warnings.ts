/** An element of the widget, as far as a warning is about it. */
interface Warned extends HTMLElement {
  readonly discussion: string
  readonly backend: string
}

/**
 * For the page's developer, in English: what looks like a fault of the widget and is one of the
 * page or its set-up.
 */
const WARNINGS = {
  backend: describeBackend,
  /** A page may bring it in a moment later. */
  discussion: ({ isConnected, discussion }: Warned) =>
    isConnected && discussion === '' && 'discussion is missing: set it to the external id of the page',
  page: ({ discussion }: Warned) => `the backend knows no page "${discussion}": look at discussion="…" and at isPage`,
  stream: () =>
    `nothing new comes by itself: the stream refuses ${location.origin}. Add it to the tenant's allowedOrigins, and the ` +
    "stream's own origin to connect-src where the page has a policy",
  'sign-in': (element: Warned) =>
    !goesToSignIn(element) &&
    'nobody signs the reader in: set sign-in="/login", or listen to engagement-sign-in and call its preventDefault()',
}

export type Warning = keyof typeof WARNINGS

/**
 * Goes to the page that signs in, which is told where to come back to: a path, so that it can
 * refuse other sites'.
 */
function goesToSignIn(element: Warned): boolean {
  const place = element.getAttribute('sign-in')
  if (place === null) return false
  const url = new URL(place, document.baseURI)
  url.searchParams.set('return', location.href.slice(location.origin.length))
  location.assign(url)
  return true
}

/**
 * Asks it who is signed in, which it answers by itself and to all. What fails in the backend is in
 * the backend's own log.
 */
async function describeBackend({ backend }: Warned): Promise<string | false> {
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

const said = new Set<string>()

/** Says it in the browser's console, once. */
export async function warn(about: Warning, element: Warned): Promise<void> {
  const text = await WARNINGS[about](element)
  if (text === false || said.has(text)) return
  said.add(text)
  console.warn(`<${element.localName}>: ${text}`, element)
}
