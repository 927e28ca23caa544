import { FIRST_ID, LAST_ID, newId } from '../../src/core/ids.ts'
import { SEARCHED_FOR_SITE } from '../../src/domains/sites/pages.ts'
import { PARAMETERS } from '../../src/generated/statements.ts'
import { KID, type World } from './scale-world.ts'

/** Of a parameter that decides nothing: a value of its type. */
const _ = undefined

/** The most rows that a caller of these statements asks for at once. */
const PAGE = 101
const BATCH = 20

type Ask = (w: World) => readonly unknown[]

/** Statements that are asked for the same rows. */
const all = (names: string, ask: Ask): Record<string, Ask> =>
  Object.fromEntries(
    names
      .trim()
      .split(/\s+/)
      .map((name) => [name, ask]),
  )

const tenant = (w: World): string => w.id('tenant')
/** The discussion and the reader with the most comments, where there are many. */
const hot = (w: World): string => w.id('discussion', 0)
const heavy = (w: World): string => w.id('reader', 0)
const comment = (w: World): string => w.id('comment', w.comments / 2 + 1)
const comments = (w: World): string[] => w.ids('comment', 50)
const readers = (w: World): string[] => w.ids('reader', 50)
const discussions = (w: World): string[] => w.ids('discussion', 20)
const names = (of: string, count: number, w: World): string[] =>
  Array.from({ length: count }, (_each, n) => `${of}-${Math.floor((n * w.discussions) / count)}`)
const many = <Value>(value: Value, count = 50): Value[] => Array.from({ length: count }, () => value)

// Pages begin in the middle of a level, where it is longest.
const PLACES: Readonly<Record<string, Ask>> = {
  newest: (w) => [comment(w)],
  oldest: (w) => [comment(w)],
  top: () => [3, 0, LAST_ID],
}
const LEVELS: Readonly<Record<string, Ask>> = {
  roots: (w) => [hot(w)],
  replies: (w) => [hot(w), w.id('comment', 0)],
  rootsOfEach: (w) => [discussions(w)],
  repliesOfEach: (w) => [many(hot(w), 20), w.ids('comment', 20, 20)],
}

function levels(): Record<string, Ask> {
  const asks: Record<string, Ask> = {}
  for (const [level, of] of Object.entries(LEVELS)) {
    for (const [sort, place] of Object.entries(PLACES)) {
      const add = (name: string, rest: Ask): void => {
        asks[`${level}_${name}`] = (w) => [tenant(w), 21, ...of(w), ...rest(w)]
        asks[`${level}_${name}_measured`] = (w) => [tenant(w), PAGE, ...of(w), ...rest(w)]
      }
      add(sort, place)
      add(`${sort}_pinned_first`, (w) => [...place(w), 'infinity', LAST_ID])
      if (sort === 'newest') add('newest_start', () => [])
    }
  }
  return asks
}

/** Replies, and in one a text that its author may have repeated. */
const create: Ask = (w) => {
  const authors = [heavy(w), ...readers(w)].slice(0, 50)
  const rows = authors.map((authorId, n) => ({
    n,
    tenant_id: tenant(w),
    discussion_id: hot(w),
    parent_id: w.id('comment', 0),
    id: newId(),
    author_id: authorId,
    body: 'new',
    body_html: 'new',
    text_digest: 7,
    repeats: n === 0,
    rejections: 10,
    approved_below: 10,
    flags: false,
    asks: false,
    max_depth: 9,
    created_event_id: newId(),
    reply_event_id: newId(),
    actor: {},
  }))
  return [false, _, FIRST_ID, JSON.stringify(rows)]
}
const createOne: Ask = (w) => {
  const text = ['new', 'new', 7, tenant(w), true, null, false, _, '{}', null]
  return [false, _, FIRST_ID, _, hot(w), heavy(w), ...text]
}
const react: Ask = (w) => {
  const events = [_, _, many('{}'), many('{}'), many(null)]
  return [many(tenant(w)), comments(w), readers(w), many('like'), ...events]
}
const ofComment: Ask = (w) => [tenant(w), comment(w)]
const ofComments: Ask = (w) => [tenant(w), comments(w)]
const ofDiscussion: Ask = (w) => [tenant(w), hot(w)]
const ofReader: Ask = (w) => [tenant(w), heavy(w)]
const ofReaders: Ask = (w) => [tenant(w), readers(w)]
/** What the addresses of a site without comments begin with: all that may be searched is. */
const OF_NONE = ['https://www.example.com/']
const ofTenant: Ask = (w) => [tenant(w)]
const ofTwoReaders: Ask = (w) => [tenant(w), w.id('reader', 5), w.id('reader', 6)]
const ofEndpoint: Ask = (w) => [tenant(w), w.id('endpoint', 3)]
const ofImport: Ask = (w) => [tenant(w), w.id('import', 0)]
const ofWaiting: Ask = (w) => [tenant(w), w.id('import', 1)]
const ofItems: Ask = (w) => [tenant(w), w.ids('item', 50)]
const ofExport: Ask = (w) => [tenant(w), w.id('export', 1)]
const ofAlias: Ask = (w) => [tenant(w), w.id('alias', 4)]
const moved: Ask = (w) => [tenant(w), heavy(w), w.id('reader', 1), comments(w)]
/** To a reader who has nothing. */
const movedAway: Ask = (w) => [
  tenant(w),
  heavy(w),
  w.id('alias', w.few ? Math.floor(w.readers / 20) + 4 : 14),
  comments(w),
]
const named: Ask = (w) => [tenant(w), names('page', 50, w), discussions(w)]
const called: Ask = (w) => [tenant(w), names('reader', 50, w), readers(w)]
const leases: Ask = (w) => [many(tenant(w)), w.ids('delivery', 50)]
const batch: Ask = () => [BATCH]
const active = (search: string | null): Ask => {
  return (w) => [tenant(w), null, search, w.days(0), LAST_ID, PAGE]
}
const recent = (search: string | null): Ask => {
  return (w) => [tenant(w), null, search, LAST_ID, PAGE]
}
const queue: Ask = (w) => [tenant(w), FIRST_ID, PAGE]
const queueOf: Ask = (w) => [...queue(w), hot(w)]
/** A search without a match, so that it looks at all that it may. */
const search = (words: string | null, filters: Filters = {}, candidates = 10_000): Ask => {
  return (w) => [
    tenant(w),
    FIRST_ID,
    LAST_ID,
    words,
    filters.status ?? null,
    filters.isOfAuthor === true ? heavy(w) : null,
    null,
    'classifier',
    null,
    null,
    filters.isUnreviewed === true,
    candidates,
    PAGE,
  ]
}
interface Filters {
  status?: string
  isOfAuthor?: boolean
  isUnreviewed?: boolean
}
/** For the busiest discussion first, without a match, so that it looks at all that it may. */
const rankedQueue = (of: 'tenant' | 'discussion' | 'author', order: 'oldest' | 'newest', status?: string): Ask => {
  return (w) => [
    tenant(w),
    ...(order === 'oldest' ? [FIRST_ID, LAST_ID] : [LAST_ID, FIRST_ID]),
    1000,
    of === 'discussion' ? hot(w) : null,
    of === 'author' ? heavy(w) : null,
    'classifier',
    'busiest',
    FIRST_ID,
    LAST_ID,
    null,
    null,
    PAGE,
    ...(status === undefined ? [] : [status]),
  ]
}
const audit = (action: string | null, actor: boolean): Ask => {
  return (w) => [tenant(w), LAST_ID, action, actor ? w.id('admin', 1) : null, null, null, null, PAGE]
}

/**
 * What each statement is asked where it is the dearest that a caller can make it, by its parameters
 * in order. `_`, and what is left out at the end, stands for any value of the type.
 */
export const ASKS: Readonly<Record<string, Ask>> = {
  ...levels(),
  create_comment: createOne,
  create_comments: create,
  ...all('write_reactions write_unlocked_reactions', react),
  ...all(
    `blank_comment comment_by_id comment_to_change count_replies delete_comment discussion_of_comment
     lock_comment moderate_comment
     forget_classifier_request ask_classifier revise_comment`,
    ofComment,
  ),
  ...all(
    `comments_by_ids lock_comments forget_comment_texts import_comment_facts
     lock_discussions_of_comments rehearse_comments remove_blank_comments tenant_export_revisions import_add_replies
     import_add_reports`,
    ofComments,
  ),
  ...all('count_comments update_discussion mark_auto_closed', ofDiscussion),
  ...all('discussion_by_id lock_discussion', (w) => [...ofDiscussion(w), false]),
  ...all(
    `lock_reader reader_ban lock_reader_to_erase has_traces_of_reader export_notifications
     forget_reader_in_imports analytics_fold_reader
     dissolve_reader_merges reader_of_client_token`,
    ofReader,
  ),
  ...all('move_mutes', ofTwoReaders),
  ...all('lock_merge_target begin_erasure', ofAlias),
  ...all('lock_readers_to_merge tenant_export_former_readers', ofReaders),
  ...all(
    `analytics_lock analytics_try_lock find_key_set find_tenant
     import_try_lock lock_tenant tenant_export_count
     tenant_export_settings live_identity_secrets`,
    ofTenant,
  ),
  ...all('lock_endpoint record_handshake release_handshake', ofEndpoint),
  ...all('import_progress', ofImport),
  ...all('forget_import_names import_takes_audit_entries finish_import', ofImport),
  ...all('waiting_import_path', ofWaiting),
  ...all(
    `find_import_items lock_import_readers lock_imported_readers discussions_of_made_comments
     remove_imported_comments remove_imported_readers`,
    ofItems,
  ),
  ...all('complete_export take_export', ofExport),
  ...all('doubled_reactions doubled_reports make_room_for_reactions make_room_for_reports', moved),
  ...all('move_reactions move_shadow_reactions move_reports drop_shadow_reactions', movedAway),
  remove_comments_of_deleted: (w) => [tenant(w), heavy(w), 200],
  ...all('import_discussions_by_name', named),
  ...all('import_readers_by_name', called),
  ...all('release_leases', leases),
  ...all(
    `clear_deleted_endpoints delete_expired_aliases delete_expired_classifier_secrets delete_expired_identity_secrets delete_expired_mail_secrets
     delete_expired_webhook_secrets delete_old_analytics delete_old_audit_entries delete_old_client_tokens
     delete_old_deliveries delete_old_posted_texts hold_deliveries
     release_held`,
    batch,
  ),
  ...all(
    `analytics_waiting backfill_begin backfill_end_pass backfill_note backfill_reopen backfill_take backfills_open
     count_sealed_secrets database_now doctor_clock doctor_identity doctor_limit doctor_place doctor_server
     forget_deleted_endpoints has_service health_has_tenant health_probe count_outcomes_by_key statistics_turn
     lock_idempotency_key lock_replay outgrown_statistics pace_busy replica_position replica_primary_position
     service_in_other_schema survey_backlogs unfinished_migration applied_migrations`,
    () => [],
  ),
  ...all(
    `insert_audit_entry import_audit_entries keep_merged_name put_key_set import_readers
     import_discussions`,
    ofTenant,
  ),
  hurry_delivery: (w) => [tenant(w), w.id('endpoint', 0), false],
  insert_export_piece: ofExport,
  insert_client_token: (w) => [tenant(w), w.id('token', w.comments), _, w.id('key', 0), heavy(w), [], [], w.now],
  insert_report: (w) => [tenant(w), comment(w), heavy(w), 'spam'],
  ...all('begin_import upsert_discussion insert_waiting_items', ofImport),
  insert_import_items: (w) => [...ofImport(w), _, many('comment')],
  analytics_buckets: (w) => [tenant(w), 'hour', w.days(30), w.days(-1)],
  analytics_fold: (w) => [w.id('tenant', 1), BATCH],
  analytics_top_discussions: (w) => [tenant(w), w.days(89), w.days(-1), SEARCHED_FOR_SITE, OF_NONE, 50],
  analytics_top_readers: (w) => [tenant(w), w.days(89), w.days(-1), 50],
  append_event: (w) => [...ofDiscussion(w), _, 'comment_edited', 'public', null],
  append_events: (w) => [
    many(tenant(w)),
    many(hot(w)),
    _,
    many('comment_edited'),
    many('public'),
    many(null),
    many('{}'),
    _,
    many('{}'),
  ],
  author_history: (w) => [tenant(w), heavy(w), null, 7, true, FIRST_ID, 100, 20],
  count_posted_text: (w) => [tenant(w), 7, newId(), FIRST_ID, w.now],
  take_posted_text_back: (w) => [tenant(w), 7, newId()],
  plan_by_key: () => [],
  begin_reader_merge: (w) => [tenant(w), w.id('reader', 2), w.id('reader', 3)],
  comment_counts_of_readers: (w) => [tenant(w), readers(w), 1000],
  ...Object.fromEntries(
    (['newest', 'oldest'] as const).flatMap((order) => [
      [`search_comments_terms_${order}`, search('point to make', {}, 1000)],
      [`search_comments_all_${order}`, search(null, {}, 1000)],
      [`search_comments_unreviewed_${order}`, search(null, { isUnreviewed: true }, 1000)],
      [`search_comments_author_${order}`, search('point', { isOfAuthor: true }, 1000)],
      [`search_comments_held_${order}`, search('point', { status: 'pending' }, 1000)],
      [`search_comments_index_${order}`, search('this 77', {}, 8_999)],
    ]),
  ),
  ...Object.fromEntries(
    (['oldest', 'newest'] as const).flatMap((order) => [
      ...(['tenant', 'discussion'] as const).flatMap((of) =>
        ['pending', 'reported', 'rejected'].map((status): [string, Ask] => [
          `rank_queue_${status}_of_${of}_${order}`,
          rankedQueue(of, order),
        ]),
      ),
      [`rank_queue_any_of_author_${order}`, rankedQueue('author', order, 'reported')] as [string, Ask],
    ]),
  ),
  claim_comments: (w) => [tenant(w), comments(w), w.id('admin', 0)],
  comment_outcome: (w) => [tenant(w), hot(w), comment(w), 'reader-1', 10, w.now],
  comments_by_reader: (w) => [
    tenant(w),
    [heavy(w), ...readers(w).slice(1)],
    LAST_ID,
    21,
    discussions(w),
    'rejected',
    true,
    ['https://site.example/'],
  ],
  comments_waiting_since: (w) => [tenant(w), FIRST_ID, [], PAGE],
  comments_shown_in_shadow: (w) => [tenant(w), heavy(w), discussions(w)],
  shadow_reactions: (w) => [tenant(w), comments(w), heavy(w)],
  write_shadow_reaction: (w) => [tenant(w), comment(w), heavy(w), 'toggle', 'like', w.now],
  comments_of_reader: (w) => [tenant(w), heavy(w), PAGE],
  count_client_tokens: (w) => [tenant(w), w.now, 1000],
  count_client_tokens_of_reader: (w) => [tenant(w), heavy(w), w.now],
  told_notifications: (w) => [
    tenant(w),
    w.ids('comment', 100),
    w.ids('reader', 100),
    w.ids('reader', 100).map((_id, n) => (n % 3 === 0 ? 'decision' : 'reply')),
    w.now,
  ],
  copy_deliveries: (w) => [tenant(w), w.id('endpoint', 0), w.ids('delivery', 50)],
  count_held_deliveries: (w) => [tenant(w), w.ids('endpoint', 5, 5), 1000],
  count_queues: (w) => [tenant(w), 1000],
  count_streams: (w) => [tenant(w), discussions(w), w.id('process', 5), 5000],
  count_streams_of_tenant: (w) => [tenant(w), w.id('process', 5), 5000],
  delete_expired_idempotency_records: (w) => [w.now, BATCH],
  delete_old_events: () => [BATCH, [], []],
  delete_waiting_items: (w) => [tenant(w), w.id('import', 1), w.ids('waiting', 50)],
  discussion_by_external_id: (w) => [tenant(w), 'page-1'],
  ...all('discussion_counts discussion_ids_by_external_id', (w) => [tenant(w), names('page', 100, w)]),
  discussion_versions: (w) => [many(tenant(w), 20), discussions(w)],
  discussions_active: active(null),
  ...all('discussions_active_found discussions_active_near', active('needle')),
  discussions_recent: recent(null),
  ...all('discussions_recent_found discussions_recent_near', recent('needle')),
  discussions_by_ids: (w) => [tenant(w), discussions(w)],
  ...all('discussions_at_closing_time discussions_to_close', (w) => [w.now, 10]),
  events_naming_reader: (w) => [tenant(w), hot(w), 0, 20, heavy(w)],
  events_of_deliveries: (w) => [tenant(w), many(hot(w), 50), many(1)],
  extend_leases: (w) => [...leases(w), 30_000],
  fail_key_set: (w) => [tenant(w), 'https://example.com/jwks'],
  store_key_set: (w) => [tenant(w), 'https://example.com/jwks'],
  find_sign_in: (w) => [tenant(w), w.id('signIn', 0)],
  find_idempotency_record: (w) => [tenant(w), _, w.now],
  find_client_token: (w) => [_, w.now],
  find_key_by_digest: () => [],
  find_node_types: (w) => [tenant(w), w.ids('audit', 50), ['Comment', 'Discussion', 'Reader', 'AuditEntry']],
  find_origin: () => [['https://www.example.com', 'https://*.example.com']],
  find_reader_called: (w) => [tenant(w), 'former-4'],
  forget_reader_in_audit_log: (w) => [tenant(w), heavy(w)],
  forget_stream_processes: (w) => [w.id('process', 0)],
  held_reactions_in_shadow: (w) => [tenant(w), comments(w), null, w.days(-1), LAST_ID, 21, true, heavy(w)],
  held_reactions: (w) => [tenant(w), [w.id('comment', 0), ...comments(w)], null, w.days(-1), LAST_ID, 21, true],
  import_add_comments: (w) => [tenant(w), discussions(w), many(1, 20), many(w.now, 20), many(w.now, 20)],
  import_add_reactions: (w) => [tenant(w), comments(w), many('{"like":1}')],
  import_count_down: (w) => [tenant(w), [hot(w)], [1], [w.now]],
  import_comments: (w) => [
    tenant(w),
    _,
    many(hot(w)),
    many(null),
    many(0),
    readers(w),
    _,
    _,
    _,
    many(null),
    _,
    many(null),
  ],
  import_notes: (w) => [tenant(w), many(1).map(() => newId()), readers(w), many(null)],
  tenant_export_notes_by_comment_id: ofComments,
  tenant_export_notes_by_reader_id: ofReaders,
  import_former_readers: (w) => [tenant(w), _, readers(w)],
  import_reactions: (w) => [tenant(w), comments(w), readers(w)],
  import_shadow_reactions: (w) => [tenant(w), comments(w), readers(w)],
  import_reports: (w) => [tenant(w), comments(w), readers(w), many('spam')],
  ...all('rehearse_reactions rehearse_shadow_reactions rehearse_reports', (w) => [tenant(w), comments(w), readers(w)]),
  // Not of the author of the comment that has very many.
  comment_bodies: (w) => [tenant(w), comments(w), 2_147_483_647, 21, false, w.id('reader', 1)],
  import_revisions: (w) => [tenant(w), comments(w), many(9)],
  imported_texts: () => [FIRST_ID, FIRST_ID, BATCH, 1_000_000],
  latest_texts: (w) => [tenant(w), PAGE],
  lease_classifier_requests: () => [[], [], 50, 50, 30_000],
  lease_guest_mails: (w) => [[], [], 16, 128, 30_000, w.days(-1)],
  lease_deliveries: () => [[], [], 8, 200, 30_000, []],
  lease_handshakes: () => [[], [], 10, 10, 30_000],
  lease_key_sets: (w) => [w.now, w.days(-1), 10],
  ...all('list_failed_deliveries list_held_deliveries list_delivering_deliveries', (w) => [
    tenant(w),
    w.id('endpoint', 0),
    FIRST_ID,
    LAST_ID,
    null,
    null,
    null,
    PAGE,
  ]),
  list_audit_log: audit(null, false),
  list_audit_log_by_action: audit('api_key.create', false),
  list_audit_log_by_actor: audit(null, true),
  lock_import_discussions: (w) => [tenant(w), discussions(w)],
  lock_key: (w) => [tenant(w), w.id('key', 0)],
  made_import_items: (w) => [...ofImport(w), 'comment', FIRST_ID, PAGE],
  move_comments: moved,
  move_recipient: (w) => [tenant(w), heavy(w), w.id('reader', 1), w.ids('event', 50)],
  newest_comments_of_site: (w) => [tenant(w), SEARCHED_FOR_SITE, OF_NONE, 100],
  note_hung_on_imported: (w) => [...ofImport(w), w.ids('item', 50)],
  ...all('queue_pending queue_reported', queue),
  queue_rejected: (w) => [tenant(w), LAST_ID, PAGE],
  ...all('queue_pending_of_discussion queue_reported_of_discussion', queueOf),
  queue_rejected_of_discussion: (w) => [tenant(w), LAST_ID, PAGE, hot(w)],
  ...all('reactions_of_reader shadow_reactions_of_reader reports_of_reader', (w) => [tenant(w), heavy(w), PAGE]),
  reader_ids_by_external_id: (w) => [tenant(w), [...many('former-4', 50), ...many('reader-4', 50)]],
  readers_in_view: (w) => [tenant(w), [heavy(w), ...readers(w).slice(1)], null, true, ['https://site.example/']],
  read_queue_states: (w) => [[tenant(w)], 1000],
  recall_deliveries: (w) => [tenant(w), w.ids('event', 50)],
  record_attempts: (w) => [many(tenant(w)), many(w.id('endpoint', 0)), w.ids('delivery', 50)],
  record_key_uses: (w) => [many(tenant(w), 20), w.ids('key', 20, 20), many(w.now, 20)],
  release_classifier_request: (w) => [tenant(w), comment(w), 1],
  take_classifier_request: (w) => [tenant(w), comment(w), 1],
  release_held_of_endpoint: (w) => [tenant(w), w.id('endpoint', 1), BATCH],
  remove_import: (w) => [tenant(w), w.id('import', 5)],
  ...all('replace_sealed_classifier_secrets replace_sealed_identity_secrets replace_sealed_mail_secrets', (w) => [
    tenant(w),
    tenant(w),
    KID,
  ]),
  replace_sealed_guest_keys: (w) => [w.id('tenant', 1), w.id('tenant', 1), 'digest'],
  replace_sealed_notice_channels: (w) => [tenant(w), w.id('notice', 0), 'slack'],
  replace_sealed_oidc_secrets: (w) => [tenant(w), tenant(w), 'engagement'],
  replace_sealed_second_factors: (w) => [w.id('admin', 0), w.id('admin', 0), 'totp'],
  replace_sealed_webhook_headers: (w) => [tenant(w), w.id('endpoint', 0), 'x-kid'],
  replace_sealed_webhook_secrets: (w) => [tenant(w), w.id('endpoint', 0), KID],
  replay_events: (w) => [tenant(w), w.id('endpoint', 4), w.days(3), w.days(0), ['comment_created'], BATCH, 1],
  replace_rendered_texts: (w) => [many(tenant(w)), comments(w)],
  report_streams: (w) => [w.id('process', 0), many(tenant(w), 20), discussions(w), many(1, 20)],
  reports_of_comments: (w) => [tenant(w), [w.id('comment', 0), ...comments(w)], w.days(-1), LAST_ID, 21],
  rewrite_encoded_letters: (w) => [many(tenant(w)), comments(w), many(1), many('a'), many('<p>a</p>')],
  rewrite_events: (w) => [tenant(w), hot(w), [1, 2], ['{}', '{}'], ['{}', '{}'], [false, false]],
  ...all('search_readers search_readers_near', (w) => [tenant(w), LAST_ID, null, 'needle', PAGE, null]),
  timeline_of_reader: (w) => [tenant(w), heavy(w), Date.now(), 6, LAST_ID, LAST_ID, LAST_ID, PAGE, null],
  ...all(
    'select_sealed_classifier_secrets select_sealed_guest_keys select_sealed_identity_secrets select_sealed_mail_secrets select_sealed_notice_channels select_sealed_oidc_secrets select_sealed_second_factors select_sealed_webhook_headers select_sealed_webhook_secrets',
    () => [FIRST_ID, FIRST_ID, '', ['00000000'], 100],
  ),
  select_waiting_export: () => [FIRST_ID],
  stored_texts: () => [FIRST_ID, FIRST_ID, BATCH, 1_000_000],
  stream_missed_events: (w) => [tenant(w), hot(w), 10, 40, 'public', heavy(w), new Date(0), 10_001],
  stream_read_events: (w) => [tenant(w), hot(w), 10, 40, 'public', heavy(w), 100, true],
  stream_read_heads: (w) => [many(tenant(w), 20), discussions(w)],
  stream_read_live_credentials: (w) => [many(tenant(w), 20), w.ids('key', 20, 20), w.now],
  store_idempotency_record: (w) => [tenant(w), _, _, 201, 'application/json', _, comments(w), 'reader-1'],
  erase_shadow_reactions: (w) => [tenant(w), heavy(w), comments(w)],
  take_reactions_back: (w) => [tenant(w), heavy(w), comments(w)],
  take_reports_back: (w) => [tenant(w), heavy(w), comments(w)],
  ...all('take_up_erasure take_up_reader_merge', (w) => [w.now, w.days(0)]),
  ...all(
    'tenant_export_audit tenant_export_comments tenant_export_discussions tenant_export_endpoints tenant_export_readers',
    (w) => [tenant(w), FIRST_ID, 100],
  ),
  tenant_export_mutes: (w) => [tenant(w), FIRST_ID, FIRST_ID, 100],
  ...all('tenant_export_reactions tenant_export_shadow_reactions tenant_export_reports', (w) => [
    tenant(w),
    FIRST_ID,
    FIRST_ID,
    w.id('comment', 1000),
    100,
  ]),
  upsert_reader: (w) => [tenant(w), _, 'reader-1'],
  decisions_on_comments: (w) => [tenant(w), heavy(w), comments(w), w.now],
  viewer_reactions: (w) => [tenant(w), many(1), readers(w), comments(w)],
  waiting_import_items_below: (w) => [...ofWaiting(w), w.ids('waiting', 20), 100],
  waiting_import_roots: (w) => [...ofWaiting(w), FIRST_ID, 100],
  webhook_health: (w) => [tenant(w), 1000],
}

const WHOLE = 'reads all that a reader or a comment has, because all of it is returned, erased or moved'
const ONCE = 'is run by the command line alone: by an import, an undo or a change of keys'

/** Statements that may read more where there is more, and why. */
export const GROWS: Readonly<Record<string, string>> = {
  analytics_top_discussions: 'sums up the days of the period: at most 92',
  analytics_top_readers: 'sums up the days of the period: at most 92',
  count_outcomes_by_key: ONCE,
  count_sealed_secrets: ONCE,
  dissolve_reader_merges: WHOLE,
  export_notifications: WHOLE,
  finish_import: ONCE,
  analytics_fold_reader: WHOLE,
  rank_queue_reported_of_discussion_newest: "looks through the tenant's queue for those of one discussion",
  rank_queue_reported_of_discussion_oldest: "looks through the tenant's queue for those of one discussion",
  forget_comment_texts: 'reads all reports of its comments: each may have a note',
  forget_import_names: ONCE,
  import_count_down: ONCE,
  import_takes_audit_entries: ONCE,
  made_import_items: ONCE,
  remove_import: ONCE,
  remove_imported_readers: ONCE,
  replay_events: 'reads the events of the span that is asked for',
  search_comments_index_newest: 'reads what the index has of the words: at most 9 000 comments',
  search_comments_index_oldest: 'reads what the index has of the words: at most 9 000 comments',
  search_readers: 'runs only where the newest 2 000 readers have no full page of matches',
  survey_backlogs: 'counts each backlog up to BACKLOG_LIMIT',
  tenant_export_count: 'is the first statement of an export, which reads everything',
  tenant_export_former_readers: WHOLE,
  tenant_export_notes_by_comment_id: WHOLE,
  tenant_export_notes_by_reader_id: WHOLE,
  tenant_export_reactions: 'reads the index entries of one comment again for each page of its reactions',
  waiting_import_roots: ONCE,
}

/** Values that fit parameters which decide nothing, by their type. */
const VALUES: Readonly<Record<string, (w: World) => unknown>> = {
  bigint: () => 1,
  boolean: () => true,
  bytea: () => Buffer.from('key'),
  comment_status: () => 'approved',
  discussion_state: () => 'open',
  'double precision': () => 1,
  integer: () => 1,
  json: () => '{}',
  jsonb: () => '{}',
  moderation_mode: () => 'pre',
  reader_trust: () => 'hold',
  text: () => `a-${newId()}`,
  'timestamp with time zone': (w) => w.now,
  uuid: () => newId(),
}

const known: Readonly<Record<string, readonly string[]>> = PARAMETERS

/** All parameters of a statement. Throws for one that is not in `ASKS`. */
export function paramsOf(name: string, w: World): unknown[] {
  const ask = ASKS[name]
  const types = known[name]
  if (ask === undefined || types === undefined) throw new Error(`test/harness/scale-asks.ts lacks ${name}`)
  const given = ask(w)
  if (given.length > types.length) throw new Error(`${name} has ${types.length} parameters, not ${given.length}`)
  const lengths = given.flatMap((value) => (Array.isArray(value) ? [value.length] : []))
  return types.map((type, index) => (given[index] === undefined ? anyOf(type, w, lengths[0] ?? 50) : given[index]))
}

function anyOf(type: string, w: World, length: number): unknown {
  const make = VALUES[type.replace('[]', '')]
  if (make === undefined) throw new Error(`there is no value of the type ${type}`)
  return type.endsWith('[]') ? Array.from({ length }, () => make(w)) : make(w)
}
