import { readdir, stat } from 'node:fs/promises'

import type { SourceName } from '../domains/imports/options.ts'
import { type Found, type OnRead, type Refusal, type Source, SourceError, type SourceFile } from './item.ts'
import { artrans } from './sources/artrans.ts'
import { commento } from './sources/commento.ts'
import { coral } from './sources/coral.ts'
import { disqus } from './sources/disqus.ts'
import { isso } from './sources/isso.ts'
import { jsonl } from './sources/jsonl.ts'
import { filesInArchive } from './sources/archive.ts'
import { beginningOf, readBytes } from './sources/files.ts'
import { remark42 } from './sources/remark42.ts'
import { wordpress } from './sources/wordpress.ts'

/** The formats that an import reads, by their names for `--from`. */
export const SOURCES = {
  disqus,
  wordpress,
  coral,
  remark42,
  commento,
  isso,
  artrans,
  jsonl,
} as const satisfies Record<SourceName, Source>

/**
 * Reads a file in the given format. Throws SourceError if it looks like another one, which the
 * error names.
 */
export async function* readSource(
  name: SourceName,
  file: SourceFile,
  onRead?: OnRead,
  salt?: string,
): AsyncGenerator<Found> {
  // The source itself reports why a file cannot be read.
  const detected = await detect(file).catch(() => null)
  if (detected !== null && 'source' in detected && detected.source !== name) {
    throw new SourceError(`it looks like ${SOURCES[detected.source].about}: import it with --from ${detected.source}`)
  }
  let hasItem = false
  // Refusals, as long as the file may be one of another system.
  let foreign: Refusal[] | null = []
  try {
    for await (const found of SOURCES[name].read(file, onRead, salt)) {
      if (foreign !== null && 'refused' in found && found.isForeign === true) {
        foreign.push(found)
        if (foreign.length < MOST_FOREIGN) continue
        break
      }
      yield* foreign ?? []
      foreign = null
      hasItem ||= 'item' in found
      yield found
    }
    const [first] = foreign ?? []
    foreign = null
    if (first !== undefined) {
      throw new SourceError(`it is a file of another system: ${first.place}: ${first.refused}`)
    }
  } catch (error) {
    // A damaged file still says what was refused before the damage.
    yield* foreign ?? []
    if (hasItem || !(error instanceof SourceError) || detected === null || !('form' in detected)) throw error
    throw new SourceError(`${error.message}: it looks like ${detected.form}`, { cause: error })
  }
}

/** So many items that lack what each has are no damage. */
const MOST_FOREIGN = 100

/** What a file looks like: a source of an import, or a form that no source has. */
type Detected = { source: SourceName } | { form: string }

const HEAD_BYTES = 64 * 1024

/** In this order: what is more special stands first. XML begins with its root here. */
const FORMS: readonly [RegExp, Detected][] = [
  [/^<disqus\b/, { source: 'disqus' }],
  [/^<rss\b[^>]*https?:\/\/wordpress\.org\/export\//, { source: 'wordpress' }],
  [/^<(?:!doctype html|html)\b/i, { form: 'a page of HTML' }],
  [/^</, { form: 'XML of another kind' }],
  [/^\{\s*"version":\s*\d+,\s*"(?:users|posts)"/, { source: 'remark42' }],
  [
    /^\{[^\n]*"kind":\s*"(?:header|settings|reader|discussion|comment|reaction|report|endpoint|audit)"/,
    { source: 'jsonl' },
  ],
  [/^\{[^]*"(?:commentHex|commenterHex)":/, { source: 'commento' }],
  [/^\[[^]*"page_key":/, { source: 'artrans' }],
  [/^\[?\s*\{[^]*"(?:storyID|tenantID)":/, { form: 'a collection of Coral, which is read as a folder (--from coral)' }],
  [/^[[{]/, { form: 'JSON of another kind' }],
]

const SQLITE = 'SQLite format 3\0'

/** What a file or a folder looks like by its beginning; null where nothing is known of it. */
async function detect(file: SourceFile): Promise<Detected | null> {
  const names = await namesIn(file)
  if (names !== null) {
    return names.some((name) => /^comments\.(?:json|jsonl|ndjson)(?:\.gz)?$/.test(name)) ? { source: 'coral' } : null
  }
  if ((await beginningOf(file, SQLITE.length)).toString('latin1') === SQLITE) return { source: 'isso' }
  const head = withoutProlog(await headOf(file))
  return FORMS.find(([pattern]) => pattern.test(head))?.[1] ?? null
}

/** The names of the files in a folder or an archive; null for a file. */
async function namesIn(file: SourceFile): Promise<string[] | null> {
  if (typeof file === 'string') return (await stat(file)).isDirectory() ? readdir(file) : null
  return (await filesInArchive(file))?.map(({ name }) => name) ?? null
}

/** What stands before the root of an XML file. */
const PROLOG = [
  ['<?', '?>'],
  ['<!--', '-->'],
] as const

/** A text from its root on; empty if that lies further down. */
function withoutProlog(head: string): string {
  let from = 0
  for (;;) {
    while (/\s/.test(head.charAt(from))) from++
    const [open, close] = PROLOG.find(([begin]) => head.startsWith(begin, from)) ?? []
    if (open === undefined) return head.slice(from)
    const end = head.indexOf(close, from + open.length)
    if (end < 0) return ''
    from = end + close.length
  }
}

/** The beginning of the text of a file, unpacked. */
async function headOf(file: SourceFile): Promise<string> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const chunk of readBytes(file)) {
    parts.push(chunk)
    bytes += chunk.length
    if (bytes >= HEAD_BYTES) break
  }
  const head = Buffer.concat(parts).subarray(0, HEAD_BYTES)
  const text = head.subarray(0, 2).equals(UTF_16) ? head.toString('utf16le') : head.toString('utf8')
  return text.replace(/^\uFEFF/, '').trimStart()
}

const UTF_16 = Buffer.from([0xff, 0xfe])
