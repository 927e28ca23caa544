import { webUrl } from '../../core/texts.ts'
import type { DiscussionItem } from './item.ts'

/** What of a page at the source becomes its external id at the tenant. */
export const PAGE_RULES = ['url', 'path', 'id', 'slug'] as const

export type PageRule = (typeof PAGE_RULES)[number]

/** The new addresses of pages, by the old ones: whole addresses, or paths. */
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
  const spelling = spellingsOf(address).find((each) => map.has(each))
  const target = spelling === undefined ? undefined : map.get(spelling)
  if (target === undefined) return address
  if (!URL.canParse(address)) return target
  // Some plugins leave out the first slash of a path.
  const absolute = URL.canParse(target) || target.startsWith('/') ? target : `/${target}`
  return URL.canParse(absolute, address) ? new URL(absolute, address).href : target
}

/** How a map may write an address: first as it is, then without what tells of a campaign. */
function spellingsOf(address: string): string[] {
  const plain = withoutCampaign(address)
  return plain === address ? waysToWrite(address) : [...waysToWrite(address), ...waysToWrite(plain)]
}

/** Whole or its path, with or without the last slash, and so on. */
function waysToWrite(address: string): string[] {
  const path = pathOf(address)
  const other = /^https?:/.test(address) ? [address.replace(/^https?/, (scheme) => OTHER_SCHEME[scheme] ?? scheme)] : []
  const decoded = decodedOf(path)
  const spelt = [address, ...other, path, ...(decoded === path ? [] : [decoded])]
  return [...spelt, ...spelt.map(withOtherSlash)].flatMap((each) =>
    each.startsWith('/') ? [each, each.slice(1)] : [each],
  )
}

const OTHER_SCHEME: Readonly<Record<string, string>> = { http: 'https', https: 'http' }

/** With a slash at the end of its path where there is none, and without one where there is. */
const withOtherSlash = (address: string): string =>
  address.replace(/^([^?#]*?)(\/?)(?=$|[?#])/, (_, path: string, slash: string) => (slash ? path : `${path}/`))

function decodedOf(path: string): string {
  try {
    return decodeURI(path)
  } catch {
    return path
  }
}

/** The path of an address with its query; of what is no address, all of it. */
function pathOf(address: string): string {
  if (!URL.canParse(address)) return address
  const { pathname, search } = new URL(address)
  return pathname + search
}
