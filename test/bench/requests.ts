import { type Signer, signIdentity } from '../harness/identity.ts'
import { httpRequest } from './load.ts'

/** The credentials for a tenant. */
export interface Caller {
  apiKey: string
  signer: Signer
}

export const BODY = 'I have read this twice now, and I still think that the second paragraph misses the point.'

/** Where the comments of an article are. */
export const byExternal = (externalId: string): string => `/api/v1/discussions/by-external/${externalId}/comments`

/** `reader-0` and further ones. */
export const readersOf = (count: number): string[] => Array.from({ length: count }, (_, n) => `reader-${n}`)

export const identitiesOf = (signer: Signer, subs: readonly string[]): Promise<string[]> =>
  Promise.all(subs.map((sub) => signIdentity(signer, { sub, name: `Reader ${sub}` })))

/** The first page of each discussion; `base` is that of another server. */
export const pageRequests = (ids: readonly string[], headers: Record<string, string>, base = '/api/v1'): Buffer[] =>
  ids.map((id) => httpRequest('GET', `${base}/discussions/${id}/comments`, headers))

/** The counts of 20 articles a request. */
export const countRequests = (externalIds: readonly string[], headers: Record<string, string>, base = '/api/v1') =>
  Array.from({ length: 100 }, (_, n) => {
    const asked = Array.from({ length: 20 }, (_each, k) => externalIds[(n * 37 + k * 11) % externalIds.length])
    const body = JSON.stringify({ externalIds: asked })
    return httpRequest('POST', `${base}/discussions/counts`, { ...headers, 'Content-Type': 'application/json' }, body)
  })

interface Posts {
  /** The paths that are posted to, in a mixed order. */
  paths: readonly string[]
  count: number
  /** The readers, in turn. */
  subs: readonly string[]
  body?: (n: number) => object
}

/** Posts by signed readers. */
export async function postRequests(
  { apiKey, signer }: Caller,
  { paths, count, subs, body = (n) => ({ body: `${BODY} (${n})` }) }: Posts,
): Promise<Buffer[]> {
  const identities = await identitiesOf(signer, subs)
  return Array.from({ length: count }, (_, n) => {
    const identity = { 'X-Service-Identity': identities[n % identities.length] ?? '' }
    const headers = { 'X-API-Key': apiKey, 'Content-Type': 'application/json', ...identity }
    return httpRequest('POST', paths[(n * 7919) % paths.length] ?? '', headers, JSON.stringify(body(n)))
  })
}
