import { afterAll, beforeAll, expect, test } from 'vitest'

import { continueBackfills } from '../../src/data/migrations/backfills.ts'
import { renderMarkdown } from '../../src/domains/comments/text/markdown.ts'
import { decodeLetters, withoutCodes } from '../../src/transfer/import/encoded-letters.ts'
import { CODE_BACKFILLS } from '../../src/worker/chores.ts'
import { startService, type TestService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

const NAME = '20261129120400_encoded_letters'
let service: TestService
beforeAll(async () => void (service = await startService({ worker: false })))
afterAll(() => service.close())

const BODY = 'X&#x662F;**“强”**&#x662F;'

const post = async (body: string): Promise<string> => {
  const path = '/discussions/by-external/codes/comments'
  return (await service.call('POST', path, { body: { body }, headers: await service.as('ann') })).json.id
}
const bodies = async (ids: readonly string[]): Promise<[string, string][]> =>
  Promise.all(
    ids.map(async (id): Promise<[string, string]> => {
      const { body, bodyHtml, editedAt } = (await service.call('GET', `/comments/${id}`)).json
      expect(editedAt).toBeNull()
      return [body, bodyHtml]
    }),
  )
const open = () =>
  service.app.db.query(
    unnamed(
      `UPDATE backfills SET position = NULL, passes = 0, completed_at = NULL, created_at = now() WHERE name = $1`,
    ),
    [NAME],
  )
async function work(): Promise<void> {
  while (await continueBackfills(service.app.db, [], { [NAME]: { run: decodeLetters, settleSeconds: 0 } }));
}

test('stored texts with codes of earlier imports are written again, if the tenant has imported, and others stay', async () => {
  expect(Object.keys(CODE_BACKFILLS)).toContain(NAME)
  const others = ['plain', '`*&#x662F;`', 'a &#x662F; b', '**a**&#x20;b']
  const ids = [await post(BODY), ...(await Promise.all(others.map(post)))]
  const before = await bodies(ids)
  await open()
  await work()
  expect(await bodies(ids)).toEqual(before)
  const imported = unnamed(
    `INSERT INTO imports (tenant_id, id, source, file_name, started_at) VALUES ($1, gen_random_uuid(), 'wordpress', 'x', now())`,
  )
  await service.app.db.query(imported, [service.tenant.id])
  await open()
  await work()
  const [first, ...rest] = await bodies(ids)
  expect(first).toEqual(['X是“**强**”是', '<p>X是“<strong>强</strong>”是</p>\n'])
  expect(rest).toEqual(before.slice(1))
  const found = await service.app.db.query<{ done: boolean }>(
    unnamed('SELECT completed_at IS NOT NULL AS done FROM backfills WHERE name = $1'),
    [NAME],
  )
  expect(found).toEqual([{ done: true }])
})

test('a text that names a reader, or would show something else, stays', () => {
  const html =
    '<p><span class="mention" data-reader="018f0000-0000-7000-8000-000000000000">@</span> 是<strong>“强”</strong>是</p>\n'
  expect(withoutCodes(BODY, html)).toBeNull()
  expect(withoutCodes('`*&#x662F;`', renderMarkdown('`*&#x662F;`'))).toBeNull()
})
