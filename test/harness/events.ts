import { expect } from 'vitest'

import { EVENT_TYPES } from '../../src/core/events.ts'
import { keyOf } from './resources.ts'
import type { TestService, TestTenant } from './service.ts'
import { unnamed } from './sql.ts'

const EMITTED = unnamed('SELECT DISTINCT type FROM events WHERE discussion_id = $1')

/** Makes one event of each type at least, and returns their discussion. */
export async function makeEveryEvent(service: TestService, tenant: TestTenant): Promise<string> {
  const reader = await tenant.as('reader')
  const send = async (method: string, path: string, body: object = {}, as: Record<string, string> = {}) =>
    service.ok(method, path, body, { ...keyOf(tenant), ...as })
  const { id } = await send('POST', '/discussions', { externalId: 'page' })
  const post = (body: object, as = reader) => send('POST', `/discussions/${id}/comments`, body, as)
  const comment = await post({ body: 'One' })
  await post({ body: 'A reply', parentId: comment.id }, await tenant.as('other'))
  await send('PATCH', `/comments/${comment.id}`, { body: 'One, edited' }, reader)
  for (const type of ['like', 'like']) await send('POST', `/comments/${comment.id}/reactions`, { type }, reader)
  for (const action of ['pin', 'unpin', 'reject', 'approve']) await send('POST', `/comments/${comment.id}/${action}`)
  for (const action of ['lock', 'unlock']) await send('POST', `/discussions/${id}/${action}`)
  const { id: doomed } = await post({ body: 'Two' })
  await send('DELETE', `/comments/${doomed}`, {}, reader)
  await send('POST', `/discussions/${id}/archive`)
  const events = await service.app.db.query<{ type: string }>(EMITTED, [id])
  expect(events.map(({ type }) => type).toSorted(), 'a new type of event is made here: makeEveryEvent').toEqual(
    EVENT_TYPES.toSorted(),
  )
  return id as string
}
