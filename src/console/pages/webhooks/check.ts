/** How far a receiver lets a timestamp be from its clock. */
const TOLERANCE_MS = 300_000

export interface Given {
  /** Lines of `Name: value`. */
  headers: string
  body: string
  /** `whs_…`, or the same secret as `whsec_…`. */
  secret: string
}

export interface Finding {
  isGenuine: boolean
  /** What was found, and what to do about it. */
  words: string
}

const refused = (words: string): Finding => ({ isGenuine: false, words })

/**
 * Whether a request carries a signature of the secret, by the service's own headers or those of
 * Standard Webhooks (docs/guides/webhook-signatures.md). Nothing leaves the browser.
 */
export async function checkRequest({ headers, body, secret }: Given, now: number): Promise<Finding> {
  const bytes = secretBytes(secret.trim())
  if (bytes === null) return refused('The secret must be whs_ and 64 hex characters, or whsec_ and base64.')
  const signed = signaturesIn(readHeaders(headers))
  if (signed === null) return refused('A header is missing: its timestamp, or its signature.')
  if (Number.isNaN(signed.at)) return refused('The timestamp cannot be read.')
  const isSigned = (text: string): Promise<boolean> => signed.isSigned(bytes, text)
  if (!(await isSigned(body))) return refused(await whyNot(body, isSigned))
  return Math.abs(now - signed.at) > TOLERANCE_MS
    ? refused('The signature is right. Its timestamp is more than five minutes from now, so receivers refuse it.')
    : { isGenuine: true, words: 'The signature is right, and the request is recent.' }
}

/** What an unsuccessful receiver has most often done to the body. */
async function whyNot(body: string, isSigned: (text: string) => Promise<boolean>): Promise<string> {
  if (await isSigned(body.trimEnd()))
    return 'The signature is right without the space or line break at the end of the body.'
  if (await isSigned(compact(body))) {
    return 'The signature is right for the same JSON without its spaces. Sign the bytes as they came, before they are parsed.'
  }
  return 'The signature does not fit. The secret is another one, or the body or the timestamp was changed.'
}

function compact(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body))
  } catch {
    return body
  }
}

interface Signatures {
  /** NaN where it cannot be read. */
  at: number
  isSigned: (secret: Uint8Array, body: string) => Promise<boolean>
}

function signaturesIn(headers: ReadonlyMap<string, string>): Signatures | null {
  const prefix = [...headers.keys()].flatMap((name) => /^(?!webhook-)(.+-)signature$/.exec(name)?.[1] ?? [])[0]
  const timestamp = prefix === undefined ? undefined : headers.get(`${prefix}timestamp`)
  if (prefix !== undefined && timestamp !== undefined) {
    const given = [headers.get(`${prefix}signature`), headers.get(`${prefix}signature-previous`)]
    const hex = given.flatMap((text) => /v1=([0-9a-f]{64})/.exec(text ?? '')?.[1] ?? [])
    return {
      at: Date.parse(timestamp),
      isSigned: async (secret, body) =>
        hex.includes((await hmac(utf8(`whs_${toHex(secret)}`), `${timestamp}.${body}`)).hex),
    }
  }
  const [id, seconds, signature] = ['id', 'timestamp', 'signature'].map((name) => headers.get(`webhook-${name}`))
  if (id === undefined || seconds === undefined || signature === undefined) return null
  return {
    at: /^\d+$/.test(seconds) ? Number(seconds) * 1000 : NaN,
    isSigned: async (secret, body) =>
      signature.split(' ').includes(`v1,${(await hmac(secret, `${id}.${seconds}.${body}`)).base64}`),
  }
}

/** By their names in lower case. */
const readHeaders = (text: string): Map<string, string> =>
  new Map(
    text.split('\n').flatMap((line): [string, string][] => {
      const at = line.indexOf(':')
      const name = line.slice(0, Math.max(at, 0)).trim()
      return name === '' || /\s/.test(name) ? [] : [[name.toLowerCase(), line.slice(at + 1).trim()]]
    }),
  )

/** The 32 bytes of a secret in either form; null for anything else. */
function secretBytes(secret: string): Uint8Array | null {
  const hex = /^whs_([0-9a-f]{64})$/.exec(secret)?.[1]
  if (hex !== undefined) return Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))
  const base64 = /^whsec_([A-Za-z0-9+/]{43}=)$/.exec(secret)?.[1]
  return base64 === undefined ? null : Uint8Array.from(atob(base64), (each) => each.codePointAt(0) ?? 0)
}

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text)

const toHex = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')

async function hmac(secret: Uint8Array, text: string): Promise<{ hex: string; base64: string }> {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  const key = await crypto.subtle.importKey('raw', new Uint8Array(secret), algorithm, false, ['sign'])
  const bytes = new Uint8Array(await crypto.subtle.sign('HMAC', key, new Uint8Array(utf8(text))))
  return { hex: toHex(bytes), base64: btoa(String.fromCodePoint(...bytes)) }
}
