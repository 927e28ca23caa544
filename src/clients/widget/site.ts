// How a page without a backend asks the service itself (attribute `site`): a file of its own.
import type { Identity } from './answers.ts'

/** The deadline for the page's function. After it, the page is read as nobody. */
const TOKEN_MS = 10_000

const said = new Set<string>()
/** For the page's developer, once. */
function say(text: string, ...more: unknown[]): void {
  if (said.has(text)) return
  said.add(text)
  console.warn(`engagement: ${text}`, ...more)
}

/** The page's function asks its issuer for a token. While it cannot, requests wait for the line. */
async function tokenOf(identity: Identity, isRefused: boolean): Promise<string | null> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('no token within 10 s')), TOKEN_MS)
  })
  try {
    return (await Promise.race([identity(isRefused), late])) || null
  } catch (error) {
    if (!navigator.onLine) throw error
    say('the function given to setIdentity has failed, so nobody is signed in', error)
    return null
  } finally {
    clearTimeout(timer)
  }
}

/** Where a guest's token is stored. Other tabs of the site see it. */
export const GUEST = 'engagement-guest:'
/** Those that the browser does not store, until the page is left. */
const unstored = new Map<string, string>()
const siteOf = (url: string): string => /\/engagement\/(pk_[^/?]*)/.exec(url)?.[1] ?? ''

/** The token of the guest who writes on this site; null for none. */
export function guestOf(url: string): string | null {
  try {
    return localStorage.getItem(GUEST + siteOf(url)) ?? unstored.get(siteOf(url)) ?? null
  } catch {
    return unstored.get(siteOf(url)) ?? null
  }
}

export function keepGuest(url: string, token: string | null): void {
  unstored.delete(siteOf(url))
  try {
    if (token === null) localStorage.removeItem(GUEST + siteOf(url))
    else localStorage.setItem(GUEST + siteOf(url), token)
  } catch {
    if (token !== null) unstored.set(siteOf(url), token)
  }
}

/** Requests that were refused together ask once for the next token. */
const renewals = new Map<string, Promise<string | null>>()

function renew(identity: Identity, refused: string): Promise<string | null> {
  const renewal = renewals.get(refused) ?? tokenOf(identity, true).finally(() => renewals.delete(refused))
  renewals.set(refused, renewal)
  return renewal
}

/** Much of a title, which has to fit into an address. */
const MAX_TITLE = 200

/**
 * What a signed-in reader is answered has an address of its own. A comment may begin the discussion
 * of its page, which then has the title of the page.
 */
function addressFor(token: string | null, url: string, method = 'GET'): string {
  const title = Array.from(document.title).slice(0, MAX_TITLE).join('')
  if (method === 'POST' && url.includes('/comments?')) return `${url}&${new URLSearchParams({ title })}`
  return token && method === 'GET' ? `${url}${url.includes('?') ? '&' : '?'}signedIn=1` : url
}

/** Without cookies. */
function sendAs(token: string | null, url: string, init: RequestInit): Promise<Response> {
  const headers = { ...(init.headers as Record<string, string>), ...(token && { Authorization: `Bearer ${token}` }) }
  return fetch(addressFor(token, url, init.method), { ...init, headers, credentials: 'omit' })
}

const refuse = (code: string, status: number): Response => Response.json({ code }, { status })

/**
 * Sends a request as the reader whom the page's token names, else as the guest whom the browser
 * knows. Where the service refuses the token, of a page twice, a page is read as nobody, and
 * nothing is written. Throws where there is no line.
 */
export async function send(url: string, init: RequestInit, identities: Map<string, Identity>): Promise<Response> {
  const identity = identities.get(/^.*?\/engagement\/pk_[^/]*/.exec(url)?.[0] ?? '')
  const token = identity ? await tokenOf(identity, false) : null
  const guest = token ? null : guestOf(url)
  let response = await sendAs(token ?? guest, url, init)
  if ((token || guest) && response.status === 401) {
    // Another tab may have a newer one by now.
    if (guest && guest === guestOf(url)) keepGuest(url, null)
    const next = identity && token ? await renew(identity, token) : guestOf(url)
    if (next && next !== (token ?? guest)) response = await sendAs(next, url, init)
    if (response.status === 401) {
      const { detail } = (await response.json().catch(() => ({}))) as { detail?: string }
      if (next && token) say(`the service refuses the token of setIdentity: ${detail}`)
      // Anyone may follow the page.
      if (init.method !== 'GET' && !url.includes('/ticket?')) return refuse('identity_required', 403)
      response = await sendAs(null, url, init)
    }
  }
  const { code, errors } = await problemOf(response)
  // There is no such site any more, or the page belongs to another one: it will not come by itself.
  if (response.status === 404 && (url.includes('/thread?') || errors?.[0]?.code === 'unknown_site'))
    return refuse('unknown_page', 404)
  // The site takes no writes.
  return code === 'missing_capability' ? refuse('locked', 403) : response
}

/** What a refusal says; nothing of another answer. */
const problemOf = async (response: Response): Promise<{ code?: string; errors?: { code: string }[] }> =>
  response.ok
    ? {}
    : ((await response
        .clone()
        .json()
        .catch(() => ({}))) as object)
