import { useSyncExternalStore } from 'react'

/** Who is signed in, as `login` has answered. */
export interface Session {
  token: string
  /** RFC 3339. */
  expiresAt: string
  email: string
}

export interface SessionState {
  session: Session | null
  /**
   * The token was refused or has run out while somebody worked: they sign in again above their
   * page.
   */
  isExpired: boolean
}

// Every tab is signed in by one login, and signed out by one. The page's policy lets no script but
// its own read it.
const KEY = 'engagement-console-session'

let state: SessionState = { session: readLive(), isExpired: false }
const listeners = new Set<() => void>()

/** What is stored, which may have expired. */
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

/** `token` was refused. One that has been replaced meanwhile is of no matter. */
export function expire(token: string): void {
  const { session } = state
  if (session?.token !== token || state.isExpired) return
  // Not removed: other tabs would take it for a sign-out, and leave what is written in them.
  localStorage.setItem(KEY, JSON.stringify({ ...session, token: '', expiresAt: new Date(0).toISOString() }))
  become({ session, isExpired: true })
}

/**
 * Who works here now, by their e-mail address: what they have begun is nobody else's to go on with.
 */
export const whoIsHere = (): string | undefined => state.session?.email

/**
 * Resolves with the token of `email`, who is signed in, once it is not expired; rejects once they
 * have signed out, or somebody else has signed in.
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
 * Takes over what another tab has done: signed in, signed out, or found the token refused, which
 * leaves work alone.
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
// A page that was left and is gone back to has heard nothing meanwhile.
addEventListener('pageshow', ({ persisted }) => {
  if (persisted) follow()
})

export const useSession = (): SessionState => useSyncExternalStore(subscribe, currentSession)
