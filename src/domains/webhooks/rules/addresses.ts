import { isIP } from 'node:net'

import ipaddr from 'ipaddr.js'

type Range = [ipaddr.IPv4 | ipaddr.IPv6, number]

/** Whether the service may connect to an IP address. */
export type AddressRule = (address: string) => boolean

/**
 * Allows addresses of the public internet, and those in `allowedCidrs`. An IPv4 address in IPv6
 * form (`::ffff:…`) is judged as IPv4.
 */
export function createAddressRule(allowedCidrs: readonly string[]): AddressRule {
  const opened = allowedCidrs.map((cidr): Range => ipaddr.parseCIDR(cidr))
  return (text) => {
    if (!ipaddr.isValid(text)) return false
    const address = ipaddr.process(text)
    return opened.some((range) => address.kind() === range[0].kind() && address.match(range)) || isPublic(address)
  }
}

function isPublic(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  if (address.range() !== 'unicast') return false
  const [global, exceptions] = address.kind() === 'ipv4' ? [ANY_V4, EXCEPTIONS_V4] : [GLOBAL_V6, EXCEPTIONS_V6]
  return address.match(global) && !exceptions.some((range) => address.match(range))
}

const ANY_V4 = ipaddr.parseCIDR('0.0.0.0/0')
// The only IPv6 range that is assigned to the public. The rest has NAT64, IPv4-compatible and
// site-local addresses, and unassigned ones.
const GLOBAL_V6 = ipaddr.parseCIDR('2000::/3')

// On this public address, Azure returns the machine's credentials.
const EXCEPTIONS_V4 = ['168.63.129.16/32'].map((cidr) => ipaddr.parseCIDR(cidr))
// 6to4 and Teredo contain an IPv4 address, 2001::/23 is for protocols, the others are for
// documentation.
const EXCEPTIONS_V6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'].map((cidr) => ipaddr.parseCIDR(cidr))

interface PortSettings {
  WEBHOOK_ALLOWED_PORTS: readonly (readonly [from: number, to: number])[]
  WEBHOOK_ALLOW_HTTP: boolean
}

/**
 * Whether the service may connect to a URL's port. Below 1024, except HTTPS, are only services that
 * never expect it: mail, databases, file shares.
 */
export function createPortRule({ WEBHOOK_ALLOWED_PORTS, WEBHOOK_ALLOW_HTTP }: PortSettings): (url: URL) => boolean {
  return ({ port, protocol }) => {
    if (protocol === 'http:' && port === '') return WEBHOOK_ALLOW_HTTP
    const number = port === '' ? 443 : Number(port)
    return WEBHOOK_ALLOWED_PORTS.some(([from, to]) => number >= from && number <= to)
  }
}

/** The IP address in a URL's `hostname`; null for a name. */
export function literalAddress(hostname: string): string | null {
  const bare = hostname.replace(/^\[|\]$/g, '')
  return isIP(bare) === 0 ? null : bare
}
