import { beforeAll, describe, expect, test } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { DESCRIBED_ROUTES, requestOf, sampleOf, type Slot } from '../harness/routes.ts'
import { useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

/** Whether a request names a comment there. */
const isOfComment = ({ key }: Slot): boolean => /^(comments\/:(id|commentId)|commentId|parentId)$/.test(key)
const ROUTES = DESCRIBED_ROUTES.filter(({ slots, needsToken }) => !needsToken && slots.some(isOfComment))

const service = useService()
const callers: Record<string, Record<string, string>> = {}
let discussionId: string
const hidden: Record<string, string> = {}

beforeAll(async () => {
  const plain = (await service.newKey()).headers
  const post = async (reader: Record<string, string>, page = 'shared-page') => {
    const path = `/discussions/by-external/${page}/comments`
    return (await service.call('POST', path, { body: { body: 'Hidden' }, headers: reader })).json
  }
  const [bob, eve] = [await service.as('bob'), await service.as('eve')]
  for (const state of ['pending', 'rejected', 'deleted']) hidden[state] = (await post(bob)).id
  await service.app.db.query(HOLD, [hidden.pending ?? null])
  await service.call('POST', `/comments/${hidden.rejected}/reject`)
  await service.call('DELETE', `/comments/${hidden.deleted}`)
  for (const closing of ['lock', 'archive']) {
    const { id, discussionId: closed } = await post(bob, closing)
    await service.app.db.query(HOLD, [id])
    await service.call('POST', `/discussions/${closed}/${closing}`)
    hidden[`pending, where moderators ${closing}`] = id
  }
  const dan = await service.as('dan')
  Object.assign(callers, {
    'a reader': { ...plain, ...(await service.as('ann')) },
    'a banned reader': { ...plain, ...dan },
  })
  await service.call('POST', `/readers/${(await post(dan)).author.id}/ban`, { body: {} })
  const { author } = await post(eve)
  await service.call('POST', `/readers/${author.id}/ban`, { body: { shadow: true } })
  const inShadow = await post(eve)
  hidden['of a reader banned in shadow'] = inShadow.id
  discussionId = inShadow.discussionId
})

const HOLD = unnamed(`UPDATE comments SET status = 'pending' WHERE id = $1`)

describe.each(ROUTES)('a comment that the caller may not see: $title', (described) => {
  test.each(['a reader', 'a banned reader'])('is refused to %s like one that is not there', async (caller) => {
    const headers = callers[caller] ?? {}
    const { method } = described.route
    const answerFor = async (id: string) => {
      const { path, body } = requestOf(described, (slot) => {
        if (isOfComment(slot)) return id
        return slot.isId ? discussionId : sampleOf(slot)
      })
      const { status, json } = await service.call(method, path, { headers, ...(body && { body }) })
      return { status, ...json, requestId: null }
    }
    const unknown = await answerFor(newId())
    expect([403, 404]).toContain(unknown.status)
    for (const [state, id] of Object.entries(hidden)) expect(await answerFor(id), state).toEqual(unknown)
  })
})

test('there are such routes', () => expect(ROUTES.length).toBeGreaterThan(15))
