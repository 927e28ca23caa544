import { expect, test } from 'vitest'

import { useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

const service = useService()
/** The key of a tenant with much text. */
let large: string

test('POST /settings/word-matches looks at the last 1 000 comments, whatever their number, and at 2 MB of text', async () => {
  const tenant = await service.addTenant('large')
  large = tenant.apiKey
  const headers = { 'x-api-key': large }
  const call = async (words: string[]) => await service.ok('POST', '/settings/word-matches', { words }, headers)
  const made = await service.call('POST', '/discussions', { body: { externalId: 'large' }, headers })
  const discussionId = made.json.id as string
  const fill = unnamed(
    `INSERT INTO comments (tenant_id, id, discussion_id, body, body_html, status)
     SELECT $1, new_id(), $2, $3 || n, '<p>' || $3 || n || '</p>', 'approved' FROM generate_series(1, $4::int) n`,
  )
  // Ids by the database's clock: a test before this one may have had its clock set ahead.
  await service.app.db.query(fill, [tenant.tenant.id, discussionId, 'first ', 1])
  await service.app.db.query(fill, [tenant.tenant.id, discussionId, 'early ', 600])
  await service.app.db.query(fill, [tenant.tenant.id, discussionId, 'late ', 900])
  expect(await call(['early', 'late', 'first'])).toMatchObject({ comments: 1000, matched: 1000 })
  expect((await call(['first'])).matched).toBe(0)
  await service.app.db.query(fill, [tenant.tenant.id, discussionId, 'long '.repeat(1900), 900])
  const { comments, matched } = await call(['long'])
  expect(comments).toBe(matched)
  expect(comments).toBeGreaterThan(90)
  expect(comments).toBeLessThan(120)
})

test('POST /settings/word-matches lets other requests through while it counts, and refuses with 503 when many wait', async () => {
  const trials = Array.from({ length: 20 }, () =>
    service.call('POST', '/settings/word-matches', {
      body: { words: ['absent'] },
      headers: { 'x-api-key': large },
    }),
  )
  expect((await service.call('GET', '/settings')).status).toBe(200)
  const answers = await Promise.all(trials)
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 503]))
  await service.ok('POST', '/settings/word-matches', { words: ['casino'] })
})
