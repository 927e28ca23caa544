import { charactersOf } from './readers.ts'
import type { ServiceCall } from './service.ts'

/** The publisher's details of a page, which moderators see in the console. */
export interface Page {
  title?: string | null | undefined
  url?: string | null | undefined
}

const MAX_TITLE = 500
const MAX_URL = 2048
/** How many pages are remembered; others are sent again. */
const MAX_TOLD = 10_000

/**
 * A page in the form that the service accepts. Details that it would refuse are left out, so that
 * they keep no one from writing.
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
  const isAddress =
    /^https?:\/\/[^/\\?#\s\p{Cc}\p{Surrogate}]+([/?#][^\s\p{Cc}\p{Surrogate}]*)?$/iu.test(address) &&
    URL.canParse(address)
  return {
    ...(text === '' ? {} : { title: text }),
    ...(isAddress && charactersOf(address).length <= MAX_URL ? { url: address } : {}),
  }
}

/** The publisher may pass a row of its own, with values of any type. */
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

/**
 * Sends the details of pages to the service, before their first comment, stream or token creates a
 * discussion without them. Each page is sent once while this process remembers it, and again when
 * its title or address changes. Never rejects.
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
    // A failure must not keep anyone from writing, and the next request tries again.
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
