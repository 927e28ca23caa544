import { expect, test } from 'vitest'

import { noteAnswer, noteErrors } from '../harness/documented.ts'
import { faults } from '../harness/faults.ts'
import { type TestResponse, useService } from '../harness/service.ts'

// Every answer of a contract test is compared with the reference. These tests make up differences,
// to show that they are found.

const service = useService()

const found = (): string[] => faults.splice(0)

/** An answer with something else in it. */
const changed = (answer: TestResponse, by: object): TestResponse => ({ ...answer, ...by })

test('an answer of REST with a status, code, type or field missing from the reference is reported', async () => {
  const ok = await service.call('GET', '/settings/public')
  const refused = await service.call('GET', '/comments/nothing')
  expect(found()).toEqual([])
  const note = (answer: TestResponse): void => noteAnswer(service.app.settings, 'GET', '/comments/nothing', answer)
  note(changed(refused, { status: 418 }))
  note(changed(refused, { json: { ...refused.json, code: 'already_reported' } }))
  note(changed(refused, { json: { ...refused.json, surprise: 1 } }))
  note(changed(refused, { headers: new Headers({ 'content-type': 'text/html' }) }))
  noteAnswer(service.app.settings, 'GET', '/settings/public', changed(ok, { json: {} }))
  expect(found()).toEqual([
    expect.stringContaining('comment answered 418, which is not documented'),
    expect.stringContaining('comment answered already_reported: its root field must name it in `throws`'),
    expect.stringContaining('additional properties'),
    expect.stringContaining('comment answered 404 as text/html'),
    expect.stringContaining("must have required property 'reactionTypes'"),
  ])
  // Of paths that are alike, the one that the router takes.
  noteAnswer(service.app.settings, 'GET', '/comments/bulk', changed(refused, { status: 405 }))
  noteAnswer(service.app.settings, 'GET', '/nowhere', changed(refused, { status: 418 }))
  expect(found()).toEqual([])
})

test('an error of GraphQL that its root field does not declare is reported', async () => {
  const query = '{ mine: comment(id: "nothing") { id } }'
  const { json } = await service.graphql(query)
  expect(json.errors).toMatchObject([{ path: ['mine'], extensions: { code: 'not_found' } }])
  expect(found()).toEqual([])
  const note = (code: string, path?: string[]): void =>
    noteErrors(query, { json: { errors: [{ path, extensions: { code } }] } } as TestResponse)
  note('already_reported', ['mine', 'author'])
  note('admin_only', ['mine'])
  note('validation_failed', ['mine'])
  note('already_reported')
  expect(found()).toEqual([
    'comment answered already_reported, which it does not name in `throws`',
    'comment answered admin_only, which it does not name in `throws`',
  ])
})
