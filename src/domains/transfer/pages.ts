import { webUrl } from '../../core/texts.ts'
import type { DiscussionItem } from './item.ts'

/** The part of a source's page that becomes its external id at the tenant. */
export const PAGE_RULES = ['url', 'path', 'id', 'slug'] as const

export type PageRule = (typeof PAGE_RULES)[number]

/** The new addresses of pages, by `keyOfAddress` of the old ones: whole addresses, or paths. */
export type AddressMap = ReadonlyMap<string, string>

export interface PageIdentity {
  externalId: string
  /** Null if it has no web address. */
  url: string | null
  /** Whether the rule needs an address that the source lacks. */
  lacksAddress: boolean
}

/**
 * The page of a discussion. Without a rule it has the source's own external id, or else its
 * address.
 */
export function identifyPage(
  item: DiscussionItem,
  source: string,
  rule: PageRule | null,
  map: AddressMap,
): PageIdentity {
  const address = item.url == null || item.url === '' ? null : moved(item.url, map)
  const url = address !== null && webUrl.safeParse(address).success ? address : null
  const named = rule === null ? item.externalId : undefined
  if (named !== undefined) return { externalId: named, url, lacksAddress: false }
  const externalId = externalIdBy(rule ?? 'url', item.id, address)
  return { externalId: externalId ?? `${source}:${item.id}`, url, lacksAddress: externalId === null }
}

function externalIdBy(rule: PageRule, id: string, address: string | null): string | null {
  if (rule === 'id') return id
  if (address === null) return null
  if (rule === 'url') return address
  const path = pathOf(address)
  if (rule === 'path') return withoutCampaign(path)
  const [slug = null] = path
    .replace(/[?#].*$/s, '')
    .split('/')
    .filter(Boolean)
    .slice(-1)
  return slug
}

/** An address, or its path, without campaign parameters, which do not distinguish pages. */
function withoutCampaign(address: string): string {
  const [page = '', query] = address.split(/\?(.*)/s)
  const parameters = query?.split('&').filter((parameter) => !/^utm_/i.test(parameter)) ?? []
  return parameters.length === 0 ? page : `${page}?${parameters.join('&')}`
}

/** The new address in the map, for the whole address or for its path on the same site. */
function moved(address: string, map: AddressMap): string {
  if (map.size === 0) return address
  const key = keysOf(address).find((each) => map.has(each))
  const target = key === undefined ? undefined : map.get(key)
  if (target === undefined) return address
  if (!URL.canParse(address)) return target
  // Some plugins omit the first slash of a path.
  const absolute = URL.canParse(target) || target.startsWith('/') ? target : `/${target}`
  return URL.canParse(absolute, address) ? new URL(absolute, address).href : target
}

/**
 * The keys under which a map may have an address: first unchanged, then without campaign
 * parameters.
 */
function keysOf(address: string): string[] {
  const plain = withoutCampaign(address)
  return [address, pathOf(address), plain, pathOf(plain)].map(keyOfAddress)
}

/**
 * One key for all spellings of an old address in a map. The scheme, the case of the host, slashes
 * at both ends of a path, and percent-encoding do not matter.
 */
export const keyOfAddress = (address: string): string =>
  decodedOf(address)
    .replace(/%[\da-f]{2}/gi, (octet) => octet.toUpperCase())
    .replace(/^https?:\/\/[^/?#]*/i, (origin) => origin.toLowerCase().replace(/^http:/, 'https:'))
    .replace(/^\/+/, '')
    .replace(/^([^?#]*[^?#/])?\/+(?=$|[?#])/, '$1')

function decodedOf(address: string): string {
  try {
    return decodeURI(address)
  } catch {
    return address
  }
}

/** The path and query of an address; any other text unchanged. */
function pathOf(address: string): string {
  if (!URL.canParse(address)) return address
  const { pathname, search } = new URL(address)
  return pathname + search
}
