/**
 * Levels that lists and objects of a request may be nested. The deepest request of this service has
 * six.
 */
export const MAX_JSON_DEPTH = 50

const [QUOTE, ESCAPE, LIST, LIST_END, OBJECT, OBJECT_END] = Buffer.from('"\\[]{}')

/**
 * Whether a JSON text nests deeper than `MAX_JSON_DEPTH`. JSON.parse has no such bound, but all
 * that recurses over its result would overflow the stack. So the text is asked, in one pass. A text
 * that is no JSON is the parser's to refuse.
 */
export function isTooDeep(json: Uint8Array): boolean {
  let depth = 0
  let isInString = false
  for (let at = 0; at < json.length; at++) {
    const byte = json[at]
    if (byte === QUOTE) isInString = !isInString
    else if (isInString) at += Number(byte === ESCAPE)
    else if (byte === LIST || byte === OBJECT) {
      if (++depth > MAX_JSON_DEPTH) return true
    } else if (byte === LIST_END || byte === OBJECT_END) depth--
  }
  return false
}
