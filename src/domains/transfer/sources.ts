import { type Found, type OnRead, type Source, SourceError } from './item.ts'
import { artrans } from './sources/artrans.ts'
import { commento } from './sources/commento.ts'
import { coral } from './sources/coral.ts'
import { disqus } from './sources/disqus.ts'
import { isso } from './sources/isso.ts'
import { jsonl } from './sources/jsonl.ts'
import { detect } from './sources/detect.ts'
import { remark42 } from './sources/remark42.ts'
import { wordpress } from './sources/wordpress.ts'

/** What an import reads, by the name that `--from` has. */
export const SOURCES = {
  disqus,
  wordpress,
  coral,
  remark42,
  commento,
  isso,
  artrans,
  jsonl,
} as const satisfies Record<string, Source>

export type SourceName = keyof typeof SOURCES

/**
 * Reads a file as that of a source. One that looks like something else throws SourceError, which
 * says what.
 */
export async function* readSource(
  name: SourceName,
  path: string,
  onRead?: OnRead,
  salt?: string,
): AsyncGenerator<Found> {
  // The source itself says why a file cannot be read.
  const detected = await detect(path).catch(() => null)
  if (detected !== null && 'source' in detected && detected.source !== name) {
    throw new SourceError(`it looks like ${SOURCES[detected.source].about}: import it with --from ${detected.source}`)
  }
  let hasItem = false
  try {
    for await (const found of SOURCES[name].read(path, onRead, salt)) {
      hasItem ||= 'item' in found
      yield found
    }
  } catch (error) {
    if (hasItem || !(error instanceof SourceError) || detected === null || !('form' in detected)) throw error
    throw new SourceError(`${error.message}: it looks like ${detected.form}`, { cause: error })
  }
}
