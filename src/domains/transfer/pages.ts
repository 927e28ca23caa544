import { webUrl } from '../../core/texts.ts'
import type { DiscussionItem } from './item.ts'

/** What of a page at the source becomes its external id at the tenant. */
export const PAGE_RULES = ['url', 'path', 'id', 'slug'] as const

export type PageRule = (typeof PAGE_RULES)[number]

/** The new addresses of pages, by the old ones: whole addresses, or paths. */
export type AddressMap = ReadonlyMap<string, string>

export interface Page {
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
export function pageOf(item: DiscussionItem, source: string, rule: PageRule | null, map: AddressMap): Page {
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
  if (rule === 'path') return path
  const [slug = null] = path
    .replace(/[?#].*$/s, '')
    .split('/')
    .filter(Boolean)
    .slice(-1)
  return slug
}

/** The address as the map has it: of the whole address, or of its path on the same site. */
function moved(address: string, map: AddressMap): string {
  const whole = map.get(address)
  if (whole !== undefined) return whole
  const byPath = map.get(pathOf(address))
  if (byPath === undefined) return address
  return URL.canParse(byPath, address) ? new URL(byPath, address).href : byPath
}

/** The path of an address with its query; of what is no address, all of it. */
function pathOf(address: string): string {
  if (!URL.canParse(address)) return address
  const { pathname, search } = new URL(address)
  return pathname + search
}
