import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect, test } from 'vitest'

import type { RenderOptions } from '../../src/clients/backend/backend.ts'
import { fetchSite } from '../harness/backends.ts'
import { ROOT } from '../harness/markdown.ts'
import { useService } from '../harness/service.ts'

const service = useService()

const post = async (as: string, body: string, parentId: string | null = null): Promise<string> => {
  const headers = await service.as(as)
  return (await service.ok('POST', '/discussions/by-external/story/comments', { body, parentId }, headers)).id
}

async function postingOf(given: Partial<RenderOptions<Request>> = {}): Promise<object> {
  const { head } = await fetchSite(service).backend.renderThread({ externalId: 'story', ...given })
  return JSON.parse(/<script type="application\/ld\+json">([^<]*)<\/script>/.exec(head)?.[1] ?? '') as object
}

test('the data for search engines has the types of schema.org', async () => {
  const first = await post('ann', 'The **first** one')
  await post('bob', 'An answer </script>', first)
  await service.call('PUT', `/comments/${first}/reaction`, { body: { type: 'like' }, headers: await service.as('bob') })
  await service.ok('PATCH', `/comments/${first}`, { body: 'The first, edited' }, await service.as('ann'))
  const known = {
    title: 'A story',
    url: 'https://www.example.com/story#x',
    author: { name: 'Eva', url: 'https://www.example.com/eva' },
    datePublished: '2026-11-01T08:00:00Z',
    text: 'It begins.',
  }
  const postings = [await postingOf({ page: known }), await postingOf()]
  for (const posting of postings) expect(posting).toMatchObject({ comment: [{ comment: [{}] }] })
  expectTypes(postings)
})

/** Compiles them as values of the types of schema.org. */
function expectTypes(postings: object[]): void {
  const folder = mkdtempSync(join(ROOT, 'test/.json-ld-'))
  try {
    const lines = postings.map(
      (posting, n) => `export const posting${n}: WithContext<DiscussionForumPosting> = ${JSON.stringify(posting)}`,
    )
    writeFileSync(
      join(folder, 'postings.ts'),
      `import type { DiscussionForumPosting, WithContext } from 'schema-dts'\n${lines.join('\n')}\n`,
    )
    const options = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--ignoreConfig']
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
    const compiled = spawnSync(process.execPath, [tsc, ...options, join(folder, 'postings.ts')], { encoding: 'utf8' })
    expect(compiled.stdout).toBe('')
  } finally {
    rmSync(folder, { recursive: true })
  }
}
