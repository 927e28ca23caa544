import type { LookupAddress } from 'node:dns'
import { lookup as systemLookup, Resolver } from 'node:dns/promises'
import type { LookupFunction } from 'node:net'

import type { AddressRule } from '../domains/webhooks/rules/addresses.ts'

/** The address rule forbids the connection. */
export class AddressRefused extends Error {
  readonly code = 'EADDRREFUSED'
}

/** The port rule forbids the connection. */
export class PortRefused extends Error {
  readonly code = 'EPORTREFUSED'
}

/** The connection has no TLS, which the settings require. */
export class ProtocolRefused extends Error {
  readonly code = 'EPROTOREFUSED'
}

/** Resolves a name to its addresses. */
export type Resolve = (host: string) => Promise<LookupAddress[]>

// The system's resolver runs in the process's four threads, where a few names with hanging servers
// would delay every other endpoint and all file access. This one only waits on sockets.
const QUERY = { timeout: 2000, tries: 2 }

/** Asks the name servers, then the hosts file. Rejects with a `code`. */
export const resolveHost: Resolve = async (host) => {
  if (host === 'localhost') return systemLookup(host, { all: true })
  const resolver = new Resolver(QUERY)
  const [v4, v6] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
  const addresses = [
    ...(v4.status === 'fulfilled' ? v4.value.map((address) => ({ address, family: 4 })) : []),
    ...(v6.status === 'fulfilled' ? v6.value.map((address) => ({ address, family: 6 })) : []),
  ]
  if (addresses.length > 0) return addresses
  const hung = [v4, v6].some((result) => result.status === 'rejected' && codeOf(result.reason) === 'ETIMEOUT')
  if (hung) throw Object.assign(new Error('the name servers did not answer'), { code: 'EAI_AGAIN' })
  return systemLookup(host, { all: true })
}

const codeOf = (error: unknown): unknown => (error as { code?: unknown }).code

/** Node tries one after another. A name may list thousands of addresses of other hosts. */
const MAX_ADDRESSES = 16

/**
 * The look-up of the shared agents: it connects only to addresses that the rule allows, and only to
 * the checked ones, so that a second answer of a name server cannot replace them.
 */
export function guardedLookup(isAllowed: AddressRule, resolve: Resolve): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname).then(
      (found) => {
        const allowed = found.filter(({ address }) => isAllowed(address)).slice(0, MAX_ADDRESSES)
        const [first] = allowed
        if (first === undefined) callback(new AddressRefused('no address of this host is allowed'), '', 0)
        else if (options.all === true) callback(null, allowed)
        else callback(null, first.address, first.family)
      },
      (error: NodeJS.ErrnoException) => callback(error, '', 0),
    )
  }
}
