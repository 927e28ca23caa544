import { charactersOf } from './readers.ts'
import type { ServiceCall } from './service.ts'

/** What the publisher says of a page: moderators see it in the console. */
export interface Page {
  title?: string | null | undefined
  url?: string | null | undefined
}

const MAX_TITLE = 500
const MAX_URL = 2048
/** So many pages are remembered; another is told of again. */
const MAX_TOLD = 10_000

/**
 * A page as the service takes one. What it would not take is left out: it must keep nobody from
 * writing.
 */
function detailsOf({ title, url }: Page): Page {
  const text = charactersOf(
    textOf(title)
      .replaceAll(/\0|\p{Surrogate}/gu, '')
      .trim(),
  )
    .slice(0, MAX_TITLE)
    .join('')
  const address = textOf(url)
  const isAddress = /^https?:\/\/[^\s\p{Cc}\p{Surrogate}]+$/iu.test(address) && URL.canParse(address)
  return {
    ...(text === '' ? {} : { title: text }),
    ...(isAddress && charactersOf(address).length <= MAX_URL ? { url: address } : {}),
  }
}

/** The publisher may hand over a row of its own, with anything in it. */
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

/**
 * Tells the service of pages, before their first comment or stream begins a discussion that has no
 * name. Each is told once for as long as this process remembers it, and again when it has another
 * title or address. Never rejects.
 */
export function teller(
  ask: (call: ServiceCall) => Promise<unknown>,
): (externalId: string, page: Page) => Promise<void> {
  const told = new Map<string, { body: string; done: Promise<void> }>()
  return (externalId, page) => {
    const details = detailsOf(page)
    if (Object.keys(details).length === 0) return Promise.resolve()
    const body = JSON.stringify({ externalId, ...details })
    const known = told.get(externalId)
    if (known?.body === body) return known.done
    // Who writes waits for no failure of this, and the next one tries again.
    const done = ask({ method: 'POST', path: '/discussions', headers: {}, body: Buffer.from(body) }).then(
      () => undefined,
      () => void (told.get(externalId)?.body === body && told.delete(externalId)),
    )
    told.delete(externalId)
    told.set(externalId, { body, done })
    const [oldest] = told.keys()
    if (told.size > MAX_TOLD && oldest !== undefined) told.delete(oldest)
    return done
  }
}
