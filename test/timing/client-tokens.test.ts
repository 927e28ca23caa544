import { beforeEach, describe, expect, test, vi } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { sha256Hex } from '../../src/core/secrets/crypto.ts'
import { deleteOldClientTokens } from '../../src/worker/statements/old-rows-sql.ts'
import { TOKEN_ENDS } from '../harness/ends.ts'
import { type TestResponse, useService } from '../harness/service.ts'
import { holdsWithin } from '../harness/standstill.ts'
import { unnamed } from '../harness/sql.ts'
import { followBy } from '../harness/follow-by.ts'

const WAIT = { timeout: 8000, interval: 20 }
const SETTINGS = '{ publicSettings { maxDepth } }'

const service = useService()
let ann: Record<string, string>
let discussion: { id: string }
let comment: { id: string; author: { id: string } }

beforeEach(async () => {
  ann = await service.as(`ann-${newId()}`)
  discussion = await newDiscussion()
  comment = await post(discussion.id, ann)
})

const newDiscussion = async () =>
  (await service.call('POST', '/discussions', { body: { externalId: newId() } })).json as typeof discussion

async function post(discussionId: string, headers: Record<string, string>) {
  const path = `/discussions/${discussionId}/comments`
  return service.ok('POST', path, { body: 'Hello' }, headers) as Promise<typeof comment>
}

async function tokenOf(body: object = {}, headers: Record<string, string> = {}): Promise<string> {
  return (await service.ok('POST', '/client-tokens', body, headers)).token as string
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const ask = (token: string, query: string) => service.graphql(query, {}, bearer(token))
const codeOf = ({ json }: TestResponse): string | undefined => json.errors?.[0]?.extensions.code

/** Follows the discussion by a token, without trying again. */
const follow = (token: string, options: Partial<Parameters<typeof followBy>[2]> = {}) =>
  followBy(service, bearer(token), { discussionId: discussion.id, ...options })

describe('a client token that expired', () => {
  test('is refused as expired for an hour, and then deleted', async () => {
    const token = await tokenOf()
    const age = (interval: string) =>
      service.app.db.query(
        unnamed(
          `UPDATE client_tokens SET expires_at = now() - interval '${interval}' WHERE digest = decode($1, 'hex')`,
        ),
        [sha256Hex(token)],
      )
    await age('50 minutes')
    await deleteOldClientTokens(service.app.db.query, 100)
    const refused = await ask(token, SETTINGS)
    expect([refused.status, codeOf(refused)]).toEqual([401, 'expired_client_token'])
    await age('61 minutes')
    expect(await deleteOldClientTokens(service.app.db.query, 100)).toBe(1)
    await holdsWithin(6000, async () => expect(codeOf(await ask(token, SETTINGS))).toBe('invalid_client_token'))
  })
})

describe('it ends', () => {
  test.each(TOKEN_ENDS)('by %s: what it has open within 1 s', async (_what, end) => {
    const { id: keyId, key } = await service.newKey()
    const token = await tokenOf({}, { 'x-api-key': key, ...ann })
    const open = [follow(token), follow(token, { single: true })]
    for (const each of open) await vi.waitFor(() => expect(each.seqs).toEqual([1]), WAIT)
    await end(service, { keyId, readerId: comment.author.id })
    for (const each of open) await vi.waitFor(() => expect(each.failures).not.toEqual([]), { ...WAIT, timeout: 1000 })
    for (const each of open) each.close()
  })

  test('by its age, and its stream with it', async () => {
    const token = await tokenOf({}, ann)
    const soon = unnamed(
      `UPDATE client_tokens SET expires_at = now() + interval '4 s' WHERE digest = decode($1, 'hex')`,
    )
    await service.app.db.query(soon, [sha256Hex(token)])
    const open = follow(token)
    await vi.waitFor(() => expect(open.seqs).toEqual([1]), WAIT)
    await vi.waitFor(() => expect(open.failures).not.toEqual([]), WAIT)
    expect(open.completed).toBe(false)
    expect(codeOf(await ask(token, SETTINGS))).toBe('expired_client_token')
    open.close()
  })
})
