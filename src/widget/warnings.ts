import type { EngagementThread } from './thread.ts'

/** For the page's developer, in English: what looks like a fault of the widget and is one of the page or its set-up. */
const WARNINGS = {
  /** A page may bring it in a moment later. */
  discussion: ({ isConnected, discussion }: EngagementThread) =>
    isConnected && discussion === '' && 'discussion is missing: set it to the external id of the page',
  page: ({ discussion }: EngagementThread) =>
    `the backend knows no page "${discussion}": look at discussion="…" and at isPage`,
  stream: () =>
    `nothing new comes by itself: the stream refuses ${location.origin}. Add it to the tenant's allowedOrigins, and the ` +
    "stream's own origin to connect-src where the page has a policy",
  'sign-in': (thread: EngagementThread) =>
    !goesToSignIn(thread) &&
    'nobody signs the reader in: set sign-in="/login", or listen to engagement-sign-in and call its preventDefault()',
}

export type Warning = keyof typeof WARNINGS

/** Goes to the page that signs in, which is told where to come back to: a path, so that it can refuse other sites'. */
function goesToSignIn(thread: EngagementThread): boolean {
  const place = thread.getAttribute('sign-in')
  if (place === null) return false
  const url = new URL(place, document.baseURI)
  url.searchParams.set('return', location.href.slice(location.origin.length))
  location.assign(url)
  return true
}

const said = new Set<string>()

/** Says it in the browser's console, once. */
export function warn(about: Warning, thread: EngagementThread): void {
  const text = WARNINGS[about](thread)
  if (text === false || said.has(text)) return
  said.add(text)
  console.warn(`<engagement-thread>: ${text}`, thread)
}
