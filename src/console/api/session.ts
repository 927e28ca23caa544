import { useSyncExternalStore } from 'react'

/** The signed-in admin, from the answer of `login`. */
export interface Session {
  token: string
  /** RFC 3339. */
  expiresAt: string
  email: string
}

export interface SessionState {
  session: Session | null
  /**
   * The token was refused or has expired during work: the admin signs in again, above the present
   * page.
   */
  isExpired: boolean
}

// A login or logout applies to every tab. The page's policy allows no scripts but its own to read
// the key.
const KEY = 'engagement-console-session'

let state: SessionState = { session: readLive(), isExpired: false }
const listeners = new Set<() => void>()

/** The stored session, which may have expired. */
function read(): Session | null {
  try {
    return JSON.parse(localStorage.getItem(KEY) ?? 'null') as Session | null
  } catch {
    return null
  }
}

function readLive(): Session | null {
  const session = read()
  return session !== null && Date.parse(session.expiresAt) > Date.now() ? session : null
}

function become(next: SessionState): void {
  state = next
  for (const listener of listeners) listener()
}

export const currentSession = (): SessionState => state

export function signedIn(session: Session): void {
  localStorage.setItem(KEY, JSON.stringify(session))
  become({ session, isExpired: false })
}

export function signOut(): void {
  localStorage.removeItem(KEY)
  become({ session: null, isExpired: false })
}

/** `token` was refused. Ignored if it has been replaced meanwhile. */
export function expire(token: string): void {
  const { session } = state
  if (session?.token !== token || state.isExpired) return
  // Not removed: other tabs would take that for a sign-out, and discard what is typed in them.
  localStorage.setItem(KEY, JSON.stringify({ ...session, token: '', expiresAt: new Date(0).toISOString() }))
  become({ session, isExpired: true })
}

/**
 * The e-mail address of the signed-in admin: no other admin may continue what this one has begun.
 */
export const whoIsHere = (): string | undefined => state.session?.email

/**
 * Resolves with the token of `email`, the signed-in admin, once it is valid; rejects if they sign
 * out, or another admin signs in.
 */
export function validToken(email = whoIsHere()): Promise<string> {
  const token = tokenOf(email)
  if (token !== null) return token
  return new Promise((resolve, reject) => {
    const stop = subscribe(() => {
      const settled = tokenOf(email)
      if (settled === null) return
      stop()
      settled.then(resolve, reject)
    })
  })
}

/** Null while it is expired. */
function tokenOf(email: string | undefined): Promise<string> | null {
  const { session, isExpired } = state
  if (session === null || session.email !== email) return Promise.reject(new Error('signed out'))
  return isExpired ? null : Promise.resolve(session.token)
}

export function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

/**
 * Follows what another tab does: a login, a logout, or an expired token, which does not end the
 * work here.
 */
function follow(): void {
  const live = readLive()
  if (live !== null) become({ session: live, isExpired: false })
  else if (read()?.email === whoIsHere()) become({ ...state, isExpired: state.session !== null })
  else become({ session: null, isExpired: false })
}

addEventListener('storage', ({ key }) => {
  if (key === KEY || key === null) follow()
})
// A page restored from the back/forward cache has missed all events.
addEventListener('pageshow', ({ persisted }) => {
  if (persisted) follow()
})

export const useSession = (): SessionState => useSyncExternalStore(subscribe, currentSession)
