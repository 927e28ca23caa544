import type { Options } from 'minisearch'

/** A section of a page, as the search finds it. */
export interface Found {
  id: number
  /** Its address below `/docs/`. */
  address: string
  /** The title of its page; of a page itself, its part of the documentation. */
  page: string
  heading: string
  body: string
  /** The beginning of the body, which the results show. */
  shown: string
}

/** Tasks come before what is looked up, and that before its reasons. */
const WEIGHTS: readonly (readonly [RegExp, number])[] = [
  [/^guides\/[^#]*$/, 2],
  [/^guides\//, 1.5],
  [/^reference\/(graphql|rest\/objects)/, 0.7],
  [/^(decisions\/|architecture)/, 0.5],
]

/** How the index is made and asked: both need the same options. */
export const OPTIONS: Options<Found> = {
  fields: ['heading', 'page', 'body'],
  storeFields: ['address', 'page', 'heading', 'shown'],
  // Names such as `last_event_id` and `X-API-Key` are found whole, and by their parts.
  tokenize: (text) => {
    const names = text.split(/[^\p{L}\p{N}_-]+/u)
    const parts = names.filter((name) => /[_-]/.test(name)).flatMap((name) => name.split(/[_-]+/))
    return [...names, ...parts].filter((name) => name !== '')
  },
  searchOptions: {
    boost: { heading: 4, page: 2 },
    prefix: true,
    fuzzy: (term) => (term.length > 5 ? 0.2 : false),
    combineWith: 'AND',
    boostDocument: (_id, _term, stored) => WEIGHTS.find(([folder]) => folder.test(String(stored?.address)))?.[1] ?? 1,
  },
}
