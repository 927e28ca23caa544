import { randomUUID } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'

import { type Bus, CHANNELS } from '../../src/core/bus.ts'
import { newId } from '../../src/core/ids.ts'
import type { Db, Sql } from '../../src/core/database/database.ts'
import { statement } from '../../src/core/database/statements.ts'
import { createRedisBus } from '../../src/data/bus/redis.ts'
import { newSigningSecret, sealSecret } from '../../src/core/secrets/signing-secrets.ts'
import { unnamed } from '../harness/sql.ts'
import { BODY } from './requests.ts'
import { type BenchService, openDatabase } from './service.ts'

const AUTHOR = {
  id: randomUUID(),
  externalId: 'reader-1',
  name: 'Reader',
  avatarUrl: null,
  profileUrl: null,
  badges: [],
}
const COMMENT = {
  id: randomUUID(),
  discussionId: randomUUID(),
  parentId: null,
  depth: 0,
  author: AUTHOR,
  body: BODY,
  bodyHtml: `<p>${BODY}</p>\n`,
  status: 'approved',
  pinnedAt: null,
  editedAt: null,
  deletedAt: null,
  revision: 1,
  replyCount: 0,
  reactionCounts: {},
  viewerReaction: null,
  createdAt: '2026-01-01T00:00:00.000Z',
}
export const ACTOR = JSON.stringify({ kind: 'reader', readerId: AUTHOR.id, externalId: AUTHOR.externalId })
export const DATA = JSON.stringify({ comment: COMMENT })

const TENANT = statement(
  'outbox_tenant',
  `WITH t AS (INSERT INTO tenants (id, slug) VALUES ($1, 'outbox-' || $1::uuid::text))
   INSERT INTO discussions (tenant_id, id, external_id) VALUES ($1, $2, 'page')`,
)
const ENDPOINT = statement(
  'outbox_endpoint',
  `WITH e AS (
     INSERT INTO webhook_endpoints (tenant_id, id, url, event_types, state, policy)
     VALUES ($1, $2, $3, '{*}', 'verified', $4::jsonb))
   INSERT INTO webhook_secrets (tenant_id, endpoint_id, kid, sealed) VALUES ($1, $2, $5, $6)`,
)
const EVENTS = statement(
  'outbox_events',
  `INSERT INTO events (tenant_id, discussion_id, seq, id, type, audience, occurred_at, actor, data)
   SELECT $1, $2, $3::bigint + n, coalesce($7::uuid, new_id()), 'comment_created', 'public', now(), $5::json, $6::json
   FROM generate_series(1, $4::int) n`,
)
const DELIVERIES = statement(
  'outbox_deliveries',
  `INSERT INTO deliveries (tenant_id, id, endpoint_id, event_id, event_type, discussion_id, seq)
   SELECT v.tenant_id, new_id(), e.id, v.id, v.type, v.discussion_id, v.seq
   FROM events v CROSS JOIN unnest($4::uuid[]) e(id)
   WHERE v.tenant_id = $1 AND v.discussion_id = $2 AND v.seq > $3 AND v.seq <= $3::bigint + $5::int ORDER BY v.seq`,
)
const UNFINISHED = unnamed(`SELECT count(*)::int AS n FROM deliveries WHERE status IN ('pending', 'delivering')`)

interface TenantOfOutbox {
  id: string
  discussionId: string
  endpointIds: string[]
  seq: number
}

/** Writes events and deliveries as the operations do, without an api. */
export interface Outbox {
  db: Db
  /**
   * Commits `events` for each tenant, with a delivery to each of its endpoints, and wakes the
   * workers.
   */
  queue(events: number): Promise<void>
  /**
   * Commits one event of one tenant after another. Its id, and when it was committed, in
   * milliseconds since 1970.
   */
  emit(): Promise<[eventId: string, committedAt: number]>
  /** Resolves once every delivery has its outcome. */
  drained(): Promise<void>
  close(): Promise<void>
}

interface Options {
  tenants: number
  /** Over the tenants in turn. */
  urls: readonly string[]
  policy?: object
  redis: { REDIS_URL: string; REDIS_PREFIX: string }
}

export async function openOutbox(
  service: BenchService,
  { tenants: count, urls, policy = {}, redis }: Options,
): Promise<Outbox> {
  const { db, close } = await openDatabase(service, 4)
  const quiet = { onDown: () => undefined, onUp: () => undefined }
  const bus: Bus = createRedisBus({ urls: [redis.REDIS_URL], prefix: redis.REDIS_PREFIX, ...quiet })
  const sealKeys = { ENCRYPTION_KEY: Buffer.from(service.keys.ENCRYPTION_KEY ?? '', 'base64'), ENCRYPTION_KEYS: [] }
  const tenants: TenantOfOutbox[] = []
  for (let n = 0; n < count; n++) {
    const tenant = { id: newId(), discussionId: newId(), endpointIds: [] as string[], seq: 0 }
    await db.query(TENANT, [tenant.id, tenant.discussionId])
    for (const url of urls.filter((_, k) => k % count === n)) {
      const [id, secret] = [newId(), newSigningSecret()]
      const sealed = sealSecret(sealKeys, id, secret)
      await db.query(ENDPOINT, [tenant.id, id, url, JSON.stringify(policy), secret.kid, sealed])
      tenant.endpointIds.push(id)
    }
    tenants.push(tenant)
  }

  async function write(sql: Sql, tenant: TenantOfOutbox, events: number, eventId: string | null): Promise<void> {
    const { id, discussionId, seq, endpointIds } = tenant
    tenant.seq += events
    await sql(EVENTS, [id, discussionId, seq, events, ACTOR, DATA, eventId])
    await sql(DELIVERIES, [id, discussionId, seq, endpointIds, events])
  }

  let turn = 0
  return {
    db,
    queue: async (events) => {
      await db.transaction(async (sql) => {
        for (const tenant of tenants) await write(sql, tenant, events, null)
      })
      bus.publish(CHANNELS.work, '')
    },
    emit: async () => {
      const tenant = tenants[turn++ % tenants.length]
      if (tenant === undefined) throw new Error('there is no tenant')
      const eventId = newId()
      await db.transaction((sql) => write(sql, tenant, 1, eventId))
      const committedAt = performance.timeOrigin + performance.now()
      bus.publish(CHANNELS.work, '')
      return [eventId, committedAt]
    },
    drained: async () => {
      while (((await db.query<{ n: number }>(UNFINISHED))[0]?.n ?? 0) > 0) await setTimeout(100)
    },
    close: async () => {
      await bus.close()
      await close()
    },
  }
}
