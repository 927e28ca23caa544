import type { PageComment } from '../backend.ts'
import type { Draft } from '../storage.ts'

type Text = Pick<Draft, 'text' | 'mentioned'>

/** What begins a mention in the Markdown of a comment. */
export const MENTION = '[@](reader:'
const WRITTEN = /\[@\]\(reader:([\da-f-]{36})\)/g

export const mentionOf = (id: string): string => `${MENTION}${id})`

/** The Markdown of a draft: names that were chosen become links of readers, the longest first. */
export function bodyOf({ text, mentioned = {} }: Text): string {
  const names = Object.keys(mentioned).sort((one, other) => other.length - one.length)
  if (names.length === 0) return text
  const any = names.map((name) => name.replace(/[$()*+.?[\\\]^{|}]/g, '\\$&')).join('|')
  return text.replace(new RegExp(`(?<![\\p{L}\\p{N}])@(${any})(?![\\p{L}\\p{N}])`, 'gu'), (written, name: string) => {
    const id = mentioned[name]
    return id === undefined ? written : mentionOf(id)
  })
}

/** A comment as a draft that shows names. Readers without a name stay as they are written. */
export function draftOf(comment: PageComment | undefined): Text {
  const { body, bodyHtml } = comment ?? {}
  const mentioned: Record<string, string> = {}
  const text = (body ?? '').replace(WRITTEN, (written, id: string) => {
    const name = nameIn(bodyHtml ?? '', id)
    if (name === '' || (mentioned[name] ?? id) !== id) return written
    mentioned[name] = id
    return `@${name}`
  })
  // A name that stands beside a letter would be no mention when it is sent.
  return bodyOf({ text, mentioned }) === body ? { text, mentioned } : { text: body ?? '' }
}

/** The name that the HTML of a comment shows for a reader; empty without one. */
function nameIn(html: string, id: string): string {
  const [, after = ''] = html.split(`data-reader="${id}">@`)
  return textOf(after.split('<')[0] ?? '')
}

const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>' }

const textOf = (escaped: string): string =>
  escaped.replace(/&(?:#(\d+)|(\w+));/g, (written, code: string | undefined, name: string) =>
    code === undefined ? (ENTITIES[name] ?? written) : String.fromCharCode(Number(code)),
  )
