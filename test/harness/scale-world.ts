import type { Db } from '../../src/core/database/database.ts'
import type { Param } from '../../src/core/database/statements.ts'
import { unnamed } from './sql.ts'

/** How many rows a query meets: a handful whatever the size, or a share of the table. */
export type Matches = 'few' | 'many'

export interface WorldSize {
  comments: number
  matches: Matches
}

const DAY_MS = 86_400_000
/** Comments spread over this time, up to now. */
export const SPAN_DAYS = 120
const FEW = 20
/** The name of a secret of each kind. */
export const KID = '00000000'
/** The text of a GraphQL document. */
export const bodyOf = (name: string): string => `{ publicSettings { maxDepth } } # ${name}`

/** What an id is of: a part of the id itself, so that each row's id follows from its number. */
const KINDS = {
  tenant: 1,
  reader: 2,
  discussion: 3,
  comment: 4,
  event: 5,
  delivery: 6,
  endpoint: 7,
  audit: 8,
  key: 9,
  admin: 10,
  import: 11,
  item: 12,
  export: 13,
  process: 14,
  waiting: 15,
  upload: 20,
  alias: 16,
  token: 17,
  signIn: 18,
  note: 19,
  notification: 20,
  site: 21,
  guestRequest: 22,
  notice: 23,
} as const

type Kind = keyof typeof KINDS

/** The rows of a filled database, by their numbers. */
export interface World extends WorldSize {
  readers: number
  discussions: number
  /** The id of the row `n` of a kind. */
  id(kind: Kind, n?: number): string
  /** The ids of some rows, spread over all of them. */
  ids(kind: Kind, count: number, of?: number): string[]
  /** The instant at which the comment `n` was written. */
  at(n: number): Date
  days(before: number): Date
  now: Date
  few: boolean
  /** The settings that the tenant has set. */
  settings: Record<string, unknown>
}

export function worldOf({ comments, matches }: WorldSize, now: Date): World {
  const start = now.getTime() - SPAN_DAYS * DAY_MS
  const sizes: Partial<Record<Kind, number>> = {
    reader: comments / 20,
    discussion: comments / 50,
    alias: comments / 20,
    comment: comments,
    event: comments,
    delivery: comments,
    audit: comments / 2,
    item: comments / 2,
    waiting: matches === 'few' ? FEW : comments / 10,
  }
  const timeOf = (n: number, of: number): number => start + Math.floor((n * SPAN_DAYS * DAY_MS) / of)
  const id = (kind: Kind, n = 0): string => {
    const ms = timeOf(n, sizes[kind] ?? comments)
      .toString(16)
      .padStart(12, '0')
    const rest = n.toString(16).padStart(15, '0')
    const hex = `${ms}7${KINDS[kind].toString(16).padStart(3, '0')}8${rest}`
    return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
  }
  return {
    comments,
    matches,
    now,
    few: matches === 'few',
    readers: comments / 20,
    discussions: comments / 50,
    id,
    ids: (kind, count, of = sizes[kind] ?? count) =>
      Array.from({ length: count }, (_, n) => id(kind, Math.floor((n * of) / count))),
    at: (n) => new Date(timeOf(n, comments)),
    settings: {
      autoCloseDays: 30,
      activeKeyBudget: 100,
      ...(matches === 'few'
        ? { deliveryRetentionDays: 365 }
        : { deliveryRetentionDays: 60, auditRetentionDays: 60, analyticsRetentionDays: 100 }),
    },
    days: (before) => new Date(now.getTime() - before * DAY_MS),
  }
}

// `N` comments, `R` readers, `D` discussions, `many` or few matches; `i(kind, n, of)` is an id, and
// `w(n, of)` its time.
const HELPERS = (w: World): string[] => [
  `CREATE FUNCTION pg_temp.w(n bigint, size bigint) RETURNS timestamptz LANGUAGE sql IMMUTABLE AS $$
     SELECT to_timestamp((${w.now.getTime() - SPAN_DAYS * DAY_MS} + n * ${SPAN_DAYS * DAY_MS} / size) / 1000.0) $$`,
  `CREATE FUNCTION pg_temp.i(kind int, n bigint, size bigint) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
     SELECT (lpad(to_hex(${w.now.getTime() - SPAN_DAYS * DAY_MS} + n * ${SPAN_DAYS * DAY_MS} / size), 12, '0')
       || '7' || lpad(to_hex(kind), 3, '0') || '8' || lpad(to_hex(n), 15, '0'))::uuid $$`,
]

const fills = (w: World): string[] => {
  const [N, R, D] = [w.comments, w.readers, w.discussions]
  const i = (kind: Kind, n: string, of: number = N): string => `pg_temp.i(${KINDS[kind]}, ${n}, ${of})`
  const t = `'${w.id('tenant')}'::uuid`
  const other = `'${w.id('tenant', 1)}'::uuid`
  /** Twenty rows, or a tenth of them. */
  const some = (n: string, of: number, place: number): string =>
    w.few ? `${n} % ${Math.max(1, Math.floor(of / FEW))} = ${place}` : `${n} % 10 = ${place}`
  const rows = (of: number, from = 0): string => `generate_series(${from}::bigint, ${of - 1}) n`
  // Half of a tenant's comments are in one discussion, and a tenth are one reader's.
  const discussionOf = w.few ? `n % ${D}` : `CASE WHEN n % 2 = 0 THEN 0 ELSE n % ${D} END`
  const parentOf = w.few
    ? `CASE WHEN n >= ${D} AND n / ${D} % 4 = 1 THEN n % ${D} END`
    : `CASE WHEN n > 0 AND n % 4 = 0 THEN 0 END`
  const authorOf = w.few ? `n % ${R}` : `CASE WHEN n % 10 = 1 THEN 0 ELSE n % ${R} END`
  const e = (n: number): string => `'${w.id('endpoint', n)}'::uuid`
  return [
    `INSERT INTO tenants (id, slug, settings) VALUES (${t}, 'large', '${JSON.stringify(w.settings)}'), (${other}, 'other', '{}')`,
    `INSERT INTO accounts (id, email, password_hash) SELECT ${i('admin', 'n')}, n || '@example.com', 'x' FROM ${rows(3)}`,
    `INSERT INTO members (tenant_id, id, email, role, account_id)
     SELECT ${t}, ${i('admin', 'n')}, n || '@example.com', 'owner', ${i('admin', 'n')} FROM ${rows(3)}`,
    `INSERT INTO second_factors (account_id, kind, sealed, confirmed_at)
     SELECT ${i('admin', 'n')}, 'totp', '\\x00000000', now() FROM ${rows(2)}`,
    `INSERT INTO sign_ins (tenant_id, id, member_id, expires_at)
     SELECT ${t}, ${i('signIn', 'n')}, ${i('admin', 'n % 3')}, '2100-01-01' FROM ${rows(30)}`,
    `INSERT INTO api_keys (tenant_id, id, label, prefix, digest, capabilities)
     SELECT ${t}, ${i('key', 'n')}, 'key', 'ek_00000000', sha256(n::text::bytea), '{}' FROM ${rows(20)}`,
    ...['identity_secrets', 'classifier_secrets', 'mail_secrets'].map(
      (table) =>
        `INSERT INTO ${table} (tenant_id, kid, sealed) SELECT ${t}, '0000000' || n, '\\x00000000' FROM ${rows(2)}`,
    ),
    `INSERT INTO identity_key_sets (tenant_id, url, due_at) VALUES (${t}, 'https://example.com/jwks', now())`,
    `INSERT INTO sites (tenant_id, id, name, origins, public_key)
     SELECT ${t}, ${i('site', 'n')}, 'site', '{https://www.example.com}', 'pk_' || lpad(n::text, 64, '0') FROM ${rows(30)}`,
    `INSERT INTO notice_channels (tenant_id, id, kind, sealed, host, causes)
     SELECT ${t}, ${i('notice', 'n')}, 'slack', '\\x00000000', 'hooks.example.com', '{comment_waiting}' FROM ${rows(9)}`,
    `INSERT INTO documents (tenant_id, id, body) SELECT ${t}, 'sha256:' || encode(sha256(body::bytea), 'hex'), body
     FROM (SELECT '${bodyOf('')}' || n AS body FROM ${rows(N / 200)}) d`,
    `INSERT INTO document_aliases (tenant_id, alias, document_id)
     SELECT tenant_id, 'alias-' || split_part(body, '# ', 2), id FROM documents`,
    `INSERT INTO readers (tenant_id, id, external_id, name, profile_issued_at, created_at)
     SELECT ${t}, ${i('reader', 'n', R)}, 'reader-' || n,
       CASE WHEN ${some('n', R, 3)} THEN 'Needle ' ELSE 'Person ' END || n, now(), pg_temp.w(n, ${R}) FROM ${rows(R)}`,
    `INSERT INTO guests (tenant_id, reader_id, address_digest)
     SELECT ${t}, ${i('reader', 'n', R)}, sha256(n::text::bytea) FROM ${rows(R)} WHERE n % 2 = 0`,
    `INSERT INTO guest_tokens (tenant_id, digest, reader_id, created_at, expires_at)
     SELECT ${t}, sha256(('gt_' || lpad(n::text, 64, '0'))::bytea), ${i('reader', 'n', R)}, now(), '2100-01-01'
     FROM ${rows(R)} WHERE n % 2 = 0`,
    // Those of an hour.
    // The large tenant's is made with its first request for a mail.
    `INSERT INTO guest_keys (tenant_id, kind, sealed) VALUES (${other}, 'digest', '\\x00000000')`,
    `INSERT INTO guest_requests (tenant_id, id, address_digest, mailbox_digest, name, sealed, token_digest)
     SELECT ${t}, ${i('guestRequest', 'n')}, sha256(n::text::bytea), sha256(n::text::bytea), 'n', CASE WHEN n < 50 THEN '\\x00000000'::bytea END,
       sha256(lpad(n::text, 64, '0')::bytea) FROM ${rows(N / 50)}`,
    `INSERT INTO readers (tenant_id, id, external_id, profile_issued_at, erasing_at)
     SELECT ${t}, ${i('alias', 'n', R)}, 'former-' || n, now(), 'infinity' FROM ${rows(R)} WHERE ${some('n', R, 4)}`,
    `INSERT INTO reader_merges (tenant_id, reader_id, into_id, alias_id, merging_at)
     SELECT ${t}, ${i('alias', 'n', R)}, ${i('reader', w.few ? 'n' : '0', R)}, ${i('alias', 'n', R)}, CASE WHEN n < 40 THEN now() - interval '1 day' END
     FROM ${rows(R)} WHERE ${some('n', R, 4)}`,
    `INSERT INTO discussions (tenant_id, id, external_id, title, comment_count, seq, created_at, last_commented_at, active_at, auto_closed_at)
     SELECT ${t}, ${i('discussion', 'n', D)}, 'page-' || n, CASE WHEN ${some('n', D, 3)} THEN 'Needle ' ELSE 'Page ' END || n,
       50, ${w.few ? 50 : `CASE n WHEN 0 THEN ${N / 2} ELSE 50 END`}, pg_temp.w(n, ${D}), now(), pg_temp.w(n, ${D}),
       CASE WHEN ${some('n', D, 5)} THEN NULL ELSE now() END FROM ${rows(D)}`,
    `INSERT INTO comments (tenant_id, id, discussion_id, parent_id, depth, author_id, body, body_html, status, pinned_at,
       reply_count, reaction_counts, first_approved_at, report_count, flagged, deleted_at, text_digest, created_at)
     SELECT ${t}, ${i('comment', 'n')}, ${i('discussion', discussionOf, D)},
       CASE WHEN (${parentOf}) IS NOT NULL THEN ${i('comment', `(${parentOf})`)} END, CASE WHEN (${parentOf}) IS NULL THEN 0 ELSE 1 END,
       ${i('reader', authorOf, R)}, 'I have a point to make about this: ' || n, '<p>I have a point to make about this: ' || n || '</p>',
       (CASE WHEN ${some('n', N, 2)} THEN 'pending' WHEN ${some('n', N, 3)} THEN 'rejected' WHEN n % 100 = 6 THEN 'deleted' ELSE 'approved' END)::comment_status,
       CASE WHEN n IN (8, 10) THEN now() END, CASE WHEN n < ${D} THEN 12 ELSE 0 END,
       CASE WHEN n % 3 = 0 THEN jsonb_build_object('like', n % 7 + 1) ELSE '{}' END, pg_temp.w(n, ${N}),
       CASE WHEN ${some('n', N, 5)} THEN 3 ELSE 0 END, ${some('n', N, 9)},
       CASE WHEN n % 100 = 6 THEN now() END, n % 1000, pg_temp.w(n, ${N})
     FROM ${rows(N)}`,
    `INSERT INTO comment_revisions (tenant_id, comment_id, revision, body)
     SELECT ${t}, ${i('comment', 'n')}, 1, 'before' FROM ${rows(N)} WHERE n % 20 = 0`,
    // The author of one has made very many edits that the public did not see.
    `INSERT INTO comment_revisions (tenant_id, comment_id, revision, body)
     SELECT ${t}, ${i('comment', '0')}, n, 'unseen' FROM ${rows(N, 10)}`,
    `UPDATE comments SET revision = ${N} WHERE tenant_id = ${t} AND id = ${i('comment', '0')}`,
    `INSERT INTO reactions (tenant_id, comment_id, reader_id, type, updated_at)
     SELECT ${t}, ${i('comment', 'n')}, ${i('reader', w.few ? `n * 7 % ${R}` : `CASE WHEN n % 10 = 1 THEN 0 ELSE n * 7 % ${R} END`, R)}, 'like', pg_temp.w(n, ${N})
     FROM ${rows(N)}
     UNION ALL SELECT ${t}, ${i('comment', '0')}, ${i('reader', 'n', R)}, 'love', now() FROM ${rows(R, 1)} WHERE ${w.few ? `n < ${FEW}` : 'true'}
     ON CONFLICT DO NOTHING`,
    `INSERT INTO reports (tenant_id, comment_id, reader_id, reason, created_at)
     SELECT ${t}, ${i('comment', 'n')}, ${i('reader', w.few ? `n * 3 % ${R}` : '0', R)}, 'spam', pg_temp.w(n, ${N}) FROM ${rows(N)} WHERE ${some('n', N, 5)}
     UNION ALL SELECT ${t}, ${i('comment', '0')}, ${i('reader', 'n', R)}, 'spam', now() FROM ${rows(R)} WHERE ${w.few ? `n < ${FEW}` : 'n % 2 = 0'}`,
    `INSERT INTO notes (tenant_id, id, reader_id, comment_id, text, actor_kind, actor_id)
     SELECT ${t}, ${i('note', 'n')}, CASE WHEN n % 2 = 0 THEN ${i('reader', w.few ? 'n' : '0', R)} END,
       CASE WHEN n % 2 = 1 THEN ${i('comment', w.few ? 'n' : '0')} END, 'A note', 'admin', ${i('admin', '0')}
     FROM ${rows(N / 20)}`,
    `INSERT INTO reader_mutes (tenant_id, id, reader_id, muted_id)
     SELECT ${t}, gen_random_uuid(), ${i('reader', 'n', R)}, ${i('reader', w.few ? `n + 1` : '0', R)} FROM ${rows(R)} WHERE n > 10
     UNION ALL SELECT ${t}, gen_random_uuid(), ${i('reader', '0')}, ${i('reader', 'n', R)} FROM ${rows(R)} WHERE n BETWEEN 1 AND ${w.few ? FEW : 1000}`,
    `INSERT INTO notifications (tenant_id, id, reader_id, kind, comment_id, created_at, read_at)
     SELECT ${t}, ${i('notification', 'n')}, ${i('reader', w.few ? `n * 3 % ${R}` : `CASE WHEN n < 1000 THEN 0 ELSE n % ${R} END`, R)}, 'reply',
       ${i('comment', 'n')}, now(), CASE WHEN n % 2 = 0 THEN now() END FROM ${rows(N)}`,
    `INSERT INTO notification_opt_outs (tenant_id, reader_id, kind)
     SELECT ${t}, ${i('reader', 'n', R)}, 'decision' FROM ${rows(R)} WHERE n % 10 = 3`,
    `INSERT INTO classifier_requests (tenant_id, comment_id, revision, due_at)
     SELECT ${t}, ${i('comment', 'n')}, 1, now() - interval '1 minute' FROM ${rows(N)} WHERE ${some('n', N, 2)}`,
    `INSERT INTO events (tenant_id, discussion_id, seq, id, type, audience, recipient_id, occurred_at, actor, data)
     SELECT ${t}, d, row_number() OVER (PARTITION BY d ORDER BY n), ${i('event', 'n')}, 'comment_created',
       CASE WHEN recipient IS NULL THEN 'public' ELSE 'recipient' END, recipient, at, '{"kind":"reader"}',
       json_build_object('comment', json_build_object('id', ${i('comment', 'n')}))
     FROM (SELECT n, ${i('discussion', discussionOf, D)} AS d, pg_temp.w(n, ${N}) AS at,
       CASE WHEN n % 10 = 0 THEN ${i('reader', w.few ? `n % ${R}` : '0', R)} END AS recipient FROM ${rows(N)}) s`,
    `INSERT INTO webhook_endpoints (tenant_id, id, url, event_types, state, circuit_open_until, verification_due_at, challenge)
     VALUES (${t}, ${e(0)}, 'https://example.com/0', '{comment_created}', 'verified', NULL, NULL, NULL),
       (${t}, ${e(1)}, 'https://example.com/1', '{comment_created}', 'disabled', NULL, NULL, NULL),
       (${t}, ${e(2)}, 'https://example.com/2', '{comment_created}', 'verified', now() + interval '1 day', NULL, NULL),
       (${t}, ${e(3)}, 'https://example.com/3', '{comment_created}', 'unverified', NULL, now(), 'asked'),
       (${t}, ${e(4)}, 'https://example.com/4', '{comment_created}', 'verified', NULL, NULL, NULL)`,
    `INSERT INTO webhook_secrets (tenant_id, endpoint_id, kid, sealed) SELECT ${t}, id, '${KID}', '\\x00000000' FROM webhook_endpoints`,
    `INSERT INTO deleted_endpoints (tenant_id, endpoint_id) VALUES (${t}, ${e(9)})`,
    `INSERT INTO deliveries (tenant_id, id, endpoint_id, event_id, event_type, discussion_id, seq, status, next_attempt_at, created_at, attempt_count, delivered_at, comment_id, last_answer)
     SELECT ${t}, ${i('delivery', 'n')}, CASE WHEN ${some('n', N, 5)} THEN ${e(1)} WHEN ${some('n', N, 6)} THEN ${e(9)}
         WHEN ${some('n', N, 7)} THEN ${e(4)} ELSE ${e(0)} END,
       ${i('event', 'n')}, 'comment_created', v.discussion_id, v.seq,
       (CASE WHEN ${some('n', N, 2)} THEN 'pending' WHEN ${some('n', N, 3)} THEN 'failed' WHEN ${some('n', N, 5)} THEN 'held' ELSE 'delivered' END)::delivery_status,
       now() - interval '1 minute', pg_temp.w(n, ${N}), 1,
       CASE WHEN ${some('n', N, 2)} OR ${some('n', N, 3)} OR ${some('n', N, 5)} THEN NULL ELSE pg_temp.w(n, ${N}) END,
       ${i('comment', w.few ? 'n' : `n % 10`)}, CASE WHEN ${some('n', N, 3)} THEN 5 ELSE 2 END
     FROM ${rows(N)} JOIN events v ON v.id = ${i('event', 'n')}`,
    `INSERT INTO attempts (tenant_id, delivery_id, n, at, duration_ms, status_code, response_snippet)
     SELECT tenant_id, id, 1, created_at, 5, 200, 'ok' FROM deliveries`,
    `INSERT INTO audit_log (tenant_id, id, actor_kind, actor_id, action, target_type, target_id, before, after, at)
     SELECT ${t}, ${i('audit', 'n', N / 2)}, 'admin', CASE WHEN ${some('n', N / 2, 5)} THEN ${i('admin', '1')} ELSE ${i('admin', '0')} END,
       CASE WHEN ${some('n', N / 2, 3)} THEN 'api_key.create' ELSE 'comment.approve' END, 'reader',
       ${w.few ? i('reader', `n % ${R}`, R) : `CASE WHEN n % 10 = 1 THEN ${i('reader', '0', R)} ELSE ${i('reader', `n % ${R}`, R)} END`}::text,
       '{"status":"pending"}', '{"status":"approved"}', pg_temp.w(n, ${N / 2}) FROM ${rows(N / 2)}`,
    `INSERT INTO comment_decisions (tenant_id, comment_id, id, actor_kind, actor_id, action, rule, section, wait_seconds, at)
     SELECT ${t}, ${i('comment', 'n')}, ${i('comment', 'n')}, CASE WHEN n % 4 = 3 THEN 'system' ELSE 'admin' END, CASE WHEN n % 4 < 3 THEN ${i('admin', 'n % 3', 3)} END,
       CASE n % 3 WHEN 0 THEN 'approve' ELSE 'reject' END, CASE n % 3 WHEN 1 THEN 'suspect_word' END, 'section-' || n % 20, n % 90 * 100, pg_temp.w(n, ${N}) FROM ${rows(N)}`,
    `INSERT INTO idempotency_records (tenant_id, key_digest, request_digest, status, body, mentions, expires_at)
     SELECT ${t}, sha256(('key' || n)::bytea), '\\x00', 201, '\\x00000000', ARRAY[${i('comment', 'n')}, ${i('reader', w.few ? `n % ${R}` : '0', R)}],
       now() + CASE WHEN ${some('n', N / 20, 3)} THEN -1 ELSE 1 END * interval '1 day' FROM ${rows(N / 20)}`,
    `INSERT INTO client_tokens (tenant_id, id, digest, minter_id, reader_id, expires_at)
     SELECT ${t}, ${i('token', 'n')}, sha256(('token' || n)::bytea), ${i('key', '0')}, CASE WHEN n % 2 = 0 THEN ${i('reader', `n % ${R}`, R)} END,
       now() + CASE WHEN ${some('n', N / 20, 3)} THEN -1 ELSE 1 END * interval '1 day' FROM ${rows(N / 20)}`,
    `INSERT INTO posted_texts (tenant_id, text_digest, ids, expires_at)
     SELECT ${t}, n, ARRAY(SELECT ${i('item', 'k')} FROM generate_series(0, 100) k),
       now() + CASE WHEN ${some('n', N / 20, 3)} THEN -1 ELSE 1 END * interval '1 day' FROM ${rows(N / 20)}`,
    `INSERT INTO tenant_exports (tenant_id, id, bytes, completed_at, expires_at)
     SELECT ${t}, ${i('export', 'n')}, 1, now(), CASE n WHEN 0 THEN NULL ELSE now() + interval '1 day' END FROM ${rows(3)}`,
    `INSERT INTO import_uploads (tenant_id, id, source, file_name, bytes, completed_at, rehearsed_at, started_at, ended_at, expires_at)
     SELECT ${t}, ${i('upload', 'n')}, 'jsonl', 'file', 5, CASE WHEN n > 0 THEN now() END, CASE WHEN n > 1 THEN now() END,
       CASE WHEN n > 2 THEN now() END, CASE WHEN n > 2 THEN now() END, now() + interval '1 day' FROM ${rows(4)}`,
    `INSERT INTO import_upload_parts (tenant_id, upload_id, n, bytes) SELECT ${t}, ${i('upload', 'n')}, 0, '12345' FROM ${rows(4)}`,
    `INSERT INTO imports (tenant_id, id, source, file_name, started_at, finished_at)
     SELECT ${t}, ${i('import', 'n')}, 'jsonl', 'file', now(), now() FROM ${rows(2)}`,
    `INSERT INTO import_items (tenant_id, import_id, key, kind, item_id, made, touched)
     SELECT ${t}, ${i('import', '0')}, ${i('item', 'n', N / 2)}, CASE WHEN n % 20 = 0 THEN 'reader' WHEN ${some('n', N / 2, 1)} THEN 'name' ELSE 'comment' END,
       CASE WHEN n % 20 = 0 THEN ${i('reader', `n % ${R}`, R)} ELSE ${i('comment', 'n')} END, true, ${some('n', N / 2, 7)} FROM ${rows(N / 2)}`,
    `INSERT INTO import_waiting (tenant_id, import_id, key, comment_key, place, item)
     SELECT ${t}, ${i('import', '1')}, ${i('waiting', 'n', w.few ? FEW : N / 10)}, ${i('waiting', 'n', N)}, n, '{}' FROM ${rows(w.few ? FEW : N / 10)}`,
    `INSERT INTO stream_processes (id, seen_at) SELECT ${i('process', 'n')}, now() FROM ${rows(3)}`,
    // As many as streams may be open, whatever the tenant has.
    `INSERT INTO stream_counts (tenant_id, discussion_id, process_id, streams)
     SELECT ${t}, ${i('discussion', 'n', D)}, ${i('process', 'n % 3')}, 1 FROM ${rows(100)}`,
    ...['hour', 'day'].flatMap((interval) => [
      `INSERT INTO analytics_activity (tenant_id, interval, at, reader_id, actions, comments_approved)
       SELECT ${t}, '${interval}', date_trunc('${interval}', pg_temp.w(n, ${N}), 'UTC'), ${i('reader', authorOf, R)}, count(*), count(*)
       FROM ${rows(N)} GROUP BY 3, 4`,
      `INSERT INTO analytics_buckets (tenant_id, interval, at, comments_approved, active_readers)
       SELECT ${t}, '${interval}', date_trunc('${interval}', pg_temp.w(n, ${N}), 'UTC'), count(*), count(*) FROM ${rows(N)} GROUP BY 3`,
    ]),
    `INSERT INTO analytics_discussions (tenant_id, at, discussion_id, comments_approved)
     SELECT ${t}, date_trunc('day', pg_temp.w(n, ${N}), 'UTC'), ${i('discussion', discussionOf, D)}, count(*) FROM ${rows(N)} GROUP BY 2, 3`,
    // What waits of the large tenant is what the last two seconds have brought.
    `INSERT INTO analytics_deltas (tenant_id, hour, discussion_id, reader_id, metric, n)
     SELECT ${t}, date_trunc('hour', now(), 'UTC'), ${i('discussion', `n % ${D}`, D)}, ${i('reader', `n % ${R}`, R)}, 'comments_approved'::analytics_metric, 1 FROM ${rows(FEW)}
     UNION ALL
     SELECT ${other}, date_trunc('hour', now(), 'UTC'), ${i('discussion', 'n % 200', D)}, ${i('reader', 'n % 500', R)}, 'comments_approved', 1
     FROM ${rows(w.few ? FEW : N / 10)}`,
  ]
}

/** Fills an empty database. Statistics of its tables are left as they are: there are none. */
export async function fillWorld(db: Db, world: World): Promise<void> {
  await db.transaction(async (sql) => {
    const run = (text: string, params: readonly Param[] = []) => sql(unnamed(text), params)
    // No triggers and no look-ups of foreign keys: the rows fit.
    await run(`SET LOCAL session_replication_role = replica`)
    await run(`SET LOCAL statement_timeout = 0`)
    await run(`SET LOCAL synchronous_commit = off`)
    for (const text of HELPERS(world)) await run(text)
    for (const text of fills(world)) {
      await run(text).catch((cause: Error) => {
        throw new Error(`${cause.message}: ${text}`, { cause })
      })
    }
  })
}
