import { beforeAll, describe, expect, test } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { undoImport } from '../../src/transfer/undo/undo.ts'
import { callsTo } from '../harness/calls.ts'
import { dumpTables } from '../harness/dump.ts'
import { exportText, importText } from '../harness/exports.ts'
import { addMember, type TestMember } from '../harness/members.ts'
import { type Headers, type Json, type TestTenant, useKey, useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

const service = useService()
const moderator = useKey(service, 'moderate_content')
const colleague = useKey(service, 'moderate_content')
const plain = useKey(service, 'manage_settings')
let admin: Headers

beforeAll(async () => {
  const login = await service.call('POST', '/admin/auth/login', { headers: { 'x-api-key': '' }, body: service.admin })
  admin = { authorization: `Bearer ${login.json.token}` }
})

const { call, ok } = callsTo(() => service)

const post = async (reader = `reader-${newId()}`, tenant: TestTenant = service): Promise<Json> => {
  const headers = { 'x-api-key': tenant.apiKey, ...(await tenant.as(reader)) }
  return ok('POST', `/discussions/by-external/${newId()}/comments`, { body: 'text' }, headers)
}
const textsOn = async (on: string, headers = moderator): Promise<string[]> =>
  (await ok('GET', `/${on}/notes`, undefined, headers)).data.map(({ text }: Json) => text)

test.each(['readers', 'comments'] as const)('notes on %s are listed newest first, page by page', async (kind) => {
  const { id, author } = await post()
  const on = kind === 'readers' ? `readers/${author.id}` : `comments/${id}`
  const made: Json[] = []
  for (const text of ['one', '  two\n', 'three']) made.push(await ok('POST', `/${on}/notes`, { text }, moderator))
  expect(made[1]).toEqual({
    id: expect.any(String),
    readerId: kind === 'readers' ? author.id : null,
    commentId: kind === 'comments' ? id : null,
    text: 'two',
    author: { kind: 'key', id: expect.any(String), label: 'test', email: null },
    createdAt: expect.any(String),
  })
  const first = await ok('GET', `/${on}/notes?limit=2`, undefined, colleague)
  const rest = await ok('GET', `/${on}/notes?limit=2&cursor=${first.nextCursor}`, undefined, admin)
  expect([...first.data, ...rest.data]).toEqual(made.toReversed())
  expect(rest.hasMore).toBe(false)
  const NOTES = `query ($id: ID!) { notes(on: { ${kind === 'readers' ? 'readerId' : 'commentId'}: $id }) {
    nodes { id text author { email label } } } node(id: "${made[0].id}") { ... on Note { text } } }`
  const { data } = (await service.graphql(NOTES, { id: kind === 'readers' ? author.id : id }, admin)).json
  expect(data.notes.nodes.map(({ text }: Json) => text)).toEqual(['three', 'two', 'one'])
  expect(data.node).toEqual({ text: 'one' })
})

test('a note of an admin names them', async () => {
  const { id } = await post()
  const { author } = await ok('POST', `/comments/${id}/notes`, { text: 'text' }, admin)
  expect(author).toMatchObject({ kind: 'admin', email: service.admin.email, label: null })
})

test('only moderators write, see and delete notes', async () => {
  const { id, author } = await post()
  const { id: noteId } = await ok('POST', `/comments/${id}/notes`, { text: 'secret' }, moderator)
  const asReader = { ...plain, ...(await service.as('reader')) }
  for (const headers of [plain, asReader]) {
    for (const [method, path] of [
      ['GET', `/comments/${id}/notes`],
      ['GET', `/readers/${author.id}/notes`],
      ['DELETE', `/notes/${noteId}`],
    ] as const) {
      expect((await call(method, path, undefined, headers)).json.code).toBe('missing_capability')
    }
    expect((await call('POST', `/comments/${id}/notes`, { text: 'x' }, headers)).status).toBe(403)
  }
  const { json } = await service.graphql(`{ node(id: "${noteId}") { id } }`, {}, plain)
  expect(json.data.node).toBeNull()
})

test('the author deletes a note, and so does an admin, but no colleague', async () => {
  const { id } = await post()
  const note = async () => (await ok('POST', `/comments/${id}/notes`, { text: 'text' }, moderator)).id
  const [one, two] = [await note(), await note()]
  expect((await call('DELETE', `/notes/${one}`, undefined, colleague)).json).toMatchObject({
    status: 403,
    code: 'not_author',
  })
  const [ann, bob] = [await addMember(service, service, 'moderator'), await addMember(service, service, 'editor')]
  const as = ({ headers }: TestMember) => ({ 'x-api-key': '', ...headers })
  const own = (await ok('POST', `/comments/${id}/notes`, { text: 'text' }, as(ann))).id
  for (const each of [one, own]) {
    expect((await call('DELETE', `/notes/${each}`, undefined, as(bob))).json.code).toBe('not_author')
  }
  expect((await call('DELETE', `/notes/${own}`, undefined, as(ann))).status).toBe(204)
  expect((await call('DELETE', `/notes/${one}`, undefined, moderator)).status).toBe(204)
  expect((await call('DELETE', `/notes/${two}`, undefined, admin)).status).toBe(204)
  expect((await call('DELETE', `/notes/${one}`, undefined, moderator)).status).toBe(404)
  expect(await textsOn(`comments/${id}`)).toEqual([])
  const AUDIT = unnamed('SELECT action, before, after FROM audit_log WHERE target_id = $1 ORDER BY id')
  // Without the text, which an erasure would have to find there.
  expect(await service.app.db.query(AUDIT, [one])).toEqual([
    { action: 'note.create', before: null, after: { commentId: id } },
    { action: 'note.delete', before: { commentId: id }, after: null },
  ])
})

test.each([
  [{}, '/text'],
  [{ text: '' }, '/text'],
  [{ text: ' \n' }, '/text'],
  [{ text: 'x'.repeat(2001) }, '/text'],
  [{ text: 'a\0b' }, '/text'],
])('%j is 422', async (body, pointer) => {
  const { id } = await post()
  const { status, json } = await call('POST', `/comments/${id}/notes`, body, moderator)
  expect({ status, pointer: json.errors[0].pointer }).toEqual({ status: 422, pointer })
})

test('2 000 characters are a note, of which an emoji is one', async () => {
  const { id } = await post()
  const text = '🙂'.repeat(2000)
  expect((await ok('POST', `/comments/${id}/notes`, { text }, moderator)).text).toBe(text)
})

test('an unknown id is 404', async () => {
  for (const path of [`/comments/${newId()}/notes`, '/readers/none/notes', `/readers/${newId()}/notes`]) {
    expect((await call('GET', path, undefined, moderator)).status).toBe(404)
    expect((await call('POST', path, { text: 'x' }, moderator)).status).toBe(404)
  }
})

describe('the notes of a reader', () => {
  test.each(['anonymise', 'delete'])('and of their comments go with an erasure (%s)', async (erasureMode) => {
    const tag = `note-${newId()}`
    const { id, author } = await post()
    await ok('POST', `/comments/${id}/notes`, { text: tag }, moderator)
    await ok('POST', `/readers/${author.id}/notes`, { text: tag }, moderator)
    const exported = await ok('GET', `/readers/${author.id}/export`)
    const createdAt = expect.any(String)
    expect(exported.notes).toEqual([null, id].map((commentId) => ({ commentId, text: tag, createdAt })))
    await ok('PATCH', '/settings', { erasureMode })
    await ok('DELETE', `/readers/${author.id}`)
    await ok('PATCH', '/settings', { erasureMode: 'anonymise' })
    expect(await dumpTables(service.app.db)).not.toContain(tag)
    // Nothing leads to the erased reader: a note would be about nobody.
    expect((await call('POST', `/comments/${id}/notes`, { text: 'x' }, moderator)).status).toBe(404)
    expect((await call('POST', `/readers/${author.id}/notes`, { text: 'x' }, moderator)).status).toBe(404)
  })

  test('written while they are erased do not survive', async () => {
    for (let n = 0; n < 5; n++) {
      const tag = `race-${newId()}`
      const { id, author } = await post()
      const write = () => [
        call('POST', `/comments/${id}/notes`, { text: tag }, moderator),
        call('POST', `/readers/${author.id}/notes`, { text: tag }, moderator),
      ]
      const answers = await Promise.all([
        ...write(),
        ...write(),
        call('DELETE', `/readers/${author.id}`),
        ...write(),
        ...write(),
      ])
      for (const { status } of answers) expect([201, 204, 404]).toContain(status)
      expect(await dumpTables(service.app.db)).not.toContain(tag)
    }
  })

  test('move to the reader into whom they are merged', async () => {
    const [from, into] = [await post(), await post()]
    await ok('POST', `/readers/${from.author.id}/notes`, { text: 'moves' }, moderator)
    await ok('POST', `/comments/${from.id}/notes`, { text: 'stays' }, moderator)
    await ok('POST', `/readers/${from.author.id}/merge`, { into: into.author.id })
    expect(await textsOn(`readers/${into.author.id}`)).toEqual(['moves'])
    expect(await textsOn(`comments/${from.id}`)).toEqual(['stays'])
  })
})

test('notes survive an export and an import, and its undo takes them', async () => {
  const [from, to] = [await service.addTenant(`from-${newId()}`), await service.addTenant(`to-${newId()}`)]
  const { id, author } = await post('ann', from)
  for (const on of [`comments/${id}`, `readers/${author.id}`]) {
    for (const text of ['one', 'two']) await ok('POST', `/${on}/notes`, { text }, { 'x-api-key': from.apiKey })
  }
  const text = await exportText(service.app, from)
  const report = await importText(service.app, to, text)
  expect(report.refused.total).toBe(0)
  const ROWS = unnamed(`SELECT id, reader_id, comment_id, text, actor_kind, actor_id, created_at FROM notes
    WHERE tenant_id = $1 ORDER BY id`)
  const rowsOf = ({ tenant }: TestTenant) => service.app.db.query(ROWS, [tenant.id])
  expect(await rowsOf(to)).toEqual(await rowsOf(from))
  expect(await rowsOf(to)).toHaveLength(4)
  // Without the header they are left out, as all that has the ids of another service.
  const bare = text
    .split('\n')
    .slice(1)
    .filter((line) => /"kind":"(reader|discussion|comment)"/.test(line))
  const third = await service.addTenant(`third-${newId()}`)
  const { changed } = await importText(service.app, third, bare.join('\n'))
  expect(JSON.stringify(changed)).toContain('notes: is only taken from an export')
  expect(await rowsOf(third)).toEqual([])
  await undoImport(service.app, to.tenant.id, report.id ?? '')
  expect(await rowsOf(to)).toEqual([])
})
