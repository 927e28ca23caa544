/** The formats that an import reads, as `--from` takes them. */
export const SOURCE_NAMES = [
  'disqus',
  'wordpress',
  'coral',
  'remark42',
  'commento',
  'isso',
  'artrans',
  'jsonl',
] as const

export type SourceName = (typeof SOURCE_NAMES)[number]

/** The part of a page that becomes its external id, as `--page` takes them. */
export const PAGE_RULES = ['url', 'path', 'id', 'slug'] as const

export type PageRule = (typeof PAGE_RULES)[number]

/** A name for a source, as `--as` takes it. */
export const SOURCE_ALIAS = /^[\w-]{1,40}$/
