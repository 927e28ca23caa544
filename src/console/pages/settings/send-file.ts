import { CompleteImportUploadDocument, type ImportUploadsQuery } from '../../../generated/console.ts'
import { putBytes, request } from '../../api/request.ts'

export type UploadedFile = ImportUploadsQuery['uploads']['nodes'][number]

const MAX_TRIES = 5

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Sends the parts that are missing, and completes the upload. A part that fails is sent again. */
export async function sendFile(
  file: Blob,
  { id, partBytes, parts, missingParts }: UploadedFile,
  onSent: (parts: number) => void,
): Promise<void> {
  let sent = parts - missingParts.length
  for (const n of missingParts) {
    const part = file.slice(n * partBytes, (n + 1) * partBytes)
    for (let tries = 1; ; tries++) {
      try {
        await putBytes(`import-uploads/${id}/parts/${n}`, part)
        break
      } catch (error) {
        if (tries >= MAX_TRIES) throw error
        await pause(500 * 2 ** tries)
      }
    }
    onSent(++sent)
  }
  await request(CompleteImportUploadDocument, { input: { id } })
}

const SIGNS: readonly [RegExp, string][] = [
  [/^SQLite format 3/, 'isso'],
  [/<disqus\b/, 'disqus'],
  [/<rss\b/, 'wordpress'],
  [/^\{\s*"version":/, 'remark42'],
  [/"kind":/, 'jsonl'],
  [/"(?:commentHex|commenterHex)":/, 'commento'],
  [/"page_key":/, 'artrans'],
]

/** The system that has written a file, by its beginning or its name; null if neither tells. */
export async function sourceOf(file: File): Promise<string | null> {
  const head = await file.slice(0, 4096).text()
  const found = SIGNS.find(([sign]) => sign.test(head))?.[1]
  if (found !== undefined) return found
  if (file.name.endsWith('.tar')) return 'coral'
  return ['disqus', 'wordpress', 'remark42', 'commento'].find((name) => file.name.toLowerCase().includes(name)) ?? null
}
