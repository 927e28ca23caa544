import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect, test } from 'vitest'

import type { SourceName } from '../../src/domains/imports/options.ts'
import type { Found } from '../../src/transfer/item.ts'
import { readSource } from '../../src/transfer/sources.ts'
import { useFolder } from '../harness/folders.ts'

const folder = useFolder()

async function readAll(name: SourceName, content: string): Promise<Found[]> {
  const path = join(folder, 'file')
  writeFileSync(path, content)
  const all: Found[] = []
  for await (const found of readSource(name, path)) all.push(found)
  return all
}

test('an export of WordPress with the comments of block editors is read, and recognised, in no time', async () => {
  const blocks = '<!-- wp:paragraph -->\n<p>x</p>\n<!-- /wp:paragraph -->\n\n'.repeat(1000)
  const rss = `<?xml version="1.0"?>\n<!-- a -->\n<!-- b -->\n<rss xmlns:wp="http://wordpress.org/export/1.2/"><channel><item><content:encoded><![CDATA[${blocks}]]></content:encoded></item></channel></rss>`
  const before = process.cpuUsage()
  expect(await readAll('wordpress', rss)).toEqual([])
  await expect(readAll('disqus', rss)).rejects.toThrow('--from wordpress')
  await expect(readAll('disqus', `<?xml version="1.0"?>${'<!-- a -->\n'.repeat(1000)}<x>`)).rejects.toThrow('line 1001')
  expect(process.cpuUsage(before).user / 1e6).toBeLessThan(2)
})
