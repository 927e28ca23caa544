import Negotiator from 'negotiator'

/**
 * Whether a client accepts gzip, and does not prefer plain bytes (RFC 9110, section 12.5.3). No
 * `Accept-Encoding` would allow any coding, but such clients often support none.
 */
export function takesGzip(acceptEncoding: string | undefined): boolean {
  const weights = new Map<string, number>()
  for (const part of (acceptEncoding ?? '').toLowerCase().split(',')) {
    const [coding = '', ...parameters] = part.split(';').map((text) => text.trim())
    const weight = parameters.find((parameter) => /^q\s*=/.test(parameter))
    weights.set(coding, weight === undefined ? 1 : Number(weight.slice(weight.indexOf('=') + 1)))
  }
  const gzip = weights.get('gzip') ?? weights.get('x-gzip') ?? weights.get('*') ?? 0
  return gzip > 0 && gzip >= (weights.get('identity') ?? 0)
}

/**
 * The media type of `types` that a client likes best (RFC 9110, section 12.5.1): the first where
 * it names none. Undefined where it accepts none of them. The types have their charset, which
 * `Accept` may name as well.
 */
export function preferredType(accept: string | undefined, types: readonly string[]): string | undefined {
  return new Negotiator({ headers: { accept: accept?.trim() || '*/*' } }).mediaType([...types])
}
