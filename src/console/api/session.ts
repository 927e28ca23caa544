import { useSyncExternalStore } from 'react'

import type { MeQuery } from '../../generated/console.ts'

/** Who is signed in. The token is in a cookie that no script can read. */
export interface Session {
  /** Differs from one sign-in to the next. */
  stamp: string
  member: Pick<NonNullable<MeQuery['me']>['member'], 'id' | 'email' | 'name' | 'role' | 'capabilities'>
  tenant: string
}

export interface SessionState {
  session: Session | null
  /**
   * The sign-in was refused or has ended during work: the member signs in again, above the present
   * page.
   */
  isExpired: boolean
}

/** As it is stored. One that has ended stays, so that other tabs take it for no sign-out. */
interface Stored extends Session {
  hasEnded?: true
}

// A login or logout applies to every tab. The page's policy allows no scripts but its own to read
// the key.
const KEY = 'engagement-console-session'

let state: SessionState = { session: readLive(), isExpired: false }
const listeners = new Set<() => void>()

function read(): Stored | null {
  try {
    const stored = JSON.parse(localStorage.getItem(KEY) ?? 'null') as Stored | null
    // An earlier release stored another form.
    return Array.isArray(stored?.member?.capabilities) ? stored : null
  } catch {
    return null
  }
}

function readLive(): Session | null {
  const session = read()
  return session?.hasEnded === true ? null : session
}

function become(next: SessionState): void {
  state = next
  for (const listener of listeners) listener()
}

export const currentSession = (): SessionState => state

/** Whether the signed-in member may do something: by a capability, or as an owner or admin. */
export const may = (need: Need): boolean => {
  const { member } = state.session ?? {}
  if (member === undefined) return false
  const isAdmin = member.role === 'owner' || member.role === 'admin'
  return need === 'admin' ? isAdmin : need === 'owner' ? member.role === 'owner' : member.capabilities.includes(need)
}

export type Need = 'owner' | 'admin' | Session['member']['capabilities'][number]

export function signedIn(member: Session['member'], tenant: string): void {
  const session = { stamp: crypto.randomUUID(), member, tenant }
  localStorage.setItem(KEY, JSON.stringify(session))
  become({ session, isExpired: false })
}

/** Forgets who was signed in. The service is told by the caller. */
export function signedOut(): void {
  localStorage.removeItem(KEY)
  become({ session: null, isExpired: false })
}

/** The sign-in with this stamp was refused. Ignored if there is another one meanwhile. */
export function expire(stamp: string): void {
  const { session } = state
  if (session?.stamp !== stamp || state.isExpired) return
  localStorage.setItem(KEY, JSON.stringify({ ...session, hasEnded: true }))
  become({ session, isExpired: true })
}

/** The signed-in member: nobody else may continue what this one has begun. */
export const whoIsHere = (): string | undefined => state.session?.member.id

/**
 * Resolves with the stamp of this member's sign-in, once it is valid; rejects if they sign out, or
 * another member signs in.
 */
export function validSession(memberId = whoIsHere()): Promise<string> {
  // The cookie is that of the last sign-in of any tab, whose message may be on its way.
  if (read()?.stamp !== state.session?.stamp) follow()
  const stamp = stampOf(memberId)
  if (stamp !== null) return stamp
  return new Promise((resolve, reject) => {
    const stop = subscribe(() => {
      const settled = stampOf(memberId)
      if (settled === null) return
      stop()
      settled.then(resolve, reject)
    })
  })
}

/** Null while the sign-in has ended. */
function stampOf(memberId: string | undefined): Promise<string> | null {
  const { session, isExpired } = state
  if (session === null || session.member.id !== memberId) return Promise.reject(new Error('signed out'))
  return isExpired ? null : Promise.resolve(session.stamp)
}

export function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

/**
 * Follows what another tab does: a login, a logout, or a sign-in that has ended, which does not end
 * the work here.
 */
function follow(): void {
  const live = readLive()
  if (live !== null) become({ session: live, isExpired: false })
  else if (read()?.member.id === whoIsHere()) become({ ...state, isExpired: state.session !== null })
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
