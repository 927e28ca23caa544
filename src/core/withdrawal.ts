import { EVENT_TYPES, EVENTS } from './events.ts'
import type { CommentStatus } from '../generated/prisma/enums.ts'

/** A comment's status, in a public event maybe `withheld`, and the revision of its text. */
export interface CommentState {
  status: CommentStatus | 'withheld'
  revision: number
}

/** The fields of a comment's text, without the text. */
export const NO_TEXT = { body: null, bodyHtml: null }

/** Their names. Each is a column of `comments`. */
export const TEXTS = Object.keys(NO_TEXT) as (keyof typeof NO_TEXT)[]

/**
 * An event's JSON for callers without `moderate_content`, given the present state `now` of its
 * comment; `now` is null for an event about no comment. An event keeps its text as long as the text
 * was not edited since and the comment is approved, or waits for a moderator as it did then.
 * Otherwise `body` and `bodyHtml` are null. So is `author` once the comment is deleted, or if it
 * was public and is not any more. Streams, GraphQL and webhooks all decide here.
 */
export function tellNow(json: string, now: CommentState | null): string {
  if (now === null) return json
  // The first text, still in view: most events are like this, and need no closer look.
  if (now.status === 'approved' && now.revision === 1) return json
  const then = stateIn(json)
  return then === null || isTold(then, now) ? json : withoutText(json, then, now)
}

function isTold(then: CommentState, now: CommentState): boolean {
  if (then.revision !== now.revision) return false
  return now.status === 'approved' || (now.status === 'pending' && then.status === 'pending')
}

// Found without parsing up to 20 KB of text. No text can contain these patterns: its quotes are
// escaped.
const STATUS = /"status":"(pending|approved|rejected|deleted|withheld)"/
const REVISION = /"revision":(\d+)/

/** The state of the comment in an event; null for an event about no comment. */
function stateIn(json: string): CommentState | null {
  const [status, revision] = [STATUS.exec(json)?.[1], REVISION.exec(json)?.[1]]
  return status === undefined || revision === undefined
    ? null
    : { status: status as CommentState['status'], revision: Number(revision) }
}

function withoutText(json: string, then: CommentState, now: CommentState): string {
  const isGone = now.status === 'deleted' || (then.status === 'approved' && now.status !== 'approved')
  const event = JSON.parse(json) as { data: { comment: object } }
  const { data } = event
  const comment = { ...data.comment, ...NO_TEXT, ...(isGone ? { author: null } : {}) }
  return JSON.stringify({ ...event, data: { ...data, comment } })
}

const WITH_COMMENT = EVENT_TYPES.filter((type) => /^(CommentEventData|ReplyNotificationData)$/.test(EVENTS[type].data))
  .map((type) => `'${type}'`)
  .join(', ')

/**
 * SQL: the id of the comment that an event is about; null for a discussion's event. `data` is the
 * event's JSON text.
 */
export const commentIdIn = (data: string): string =>
  // `encodeEvent` puts the id in this place. Parsing a long text for it would cost several times
  // as much as the look-up.
  `CASE WHEN left(${data}::text, 18) = '{"comment":{"id":"' THEN substr(${data}::text, 19, 36)
    ELSE coalesce(${data}::json #>> '{comment,id}', ${data}::json ->> 'commentId') END::uuid`

/**
 * SQL: the present state of an event's comment as JSON, for `tellNow`; null for an event about no
 * comment. `event` is the name of its table in the statement. A comment without a row counts as
 * deleted.
 */
export const commentState = (event: string): string =>
  // A subquery, so that it is one look-up for each row, whatever the planner estimates.
  `CASE WHEN ${event}.type IN (${WITH_COMMENT}) THEN coalesce(
    (SELECT json_build_object('status', c.status, 'revision', c.revision) FROM comments c
     WHERE c.tenant_id = ${event}.tenant_id AND c.id = ${commentIdIn(`${event}.data`)}),
    '{"status":"deleted","revision":0}') END`
