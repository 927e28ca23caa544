import { expect, test } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { useService } from '../harness/service.ts'

const service = useService()

async function post(as = 'ann') {
  const path = `/discussions/by-external/${newId()}/comments`
  const { json } = await service.call('POST', path, { body: { body: 'One' }, headers: await service.as(as) })
  return json as { id: string; revision: number }
}

const edit = async (id: string, body: object, as = 'ann') =>
  service.call('PATCH', `/comments/${id}`, { body, headers: await service.as(as) })

test('an edit of the revision that the author has read is made', async () => {
  const { id, revision } = await post()
  expect(await edit(id, { body: 'Two', revision })).toMatchObject({ status: 200, json: { body: 'Two', revision: 2 } })
  expect(await edit(id, { body: 'Three', revision: 2 })).toMatchObject({ status: 200, json: { revision: 3 } })
})

test('an edit of an older revision is 409 invalid_transition, and changes nothing', async () => {
  const { id, revision } = await post()
  await edit(id, { body: 'From the phone', revision })
  for (const old of [revision, 3]) {
    const refused = await edit(id, { body: 'From the desk', revision: old })
    expect(refused).toMatchObject({ status: 409, json: { code: 'invalid_transition' } })
    expect(refused.json.detail).toBe(`The comment is at revision 2, not ${old}.`)
  }
  expect((await service.call('GET', `/comments/${id}`)).json).toMatchObject({ body: 'From the phone', revision: 2 })
})

test('of two edits of one revision at the same time one is made', async () => {
  const { id, revision } = await post()
  const answers = await Promise.all(['A', 'B', 'C', 'D'].map((body) => edit(id, { body, revision })))
  expect(answers.filter(({ status }) => status === 409)).toHaveLength(3)
  const made = answers.find(({ status }) => status === 200)
  expect((await service.call('GET', `/comments/${id}`)).json).toMatchObject({ body: made?.json.body, revision: 2 })
})

test('the same text again is 200, so that a lost answer can be asked for again', async () => {
  const { id, revision } = await post()
  for (let n = 0; n < 2; n++)
    expect(await edit(id, { body: 'Two', revision })).toMatchObject({ status: 200, json: { revision: 2 } })
})

test('without a revision, or with null, the last edit counts', async () => {
  const { id } = await post()
  expect((await edit(id, { body: 'Two' })).status).toBe(200)
  expect(await edit(id, { body: 'Three', revision: null })).toMatchObject({ status: 200, json: { revision: 3 } })
})

test('another reader learns nothing of the revision', async () => {
  const { id } = await post()
  expect(await edit(id, { body: 'Mine', revision: 9 }, 'bob')).toMatchObject({
    status: 403,
    json: { code: 'not_author' },
  })
})

test.each([0, -1, 1.5, '1', 2 ** 40])('revision %j is refused at its place', async (revision) => {
  const { id } = await post()
  const { status, json } = await edit(id, { body: 'Two', revision })
  expect([status, json.errors]).toEqual([422, [expect.objectContaining({ pointer: '/revision' })]])
})

test('GraphQL takes it too', async () => {
  const { id, revision } = await post()
  const mutation = `mutation ($input: UpdateCommentInput!) { updateComment(input: $input) { comment { revision } } }`
  const ask = async (body: string) =>
    (await service.graphql(mutation, { input: { commentId: id, body, revision } }, await service.as('ann'))).json
  expect(await ask('Two')).toEqual({ data: { updateComment: { comment: { revision: 2 } } } })
  expect((await ask('Three')).errors[0].extensions).toMatchObject({ code: 'invalid_transition', status: 409 })
})
