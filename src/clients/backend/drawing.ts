/** The page around a thread, for search engines (`DiscussionForumPosting`). */
export interface Posting {
  title?: string | null | undefined
  /** The page's own address, absolute and without a fragment. */
  url?: string | null | undefined
  /** Who has written the page. */
  author?: { name: string; url?: string | undefined; type?: 'Person' | 'Organization' | undefined } | undefined
  /** ISO 8601. */
  datePublished?: string | undefined
  /** The text of the page, or its summary. */
  text?: string | undefined
}

/** How a first page is drawn. */
export interface Drawing {
  externalId: string
  basePath: string
  sort: string
  pageSize: string
  lang: string
  strings: Readonly<Record<string, string | Partial<Record<Intl.LDMLPluralRule, string>>>>
  /** Further attributes of the element. */
  attributes: Readonly<Record<string, string>>
  /** Whether a reader is signed in; null where the page does not know. */
  signedIn: boolean | null
  /** Whether it is a page after the first, which the widget does not go on with. */
  isLater: boolean
  nonce: string | null
  posting: Posting
  /** Named as the author where the page has none. */
  tenant: string
  /** Where a reader without JavaScript finds the next page; null for nowhere. */
  hrefOf: ((cursor: string) => string) | null
}

/** Draws the first page of a thread: `first` is the JSON of what `GET /thread` answers. */
export type DrawFirstPage = (first: string, drawing: Drawing) => Promise<{ html: string; head: string }>

/** Draws the element without any comments: the widget loads them by itself. */
export type DrawElement = (drawing: Drawing) => string
