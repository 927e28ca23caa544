import { expect, test } from 'vitest'

import { dumpTables } from '../harness/dump.ts'
import { useReaders, useService } from '../harness/service.ts'

const service = useService()
const { ann } = useReaders(service, 'ann')

const field = (body: string): string => `commentPreview(body: "${body}") { bodyHtml }`
const preview = (body: unknown, headers = ann) =>
  service.call('POST', '/comment-preview', { headers, body: body as object })

test('POST /comment-preview answers the HTML that the comment gets, and stores nothing', async () => {
  const body = '**bold** <b>\n\n> quote\n- https://a.example\n\n`code`'
  // Without what each request may move, such as when its key was used.
  const stored = async () =>
    (await dumpTables(service.app.db))
      .split('\n')
      .filter((line) => /^\W*(comment|discussion|reader|event|idempotency)/.test(line))
  const before = await stored()
  const answer = await preview({ body })
  expect(answer.status, answer.text).toBe(200)
  expect(await stored()).toEqual(before)
  const comment = await service.call('POST', '/discussions/by-external/p/comments', { headers: ann, body: { body } })
  expect(answer.json).toEqual({ bodyHtml: comment.json.bodyHtml })
})

test('a text that a comment would be refused for is shown: no rule judges it', async () => {
  await service.call('PATCH', '/settings', { body: { bannedWords: ['viagra'] } })
  expect((await preview({ body: 'viagra' })).json).toEqual({ bodyHtml: '<p>viagra</p>\n' })
})

test('without a reader it is 403 identity_required, and without a text 422', async () => {
  expect((await preview({ body: 'x' }, {})).json).toMatchObject({ status: 403, code: 'identity_required' })
  for (const body of [{}, { body: ' ' }, { body: 'x'.repeat(10_001) }, { body: 'a\0' }, { body: 'x', other: 1 }])
    expect((await preview(body)).json).toMatchObject({ status: 422, code: 'validation_failed' })
})

test('the previews of one GraphQL document have together as many characters as one comment', async () => {
  const ask = (each: string) => service.graphql(`{ a: ${field(each)} b: ${field(each)} }`, {}, ann)
  expect((await ask('x'.repeat(5000))).json.errors).toBeUndefined()
  expect((await ask('x'.repeat(5001))).json.errors[0].extensions).toMatchObject({ code: 'validation_failed' })
})
