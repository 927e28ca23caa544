/** A comment's text as it was written, and its HTML, which has the names of those it mentions. */
interface Written {
  body?: string | null
  bodyHtml?: string | null
}

/** A place in a text, in UTF-16 units. Null where the text has none. */
export interface Mark {
  start: number | null
  end: number | null
}

const WRITTEN = /\[@\]\(reader:([\da-f-]{36})\)/g
const RENDERED = /data-reader="([\da-f-]{36})">@([^<]*)</g
const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"' }

const textIn = (html: string): string => html.replace(/&(\w+);/g, (written, name: string) => ENTITIES[name] ?? written)

/** The text with `@` and a name in place of each mention. Null where the text is gone. */
export const textOf = (comment: Written): string | null =>
  comment.body == null ? null : textWithMarks(comment.body, comment.bodyHtml, []).text

/** The same text with spaces in place of mentions: their ids are no words, and all places stay. */
export const withoutMentions = (body: string): string => body.replace(WRITTEN, (one) => ' '.repeat(one.length))

/** `textOf` a body, and where its marks are then. */
export function textWithMarks(
  body: string,
  bodyHtml: string | null | undefined,
  marks: readonly Mark[],
): { text: string; marks: readonly Mark[] } {
  const written = [...body.matchAll(WRITTEN)]
  const rendered = [...(bodyHtml ?? '').matchAll(RENDERED)]
  const names = new Map(rendered.map(([, id = '', name = '']) => [id, name]))
  // Readers who were merged have another id in the HTML: there the order tells who is who.
  const isSame = written.length === rendered.length
  const changes = written.flatMap(({ 0: { length }, 1: id = '', index }, n) => {
    const name = isSame ? rendered[n]?.[2] : names.get(id)
    // Of nobody in this discussion, it is no mention and stays a text.
    return name === undefined ? [] : [{ index, length, text: `@${textIn(name) || 'a reader'}` }]
  })
  const move = (place: number | null): number | null =>
    place && changes.reduce((at, { index, length, text }) => (index < place ? at + text.length - length : at), place)
  const text = changes.reduceRight(
    (left, { index, length, text: name }) => left.slice(0, index) + name + left.slice(index + length),
    body,
  )
  return { text, marks: marks.map(({ start, end }) => ({ start: move(start), end: move(end) })) }
}
