import type { LookupAddress } from 'node:dns'
import { lookup as systemLookup, Resolver } from 'node:dns/promises'
import type { LookupFunction } from 'node:net'

import type { AddressRule } from '../domains/webhooks/addresses.ts'

/** A connection that the address rule forbids. */
export class AddressRefused extends Error {
  readonly code = 'EADDRREFUSED'
}

/** A connection that the port rule forbids. */
export class PortRefused extends Error {
  readonly code = 'EPORTREFUSED'
}

/** A connection without TLS where the settings want it. */
export class ProtocolRefused extends Error {
  readonly code = 'EPROTOREFUSED'
}

/** A name to its addresses. */
export type Resolve = (host: string) => Promise<LookupAddress[]>

// The system's resolver works in the process's four threads: a few names whose servers hang would
// hold up every other endpoint, and file access with them. This one waits on sockets only.
const QUERY = { timeout: 2000, tries: 2 }

/**
 * Asks the name servers; names that they do not know may stand in the hosts file. Rejects with a
 * `code`.
 */
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

/**
 * The look-up of the shared agents: an address that the rule forbids is never connected to, and
 * what was checked is what is connected to, so that no second answer of a name server can slip in
 * between.
 */
export function guardedLookup(isAllowed: AddressRule, resolve: Resolve): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname).then(
      (found) => {
        const allowed = found.filter(({ address }) => isAllowed(address))
        const [first] = allowed
        if (first === undefined) callback(new AddressRefused('no address of this host is allowed'), '', 0)
        else if (options.all === true) callback(null, allowed)
        else callback(null, first.address, first.family)
      },
      (error: NodeJS.ErrnoException) => callback(error, '', 0),
    )
  }
}
