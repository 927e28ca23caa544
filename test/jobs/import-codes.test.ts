import { expect, test } from 'vitest'

import { continueBackfills } from '../../src/data/migrations/backfills.ts'
import { readMigrations } from '../../src/data/migrations/files.ts'
import { renderMarkdown } from '../../src/domains/comments/text/markdown.ts'
import { decodeLetters, withoutCodes } from '../../src/transfer/import/encoded-letters.ts'
import { CODE_BACKFILLS } from '../../src/worker/chores.ts'
import { useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

const NAME = '20261129120400_encoded_letters'
const service = useService()

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

const countOf = async (column: string): Promise<unknown> =>
  (
    await service.app.db.query<{ value: unknown }>(
      unnamed(`SELECT ${column} AS value FROM backfills WHERE name = $1`),
      [NAME],
    )
  )[0]?.value

test('imported texts with codes are written again, and those of readers and of others stay', async () => {
  expect(Object.keys(CODE_BACKFILLS)).toContain(NAME)
  const others = ['plain', '`*&#x662F;`', 'a &#x662F; b', '**a**&#x20;b']
  const encoded = await post(BODY)
  const ids = [encoded, ...(await Promise.all(others.map(post)))]
  const own = await post(BODY)
  const before = await bodies([...ids, own])
  await open()
  await work()
  expect(await bodies([...ids, own])).toEqual(before)
  await service.app.db.query(
    unnamed(
      `WITH i AS (
         INSERT INTO imports (tenant_id, id, source, file_name, started_at)
         VALUES ($1, gen_random_uuid(), 'wordpress', 'x', now()) RETURNING id
       )
       INSERT INTO import_items (tenant_id, key, kind, item_id, import_id, made)
       SELECT $1, gen_random_uuid(), 'comment', k.id, i.id, true FROM i, unnest($2::uuid[]) AS k (id)`,
    ),
    [service.tenant.id, ids],
  )
  const detail = { rule: 'banned_word', match: '强', start: 12, end: 13 }
  await service.app.db.query(
    unnamed('UPDATE comments SET hold_details = $3::jsonb WHERE tenant_id = $1 AND id = ANY ($2::uuid[])'),
    [service.tenant.id, [encoded, own], JSON.stringify([detail])],
  )
  await open()
  await work()
  const [first, ...rest] = await bodies([...ids, own])
  expect(first).toEqual(['X是“**强**”是', '<p>X是“<strong>强</strong>”是</p>\n'])
  expect(rest).toEqual(before.slice(1))
  // The places in the text have moved.
  const details = await service.app.db.query<{ details: unknown }>(
    unnamed('SELECT hold_details AS details FROM comments WHERE tenant_id = $1 AND id = ANY ($2::uuid[]) ORDER BY id'),
    [service.tenant.id, [encoded, own]],
  )
  expect(details.map((each) => each.details)).toEqual([[{ ...detail, start: null, end: null }], [detail]])
  expect(await countOf('completed_at IS NOT NULL')).toBe(true)
})

test('the migration leaves the backfill open, because the release before may still import', async () => {
  const migration = readMigrations().find(({ name }) => name === NAME)
  await service.app.db.query(unnamed('DELETE FROM imports'))
  await service.app.db.query(unnamed('DELETE FROM backfills WHERE name = $1'), [NAME])
  await service.app.db.query(unnamed(migration?.script ?? ''))
  expect(await countOf('completed_at IS NULL')).toBe(true)
})

test.each([
  ['**a**&#x20;b &#x662F;**“强”**&#x662F;', 'a later code is one of a letter', '**a** b 是“**强**”是'],
  ['&#x1F600;**“强”**', 'an emoji', '😀“**强”**'],
  ['!**_是_**_!_&#x1F600;', 'an underscore', '!***是***!😀'],
])('%j: %s', (body, _, written) => {
  expect(withoutCodes(body, renderMarkdown(body))).toBe(written)
})

test('a text stays whose HTML would lose more than a code', () => {
  for (const other of ['[x](https://a.example "title")', '`a  b`']) {
    const body = `${BODY}\n\n${other}`
    expect(withoutCodes(body, renderMarkdown(body)), other).toBeNull()
  }
})

test('a text that names a reader, or would show something else, stays', () => {
  const html =
    '<p><span class="mention" data-reader="018f0000-0000-7000-8000-000000000000">@</span> 是<strong>“强”</strong>是</p>\n'
  expect(withoutCodes(BODY, html)).toBeNull()
  expect(withoutCodes('`*&#x662F;`', renderMarkdown('`*&#x662F;`'))).toBeNull()
})
