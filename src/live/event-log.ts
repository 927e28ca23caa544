import type { Db } from '../core/sql.ts'
import type { PastNews, Viewer } from './frames.ts'
import { type DiscussionKey, type Head, type Range, readEvents, readHeads, type Survey, surveyRange } from './sql.ts'

/** The event log, as the hub reads it: the truth, of which the bus only brings early word. */
export interface EventLog {
  heads(keys: readonly DiscussionKey[]): Promise<Head[]>
  /** For null: for all viewers. */
  events(key: DiscussionKey, range: Range, viewer: Viewer | null, limit: number): Promise<PastNews[]>
  survey(key: DiscussionKey, range: Range, viewer: Viewer): Promise<Survey>
}

export const databaseLog = (db: Db): EventLog => ({
  heads: (keys) => readHeads(db.query, keys),
  events: (key, range, viewer, limit) => readEvents(db.query, key, range, viewer, limit),
  survey: (key, range, viewer) => surveyRange(db.query, key, range, viewer),
})
