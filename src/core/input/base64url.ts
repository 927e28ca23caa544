// The last letter of a text must not have bits that belong to no byte: a decoder ignores them, so
// that several texts would be one value.
const BYTES = '(?:[\\w-]{4})*(?:[\\w-][AQgw]|[\\w-]{2}[AEIMQUYcgkosw048])?'
const ONE = new RegExp(`^${BYTES}$`)
const COMPACT = new RegExp(`^${BYTES}\\.${BYTES}\\.${BYTES}$`)

/** Whether a text is the one form of its bytes in base64url (RFC 4648, 3.5), without padding. */
export const isBase64url = (text: string): boolean => ONE.test(text)

/** Whether each of the three parts of a compact JWS is (RFC 7515, 2). */
export const isCompactJws = (token: string): boolean => COMPACT.test(token)
