import type { Db } from '../../src/core/database/database.ts'
import type { TestResponse } from './service.ts'
import { unnamed } from './sql.ts'

/** An event as it is stored. */
export interface EventRow {
  seq: number
  type: string
  audience: string
  recipientId: string | null
  actor: TestResponse['json']
  data: TestResponse['json']
}

const EVENTS = unnamed(
  'SELECT seq, type, audience, recipient_id AS "recipientId", actor, data FROM events WHERE discussion_id = $1 ORDER BY seq',
)

/** The events of a discussion, the first one first. */
export const eventRowsOf = (db: Db, discussionId: string): Promise<EventRow[]> =>
  db.query<EventRow>(EVENTS, [discussionId])
