/**
 * The most levels of nested lists and objects in a request. The deepest legitimate request has six.
 */
export const MAX_JSON_DEPTH = 50

const [QUOTE, ESCAPE, LIST, LIST_END, OBJECT, OBJECT_END] = Buffer.from('"\\[]{}')

/**
 * Whether a JSON text nests deeper than `MAX_JSON_DEPTH`, found in one pass over its bytes.
 * JSON.parse has no such bound, and code that recurses over its result would overflow the stack.
 * Text that is not JSON is left for the parser to refuse.
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
