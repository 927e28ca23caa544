import { createWriteStream, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { gzipSync } from 'node:zlib'

import { expect, test } from 'vitest'

import { SourceError } from '../../src/transfer/item.ts'
import { disqus } from '../../src/transfer/sources/disqus.ts'
import { readLines } from '../../src/transfer/sources/files.ts'
import { useFolder } from '../harness/folders.ts'

const folder = useFolder()

async function readAll(path: string): Promise<void> {
  for await (const _ of disqus.read(path));
}

test.each([
  ['a text', '<post><message>', 'x'],
  ['a comment', '<!--', 'x'],
  ['a name', '<', 'x'],
  ['an attribute', '<post a="', 'x'],
  ['nested elements', '', '<a>'],
  ['a document type', '<!DOCTYPE disqus [', 'x'],
])('in hostile XML, %s without an end takes little memory', async (_, start, unit) => {
  // A long text is left out, and anything else refused early.
  const path = join(folder, 'bomb.gz')
  const block = gzipSync(Buffer.alloc(1 << 20, unit))
  await pipeline(async function* () {
    yield gzipSync(`<disqus xmlns="http://disqus.com">${start}`)
    for (let n = 0; n < 80; n++) yield block
  }, createWriteStream(path))
  const before = process.memoryUsage().rss
  await expect(readAll(path)).rejects.toThrow(SourceError)
  expect((process.memoryUsage().rss - before) / 1e6).toBeLessThan(70)
})

test("lines that fill a file's blocks leave none of them in memory", async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const path = join(folder, 'blocks.jsonl')
  writeFileSync(path, `${'x'.repeat(255)}\n`.repeat((64 << 20) / 256))
  // Of other tests in this process.
  collect()
  const before = process.memoryUsage().arrayBuffers
  let [lines, bytes] = [0, 0]
  for await (const line of readLines(path)) {
    if (line?.length === 255) lines++
    if (lines !== 250_000) continue
    collect()
    bytes = process.memoryUsage().arrayBuffers - before
  }
  expect(lines).toBe((64 << 20) / 256)
  expect(bytes / 1e6).toBeLessThan(30)
})
