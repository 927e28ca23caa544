import { promisify } from 'node:util'
import { gzip } from 'node:zlib'

const zip = promisify(gzip)

/** A smaller answer fits into one packet either way. */
const MIN_BYTES = 1024

/** The answer as a browser gets it: compressed, unless it is short or the browser refuses gzip. */
export async function compress(response: Response, accepted: string | null): Promise<Response> {
  const bytes = new Uint8Array(await response.arrayBuffer())
  const { status, headers } = response
  // A 304 has to name what the answer that it stands for named.
  headers.append('vary', 'Accept-Encoding')
  if (bytes.length < MIN_BYTES || !takesGzip(accepted)) {
    return new Response(bytes.length === 0 ? null : bytes, { status, headers })
  }
  headers.set('content-encoding', 'gzip')
  return new Response(new Uint8Array(await zip(bytes)), { status, headers })
}

/** By RFC 9110, section 12.5.3: what names gzip counts before what names any. */
function takesGzip(accepted: string | null): boolean {
  const codings = (accepted ?? '').split(',').map((each) => each.trim().toLowerCase().split(';'))
  const [, ...parameters] = codings.find(([name]) => name?.trim() === 'gzip') ??
    codings.find(([name]) => name?.trim() === '*') ?? ['', 'q=0']
  return !parameters.some((each) => /^q=0(\.0*)?$/.test(each.trim()))
}
