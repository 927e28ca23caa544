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
 * The media ranges that `Accept` names and does not refuse by `q=0`, in lower case (RFC 9110,
 * section 12.5.1); all where it names none. Those in another charset than UTF-8 are left out: no
 * answer has one.
 */
export function mediaRanges(accept: string | undefined): string[] {
  return (accept?.trim() || '*/*')
    .toLowerCase()
    .split(',')
    .map((part) => part.split(';').map((text) => text.trim()))
    .filter(([, ...parameters]) => !parameters.some((parameter) => /^(q=0(\.0*)?$|charset=(?!utf-8$))/.test(parameter)))
    .map(([range = '']) => range)
}

/** Whether one of these media ranges has this media type in it. */
export const includesType = (ranges: readonly string[], type: string): boolean =>
  ranges.some((range) => range === type || range === '*/*' || range === `${type.split('/', 1)[0]}/*`)
