import { createHash } from 'node:crypto'

import type { Drawing, Posting } from './drawing.ts'
import { Refusal } from './problems.ts'
import { tombstoneOf } from './tombstone.ts'

export interface RenderOptions<Incoming> {
  /** The page's external id. */
  externalId: string
  /**
   * The page's own request: for a signed-in reader the widget asks for the reader's own state, for
   * others it asks for nothing. Without it, as for a page that is cached, the widget asks who is
   * signed in.
   */
  request?: Incoming | undefined
  /** The page, for search engines and moderators. */
  page?: Posting | undefined
  /** As the widget's attributes; `newest` and 20 by default. */
  sort?: 'newest' | 'oldest' | 'top' | undefined
  pageSize?: number | undefined
  /** The language of the widget's texts; `en` by default. */
  lang?: string | undefined
  /** Texts instead of those of the language, as `setStrings` takes them. */
  strings?: Drawing['strings'] | undefined
  /** Further attributes of the element, such as `sign-in` and `theme`. */
  attributes?: Readonly<Record<string, string>> | undefined
  /** The page of comments to draw, for readers without JavaScript: a text. Else the first one. */
  cursor?: unknown
  /** The address of the page with this cursor, for the links of readers without JavaScript. */
  hrefOf?: ((cursor: string) => string) | undefined
  /** Of the page's Content-Security-Policy, for the style. */
  nonce?: string | undefined
}

export interface RenderedThread {
  /** The element, where the comments belong. */
  html: string
  /** For the page's head. */
  head: string
  /** A strong ETag of both; null if the service has not answered: do not cache such a page. */
  etag: string | null
  /** The position of the stream that is drawn; null if the service has not answered. */
  lastEventId: string | null
}

const MAX_PAGE_SIZE = 100
/** What the options give already. */
const OWN_ATTRIBUTES = /^(backend|discussion|lang|page-size|signed-in|sort)$/

/** What is drawn, but for the reader. Throws a TypeError for a wrong option. */
export function drawingOf<Incoming>(
  options: RenderOptions<Incoming>,
  { basePath, tenant }: { basePath: string; tenant: string },
): Drawing {
  const { externalId, sort = 'newest', pageSize = 20, lang = 'en', attributes = {}, hrefOf, nonce } = Object(options)
  const require = (holds: boolean, rule: string): void => {
    if (!holds) throw new TypeError(`renderThread: ${rule}`)
  }
  const isId = typeof externalId === 'string' && !/^\.{0,2}$/.test(externalId)
  require(isId, 'externalId must be a text, and more than dots')
  require(['newest', 'oldest', 'top'].includes(sort), 'sort must be newest, oldest or top')
  const isSize = Number.isInteger(pageSize) && pageSize >= 1 && pageSize <= MAX_PAGE_SIZE
  require(isSize, `pageSize must be 1 to ${MAX_PAGE_SIZE}`)
  require(typeof lang === 'string', 'lang must be a string')
  require(hrefOf === undefined || typeof hrefOf === 'function', 'hrefOf must be a function')
  for (const [name, value] of Object.entries(attributes)) {
    // One that begins with `on` is a script.
    const isName = /^(?!on)[a-z][a-z0-9-]*$/.test(name) && !OWN_ATTRIBUTES.test(name)
    require(isName && typeof value === 'string', `attributes cannot have ${name}`)
  }
  return {
    externalId,
    basePath,
    tenant,
    sort,
    pageSize: String(pageSize),
    lang,
    strings: options.strings ?? {},
    attributes,
    signedIn: null,
    isLater: typeof options.cursor === 'string',
    nonce: nonce ?? null,
    posting: postingOf(options.page ?? {}),
    hrefOf: hrefOf ?? null,
  }
}

/** Without addresses that a browser could run. */
function postingOf({ url, author, ...rest }: Posting): Posting {
  const isAddress = (address: unknown): boolean => typeof address === 'string' && /^https?:\/\//i.test(address)
  const known = author && { ...author, url: isAddress(author.url) ? author.url : undefined }
  return { ...rest, url: isAddress(url) ? url : undefined, author: known }
}

/** Draws the thread that `load` gives. If that fails, the element alone, which loads by itself. */
export async function render(
  drawing: Drawing,
  load: () => Promise<FirstPage>,
  onError: (error: unknown) => void,
): Promise<RenderedThread> {
  // Only here, because it takes longer to load than the rest of this library.
  const { drawElement, drawFirstPage } = await import('./first-page.js')
  try {
    const { comments, ...first } = await load()
    const shown = JSON.stringify({ ...first, comments: comments && publicPage(comments) })
    const { html, head } = await drawFirstPage(shown, drawing)
    const digest = createHash('sha256').update(`${html}\0${head}`).digest('base64url')
    return { html, head, etag: `"${digest}"`, lastEventId: first.discussion?.lastEventId ?? '0' }
  } catch (error) {
    // The connection to the service tells of its own errors.
    if (!(error instanceof Refusal)) onError(error)
    return { html: drawElement(drawing), head: '', etag: null, lastEventId: null }
  }
}

interface Shown {
  status: string
  replyCount: number
  author: { avatarUrl?: unknown; profileUrl?: unknown } | null
  replies?: Page
}
interface Page {
  data: Shown[]
}
/** Of what `GET /thread` answers, the parts that are looked at here. */
export interface FirstPage {
  discussion: { lastEventId: string } | null
  comments: Page | null
}

/**
 * What the public may see of a page of comments: a key that may moderate gets more. Addresses that
 * are not http or https are left out.
 */
function publicPage({ data, ...rest }: Page): Page {
  return { ...rest, data: data.flatMap((comment) => publicComment(comment)) }
}

function publicComment(comment: Shown): Shown[] {
  const { status, replyCount, author, replies } = comment
  const below = replies && { replies: publicPage(replies) }
  if (status === 'approved') return [{ ...comment, ...below, author: author && withSafeUrls(author) }]
  return replyCount === 0 ? [] : [{ ...tombstoneOf(comment), ...below }]
}

function withSafeUrls<T extends object>(author: T): T {
  const entries = Object.entries(author).map(([name, value]) => {
    const isUnsafe = name.endsWith('Url') && !/^https?:\/\//i.test(String(value))
    return [name, isUnsafe ? null : value]
  })
  return Object.fromEntries(entries) as T
}
