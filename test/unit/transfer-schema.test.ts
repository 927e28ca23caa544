import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { expect, test } from 'vitest'

import { ROOT } from '../../src/core/root.ts'
import { item } from '../../src/domains/transfer/item.ts'

const ajv = new Ajv2020({ strict: false })
formats.default(ajv)
const validate = ajv.compile(
  JSON.parse(readFileSync(join(ROOT, 'docs/reference/transfer.schema.json'), 'utf8')) as object,
)

const comment = { kind: 'comment', id: '1', discussionId: '7', createdAt: '2015-03-01T10:00:00+02:00' }

test.each([
  [true, { kind: 'reader', id: '42', name: 'Ann', email: 'ann@example.com' }],
  [true, { ...comment, body: 'First', revisions: [{ body: 'Before', createdAt: comment.createdAt }] }],
  [true, { kind: 'reaction', commentId: '1', readerId: '42', type: 'like' }],
  [false, { ...comment, createdAt: '2015-03-01 10:00' }],
  [false, { ...comment, status: 'spam' }],
  [false, { kind: 'reader' }],
  [false, { kind: 'page', id: '7' }],
])('the JSON Schema agrees with the import: %s of %j', (isValid, given) => {
  expect([validate(given), item.safeParse(given).success]).toEqual([isValid, isValid])
})
