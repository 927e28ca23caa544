import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'

import { type CodeBackfill, continueBackfills } from '../../src/data/migrations/backfills.ts'
import { upgrade } from '../../src/data/migrations/migrate.ts'
import { readMigrations } from '../../src/data/migrations/files.ts'
import { renderMarkdown } from '../../src/domains/comments/text/markdown.ts'
import { renderAgain } from '../../src/domains/comments/history/render-again.ts'
import { CODE_BACKFILLS, RENDER_AGAIN } from '../../src/worker/chores.ts'
import { SILENT } from '../harness/log.ts'
import { RENDERER } from '../harness/releases.ts'
import { startService, type TestService, type TestTenant } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

const { name: NAME } = RENDERER
const STORED = '<p>as the release before has rendered it</p>\n'

/** The database is that of a release with another renderer. */
const startNextRelease = (): Promise<TestService> =>
  startService({ worker: false, prepare: (database) => upgrade(database, SILENT, [...readMigrations(), RENDERER]) })

let service: TestService
let other: TestTenant

beforeAll(async () => {
  service = await startNextRelease()
  other = await service.addTenant('other')
})
afterAll(() => service.close())

const run = <Row>(text: string, params: (string | number)[] = []): Promise<Row[]> =>
  service.app.db.query<Row>(unnamed(text), params)

/** The database as an upgrade finds it: workers have done nothing yet. */
beforeEach(async () => {
  await run(`UPDATE comments SET body_html = $1 WHERE body IS NOT NULL`, [STORED])
  await run(
    `UPDATE backfills SET position = NULL, passes = 0, completed_at = NULL, created_at = now() WHERE name = $1`,
    [NAME],
  )
})

const isOpen = async () =>
  (await run<{ open: boolean }>(`SELECT completed_at IS NULL AS open FROM backfills WHERE name = $1`, [NAME]))[0]?.open

async function work(backfill: CodeBackfill = { run: renderAgain, settleSeconds: 0 }): Promise<void> {
  while (await continueBackfills(service.app.db, [], { [NAME]: backfill }));
}

const page = '/discussions/by-external/page/comments'
const read = (etag?: string) =>
  service.call('GET', page, etag === undefined ? {} : { headers: { 'if-none-match': etag } })
const post = async (body: string) => {
  const headers = await service.as('ann')
  return service.ok('POST', page, { body }, headers)
}
const stored = async () =>
  (
    await run<{ body: string; html: string }>(
      `SELECT body, body_html AS html FROM comments WHERE body IS NOT NULL ORDER BY id`,
    )
  ).map(({ body, html }) => [body, html])

test('every backfill of the workers in code belongs to a migration that has none in SQL', () => {
  const without = readMigrations().flatMap(({ name, backfill }) => (backfill === null ? [name] : []))
  expect(without).toEqual(expect.arrayContaining(Object.keys(CODE_BACKFILLS)))
})

test('a new database has nothing to render again', async () => {
  const fresh = await startNextRelease()
  try {
    const rows = await fresh.app.db.query<{ done: boolean }>(
      unnamed(`SELECT completed_at IS NOT NULL AS done FROM backfills WHERE name = $1`),
      [NAME],
    )
    expect(rows).toEqual([{ done: true }])
  } finally {
    await fresh.close()
  }
})

describe('stored HTML', () => {
  test('is rendered by the present rules, for all tenants, without an event, an edit or a stale page', async () => {
    const { id } = await post('Roses are red,\nviolets are blue')
    await post('one line')
    const theirs = { 'x-api-key': other.apiKey, ...(await other.as('bob')) }
    await service.call('POST', page, { body: { body: '> q\nanswer' }, headers: theirs })
    await run(`UPDATE comments SET body_html = $1`, [STORED])
    const before = await read()
    expect(before.json.data[0].bodyHtml).toBe(STORED)
    await work()
    for (const [body, html] of await stored()) expect(html).toBe(renderMarkdown(body ?? ''))
    const after = await read(before.headers.get('etag') ?? '')
    expect(after.status).toBe(200)
    const comments: { id: string; bodyHtml: string; editedAt: null; revision: number }[] = after.json.data
    expect(comments.find((comment) => comment.id === id)).toMatchObject({
      bodyHtml: '<p>Roses are red,<br>\nviolets are blue</p>\n',
      editedAt: null,
      revision: 1,
    })
    expect(await run(`SELECT type FROM events WHERE type <> 'comment_created'`)).toEqual([])
    expect((await read(after.headers.get('etag') ?? '')).status).toBe(304)
    expect(await isOpen()).toBe(false)
  })

  test('is rendered once, whichever and however many workers come, in batches', async () => {
    for (let n = 0; n < 30; n++) await post(`${n}\n${'long '.repeat(400)}`)
    await run(`UPDATE comments SET body_html = $1 WHERE body IS NOT NULL`, [STORED])
    await run(`UPDATE backfills SET changed = 0 WHERE name = $1`, [NAME])
    const { length } = await stored()
    let batches = 0
    const counted: CodeBackfill = {
      settleSeconds: 0,
      run: (sql, position) => {
        batches++
        return renderAgain(sql, position)
      },
    }
    await Promise.all([work(counted), work(counted)])
    // Another worker may have gone while one was at it.
    await work(counted)
    expect(await run(`SELECT changed::int FROM backfills WHERE name = $1`, [NAME])).toEqual([{ changed: length }])
    expect(batches).toBeGreaterThan(4)
    for (const [body, html] of await stored()) expect(html).toBe(renderMarkdown(body ?? ''))
  })

  test('of a text that is edited or erased meanwhile stays as that has left it', async () => {
    const edited = await post('first\ntext')
    const erased = await post('private\ntext')
    await run(`UPDATE comments SET body_html = $1 WHERE body IS NOT NULL`, [STORED])
    const headers = await service.as('ann')
    // Between what a worker reads and what it writes.
    const meanwhile: CodeBackfill = {
      settleSeconds: 0,
      run: (sql, position) => {
        let isFirst = true
        const late: typeof sql = async (statement, params) => {
          const rows = await sql(statement, params)
          if (isFirst) {
            isFirst = false
            await sql(
              unnamed(`UPDATE comments SET body = 'second', body_html = 'x', revision = revision + 1 WHERE id = $1`),
              [edited.id],
            )
            await sql(
              unnamed(
                `UPDATE comments SET body = NULL, body_html = NULL, status = 'deleted', deleted_at = now() WHERE id = $1`,
              ),
              [erased.id],
            )
          }
          return rows
        }
        return renderAgain(late, position)
      },
    }
    await continueBackfills(service.app.db, [], { [NAME]: meanwhile })
    expect(await run(`SELECT body, body_html AS html FROM comments WHERE id = $1`, [edited.id])).toEqual([
      { body: 'second', html: 'x' },
    ])
    expect(await run(`SELECT body, body_html AS html FROM comments WHERE id = $1`, [erased.id])).toEqual([
      { body: null, html: null },
    ])
    await work()
    expect(await run(`SELECT body_html AS html FROM comments WHERE id = $1`, [edited.id])).toEqual([
      { html: '<p>second</p>\n' },
    ])
    const patched = await service.call('PATCH', `/comments/${edited.id}`, { body: { body: 'a\nb' }, headers })
    expect(patched.json.bodyHtml).toBe('<p>a<br>\nb</p>\n')
  })

  test('that the previous release writes after the first pass is found once it has had time to go', async () => {
    const { id } = await post('a\nb')
    const patient = RENDER_AGAIN
    await work(patient)
    await run(`UPDATE comments SET body_html = $1 WHERE id = $2`, [STORED, id])
    await work(patient)
    expect(await run(`SELECT body_html AS html FROM comments WHERE id = $1`, [id])).toEqual([{ html: STORED }])
    expect(await isOpen()).toBe(true)
    await run(`UPDATE backfills SET created_at = now() - interval '1 hour' WHERE name = $1`, [NAME])
    await work(patient)
    expect(await run(`SELECT body_html AS html FROM comments WHERE id = $1`, [id])).toEqual([
      { html: '<p>a<br>\nb</p>\n' },
    ])
    expect(await isOpen()).toBe(false)
  })
})
