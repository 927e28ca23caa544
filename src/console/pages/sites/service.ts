// The service that served the console, as pages of a site ask it.

import type { SitesQuery } from '../../../generated/console.ts'

export type Site = SitesQuery['sites']['nodes'][number]

/** The script of the widget. */
export const WIDGET = new URL('../widget.js', document.baseURI).href

interface Answer {
  status: number
  // Whatever it is: a problem, a thread, a reader.
  body: Readonly<Record<string, unknown>>
}

/**
 * Asks as a page of the site would: without the cookie of the console. Throws without a network.
 */
export async function askSite(
  publicKey: string,
  path: string,
  query: Readonly<Record<string, string>>,
  token?: string,
): Promise<Answer> {
  const url = new URL(`../engagement/${publicKey}${path}?${new URLSearchParams(query)}`, document.baseURI)
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const response = await fetch(url, { headers, credentials: 'omit' })
  return { status: response.status, body: (await response.json()) as Answer['body'] }
}
