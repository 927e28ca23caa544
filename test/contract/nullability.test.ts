import { type GraphQLField, isNonNullType } from 'graphql'
import { describe, expect, test } from 'vitest'

import { ACCESS_EXTENSION } from '../../src/graphql/access.ts'
import { callOf, fieldsOf } from '../harness/root-fields.ts'
import { type TestResponse, useKey, useService } from '../harness/service.ts'

const service = useService()
/** A key without any capability. */
const key = useKey(service)

const isRefused = ({ extensions }: GraphQLField<unknown, unknown>): boolean =>
  !['public', 'key'].includes(String(extensions[ACCESS_EXTENSION]))

const ALLOWED = {
  Query: 'allowed: publicSettings { reactionTypes }',
  Mutation: 'allowed: createDiscussion(input: { externalId: "beside" }) { discussion { externalId } }',
} as const

describe.each(['Query', 'Mutation'] as const)(
  'a refused field of %s leaves the answer of the one beside it',
  (root) => {
    test.each(fieldsOf(root).map((field) => [field.name, field] as const))('%s is nullable', (name, { type }) => {
      // Federation gives its own fields their types.
      expect(isNonNullType(type)).toBe(name.startsWith('_'))
    })

    test.each(
      fieldsOf(root)
        .filter(isRefused)
        .map((field) => [field.name, field] as const),
    )('%s', async (_name, field) => {
      // The export of a reader is asked for under one name.
      const last = field.name === 'readerExport' ? [] : ['last']
      const after = last.map((name) => `${name}: ${callOf(field)}`).join('')
      const query = `${root.toLowerCase()} { refused: ${callOf(field)} ${ALLOWED[root]} ${after} }`
      // A query that is sent three times is compiled.
      for (let n = 0; n < 4; n++) {
        const { status, json } = await service.graphql(query, {}, key)
        const { data, errors } = json as unknown as { data: Record<string, unknown>; errors: { path: string[] }[] }
        expect(status).toBe(200)
        expect(Object.keys(data)).toEqual(['refused', 'allowed', ...last])
        for (const name of ['refused', ...last]) expect(data[name]).toBeNull()
        expect(data.allowed).toEqual(expect.anything())
        expect(errors.map(({ path }) => path)).toEqual(['refused', ...last].map((name) => [name]))
      }
    })
  },
)

describe('the mutations of a document', () => {
  const SEVERAL = `mutation ($id: ID!, $page: String!) {
    first: createComment(input: { discussion: { externalId: $page }, body: "first" }) { comment { body } }
    lock: lockDiscussion(input: { discussionId: $id }) { discussion { state } }
    refused: createComment(input: { discussion: { externalId: $page }, body: "refused" }) { comment { body } }
    unlock: unlockDiscussion(input: { discussionId: $id }) { discussion { state commentCount } }
    last: createComment(input: { discussion: { externalId: $page }, body: "last" }) { discussion { commentCount } }
  }`

  async function sendSeveral(page: string, headers: Record<string, string> = {}): Promise<TestResponse> {
    const { json } = await service.call('POST', '/discussions', { body: { externalId: page } })
    return service.graphql(SEVERAL, { id: json.id as string, page }, { ...(await service.as('ann')), ...headers })
  }

  function expectAll({ status, json }: TestResponse): void {
    expect(status).toBe(200)
    expect(json.data).toEqual({
      first: { comment: { body: 'first' } },
      lock: { discussion: { state: 'locked' } },
      refused: null,
      unlock: { discussion: { state: 'open', commentCount: 1 } },
      last: { discussion: { commentCount: 2 } },
    })
    expect((json as { errors?: unknown }).errors).toMatchObject([
      { path: ['refused'], extensions: { code: 'discussion_locked' } },
    ])
  }

  test('run one after the other, each in its own transaction', async () => {
    for (let n = 0; n < 4; n++) expectAll(await sendSeveral(`serial-${n}`))
  })

  test('do so within the one transaction of an Idempotency-Key, whose replay is the same answer', async () => {
    const identity = await service.as('ann')
    const answer = await sendSeveral('serial-keyed', { ...identity, 'idempotency-key': 'several' })
    expectAll(answer)
    const { json } = await service.call('GET', '/discussions/by-external/serial-keyed')
    expect(json.commentCount).toBe(2)
    const again = await sendSeveral('serial-keyed', { ...identity, 'idempotency-key': 'several' })
    expect([again.text, again.headers.get('idempotency-replayed')]).toEqual([answer.text, 'true'])
  })

  test('go on after one whose variable is null where its default is allowed', async () => {
    const query = `mutation ($body: String = "x", $page: String!) {
      first: createDiscussion(input: { externalId: $page }) { created }
      refused: createComment(input: { discussion: { externalId: $page }, body: $body }) { comment { id } }
      last: createDiscussion(input: { externalId: $page }) { created }
    }`
    for (let n = 0; n < 4; n++) {
      const { json } = await service.graphql(query, { body: null, page: `null-${n}` }, await service.as('ann'))
      expect(json.data).toEqual({ first: { created: true }, refused: null, last: { created: false } })
    }
  })
})
