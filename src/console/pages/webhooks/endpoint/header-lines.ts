import type { EndpointFragment } from '../../../../generated/console.ts'

/** A header as the API takes it: without a value it keeps its present one. */
interface HeaderInput {
  name: string
  value: string | null
}

/** The headers of an endpoint as lines of a text; their values are unknown. */
export const headerLines = (headers: EndpointFragment['headers'] = []): string =>
  headers.map(({ name }) => name).join('\n')

const linesOf = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')

/** The headers that lines of `name: value` stand for, or of `name` alone. */
export const headersOf = (text: string): HeaderInput[] =>
  linesOf(text).map((line) => {
    const colon = line.indexOf(':')
    if (colon < 0) return { name: line, value: null }
    return { name: line.slice(0, colon).trim(), value: line.slice(colon + 1).trim() }
  })

/** The ids in the lines of a text; null for none, which means all. */
export function idsOf(text: string): string[] | null {
  const ids = linesOf(text)
  return ids.length === 0 ? null : ids
}
