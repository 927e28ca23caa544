import { describe, expect, test } from 'vitest'

import { onServer } from '../harness/database.ts'
import { first, last } from '../harness/processes.ts'
import { useProcesses } from '../harness/service-processes.ts'
import { holdsWithin, runningMs } from '../harness/standstill.ts'

/** What a loaded machine may add: the promise is 1 s with the bus, 5 s without. */
const SLACK_MS = 1500

const skipped = onServer ? '' : ' (skipped: needs DATABASE_URL)'

describe.skipIf(!onServer).each([
  ['with the bus, within 1 s', {}, 1000],
  ['without it, within 5 s', { REDIS_URL: undefined }, 5000],
])(`what was ended at one process is refused by another, %s${skipped}`, (_name, env, withinMs) => {
  const service = useProcesses({ api: 2, worker: 0, env })

  /** What ends a client token of this reader, which this key has minted. */
  const ENDS: Readonly<
    Record<string, (at: { readerId: string; keyId: string }) => readonly [string, string, object?]>
  > = {
    'its key': ({ keyId }) => ['DELETE', `/keys/${keyId}`],
    'a ban of its reader': ({ readerId }) => ['POST', `/readers/${readerId}/ban`, {}],
    'the erasure of its reader': ({ readerId }) => ['DELETE', `/readers/${readerId}`],
    'a merge of its reader': ({ readerId }) => ['POST', `/readers/${readerId}/merge`, { into: other }],
  }
  let other: string

  test.each(Object.entries(ENDS))(
    'a client token by the end of %s, and the subscription that it has open',
    async (_what, end) => {
      const [here, there] = [first(service.apis), last(service.apis)]
      const { id: keyId, key } = (await service.call('POST', '/keys', { body: { label: 'k', capabilities: [] } })).json
      const write = async (reader: string) => {
        const headers = await service.as(reader)
        const path = '/discussions/by-external/page/comments'
        return (await service.call('POST', path, { body: { body: 'Hello' }, headers })).json
      }
      other = (await write('other')).author.id
      const reader = `reader-${keyId}`
      const { discussionId, author } = await write(reader)
      const headers = { 'x-api-key': key, ...(await service.as(reader)) }
      const { token } = (await service.call('POST', '/client-tokens', { body: {}, headers })).json
      const post = (query: string, accept: string) =>
        fetch(`${there.url}/graphql`, {
          method: 'POST',
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', accept },
          body: JSON.stringify({ query }),
        })
      const ask = async () => (await post('{ publicSettings { maxDepth } }', 'application/json')).status
      const open = await post(
        `subscription { discussionEvents(discussionId: "${discussionId}") { seq } }`,
        'text/event-stream',
      )
      expect([await ask(), open.status]).toEqual([200, 200])
      const ended = open.text().catch(() => 'broken off')

      const [method, path, body] = end({ readerId: author.id, keyId })
      const answer = await service.call(method, path, { body, api: here })
      expect(answer.status, answer.text).toBeLessThan(300)
      const endedAt = runningMs()
      const cut = ended.then((text) => {
        expect(text).not.toContain('event: complete')
        expect(runningMs() - endedAt).toBeLessThan(withinMs + SLACK_MS)
      })
      await Promise.all([cut, holdsWithin(withinMs + SLACK_MS, async () => expect(await ask()).toBe(401))])
    },
  )

  // Last: no assertion counts afterwards.
  test('an identity secret, also for an assertion that the other process has taken', async () => {
    const [here, there] = [first(service.apis), last(service.apis)]
    const headers = await service.as('ann')
    const ask = async () => (await service.call('GET', '/readers/me', { headers, api: there })).status
    expect(await ask()).toBe(200)
    const { data } = (await service.call('GET', '/identity-secrets')).json
    expect((await service.call('DELETE', `/identity-secrets/${data[0].kid}`, { api: here })).status).toBe(204)
    await holdsWithin(withinMs + SLACK_MS, async () => expect(await ask()).toBe(401))
  })
})
