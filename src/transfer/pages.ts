import { webUrl } from '../core/input/texts.ts'
import type { PageRule } from '../domains/imports/options.ts'
import type { DiscussionItem } from './item.ts'

/** The part of a source's page that becomes its external id at the tenant. */

/** The new addresses of pages, by `keyOfAddress` of the old ones: whole addresses, or paths. */
export type AddressMap = ReadonlyMap<string, string>

/** How the pages of a source get their external ids. */
export interface PageRules {
  /** Null: the source's own external id, or else the address. */
  page: PageRule | null
  addresses: AddressMap
  /** Whether addresses keep the parameters that do not distinguish pages. */
  keepsQuery: boolean
}

export interface PageIdentity {
  externalId: string
  /** Null if it has no web address. */
  url: string | null
  /** Whether the rule needs an address that the source lacks. */
  lacksAddress: boolean
  /** How the external id differs from the file. */
  changes: string[]
}

/** The page of a discussion. */
export function identifyPage(item: DiscussionItem, source: string, rules: PageRules): PageIdentity {
  const { page: rule, addresses, keepsQuery } = rules
  const given = item.url == null || item.url === '' ? null : moved(item.url, addresses)
  const address = given === null || keepsQuery ? given : withoutTracking(given)
  const url = address !== null && webUrl.safeParse(address).success ? address : null
  const named = rule === null ? item.externalId : undefined
  if (named !== undefined) return { externalId: named, url, lacksAddress: false, changes: changesOf(given, address) }
  const encoded = externalIdBy(rule ?? 'url', item.id, address)
  if (encoded === null) {
    return { externalId: `${source}:${item.id}`, url, lacksAddress: true, changes: [LACKS_ADDRESS] }
  }
  const externalId = rule === 'id' ? encoded : readable(encoded)
  return { externalId, url, lacksAddress: false, changes: changesOf(given, address, encoded, externalId) }
}

const LACKS_ADDRESS = 'has no address: its external id is made of its id'

function changesOf(given: string | null, address: string | null, encoded = '', externalId = encoded): string[] {
  return [
    ...(given === address ? [] : ['its address loses what does not distinguish pages: see --keep-query']),
    ...(encoded === externalId ? [] : ['its external id has the letters of its address, not their codes']),
  ]
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

/**
 * Parameters that say how a reader came to a page, or what they did there.
 * `docs/guides/moving-pages.md` lists them.
 */
const TRACKING = new Set(
  (
    'fbclid gclid dclid gclsrc gbraid wbraid gad_source gad_campaignid srsltid msclkid yclid ysclid twclid ttclid ' +
    'sccid rb_clickid irclickid li_fat_id wickedid epik igsh igshid mc_cid mc_eid mkt_tok _hsenc _hsmi __hssc ' +
    '__hstc __hsfp hsctatracking oly_anon_id oly_enc_id vero_id vero_conv _ga _gl _openstat _branch_match_id ' +
    's_kwcid ef_id ref_src cmpid fb_action_ids fb_action_types fb_ref fb_source replytocom'
  ).split(' '),
)
const TRACKING_FAMILIES = /^(?:utm|mtm|pk|piwik|matomo|hsa)_/

function isTracking(parameter: string): boolean {
  const name = parameter.split('=')[0]?.toLowerCase() ?? ''
  return TRACKING.has(name) || TRACKING_FAMILIES.test(name)
}

/**
 * An address, or its path, without campaign parameters and without the place in the page, which do
 * not distinguish pages. A fragment with a path of its own (`#!/page`, `#/page`) stays.
 */
function withoutTracking(address: string): string {
  const [rest, fragment] = splitAt(address, '#')
  const [page, query] = splitAt(rest, '?')
  const parameters = query?.split('&').filter((parameter) => !isTracking(parameter)) ?? []
  const kept = parameters.filter((parameter) => parameter !== '')
  const isPlace = fragment === undefined || !/^!?\//.test(fragment)
  return page + (kept.length === 0 ? '' : `?${kept.join('&')}`) + (isPlace ? '' : `#${fragment}`)
}

function splitAt(text: string, sign: string): [string, string | undefined] {
  const at = text.indexOf(sign)
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)]
}

/**
 * An address with the signs of all scripts instead of their percent codes. Other codes stay, in
 * upper case: those of ASCII signs that have a meaning in addresses, of spaces and invisible
 * characters, and of bytes that are no UTF-8.
 */
const readable = (address: string): string =>
  address.replace(/(?:%[\da-f]{2})+/gi, (codes) => {
    try {
      return Array.from(decodeURIComponent(codes), (sign) =>
        /[\w.~-]|[^\0-\x7f\p{C}\p{Z}]/u.test(sign) ? sign : encodeURIComponent(sign),
      ).join('')
    } catch {
      return codes.toUpperCase()
    }
  })

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
  const plain = withoutTracking(address)
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
