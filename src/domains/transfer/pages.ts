import { webUrl } from '../../core/texts.ts'
import type { DiscussionItem } from './item.ts'

/** What of a page at the source becomes its external id at the tenant. */
export const PAGE_RULES = ['url', 'path', 'id', 'slug'] as const

export type PageRule = (typeof PAGE_RULES)[number]

/** The new addresses of pages, by `keyOfAddress` of the old ones: whole addresses, or paths. */
export type AddressMap = ReadonlyMap<string, string>

export interface PageIdentity {
  externalId: string
  /** Null where it has none that can be opened. */
  url: string | null
  /** Whether the rule asks for an address that the source does not have. */
  lacksAddress: boolean
}

/**
 * The page of a discussion. Without a rule the source's own external id counts, and where it has
 * none, the address.
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

/**
 * An address, or its path, without what tells by which campaign a reader came, and no page apart
 * from another.
 */
function withoutCampaign(address: string): string {
  const [page = '', query] = address.split(/\?(.*)/s)
  const parameters = query?.split('&').filter((parameter) => !/^utm_/i.test(parameter)) ?? []
  return parameters.length === 0 ? page : `${page}?${parameters.join('&')}`
}

/** The address as the map has it: of the whole address, or of its path on the same site. */
function moved(address: string, map: AddressMap): string {
  if (map.size === 0) return address
  const key = keysOf(address).find((each) => map.has(each))
  const target = key === undefined ? undefined : map.get(key)
  if (target === undefined) return address
  if (!URL.canParse(address)) return target
  // Some plugins leave out the first slash of a path.
  const absolute = URL.canParse(target) || target.startsWith('/') ? target : `/${target}`
  return URL.canParse(absolute, address) ? new URL(absolute, address).href : target
}

/** What a map may have an address by: first as it is, then without what tells of a campaign. */
function keysOf(address: string): string[] {
  const plain = withoutCampaign(address)
  return [address, pathOf(address), plain, pathOf(plain)].map(keyOfAddress)
}

/**
 * The same for all spellings of one old address in a map. The scheme, the case of the host, slashes
 * at both ends of a path, and percent-encoding make no difference.
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

/** The path of an address with its query; of what is no address, all of it. */
function pathOf(address: string): string {
  if (!URL.canParse(address)) return address
  const { pathname, search } = new URL(address)
  return pathname + search
}
