// The length of a text as the service counts it (src/core/input/texts.ts).

/** Of a comment. */
export const MAX_TEXT = 10_000
/** Of the note of a report. */
export const MAX_NOTE = 1000

/** Without what the service trims: the first line keeps an indent that Markdown reads. */
function trimmed(text: string): string {
  const inner = text.trim()
  const blank = text.slice(0, text.length - text.trimStart().length)
  const indent = blank.slice(Math.max(blank.lastIndexOf('\n'), blank.lastIndexOf('\r')) + 1)
  const isRead = /[\n\r\t]/.test(inner) || /\t| {4}/.test(indent)
  return isRead && inner !== '' && /^[ \t]*$/.test(indent) ? indent + inner : inner
}

/** By how many characters it is too long: code points, of which an emoji can have several. */
export const excess = (markdown: string, most: number): number =>
  Math.max(0, Array.from(trimmed(markdown)).length - most)
