import type { Db } from '../core/sql.ts'
import type { PastNews, StreamViewer } from './frames.ts'
import {
  type DiscussionKey,
  type Head,
  type SeqRange,
  readEvents,
  readHeads,
  type MissedEvents,
  readMissed,
} from './sql.ts'

/** The event log, as the hub reads it: the truth, of which the bus only brings early word. */
export interface EventLog {
  heads(keys: readonly DiscussionKey[]): Promise<Head[]>
  /** For null: for all viewers. */
  events(key: DiscussionKey, range: SeqRange, viewer: StreamViewer | null, limit: number): Promise<PastNews[]>
  missed(key: DiscussionKey, range: SeqRange, viewer: StreamViewer): Promise<MissedEvents>
}

export const databaseLog = (db: Db): EventLog => ({
  heads: (keys) => readHeads(db.query, keys),
  events: (key, range, viewer, limit) => readEvents(db.query, key, range, viewer, limit),
  missed: (key, range, viewer) => readMissed(db.query, key, range, viewer),
})
