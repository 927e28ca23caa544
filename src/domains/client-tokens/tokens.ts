import { z } from 'zod'

import { requireCaller } from '../../core/access.ts'
import { type App, perApp } from '../../core/app.ts'
import type { Actor, Identity, Tenant } from '../../core/caller.ts'
import type { Ctx } from '../../core/context.ts'
import { roomOf } from '../../core/cache.ts'
import { newClientToken, sha256, sha256Hex } from '../../core/secrets/crypto.ts'
import { invalid, noSuch, ServiceError } from '../../core/errors.ts'
import { type Id, isId, newId } from '../../core/ids.ts'
import { createReadCache, followCacheNews } from '../../core/read-cache.ts'
import { counted, externalIdSchema } from '../../core/input/texts.ts'
import { validate } from '../../core/input/validate.ts'
import { isDistinct, wrong } from '../../core/input/schemas.ts'
import { credentialOf } from '../../live/credentials.ts'
import { createDiscussion, findDiscussion, findDiscussionIds } from '../discussions/discussions.ts'
import { DOT_SEGMENT, isDotSegment } from '../discussions/fields.ts'
import { NO_CLAIMS } from '../readers/fields.ts'
import { ensureReader } from '../readers/readers.ts'
import { lockReader } from '../readers/records.ts'
import { admitTenant } from '../tenants/tenants.ts'
import * as sql from './sql.ts'

const RAW_TOKEN = /^ct_[0-9a-f]{64}$/

/** What a request by a client token is made as. */
export interface ClientCaller {
  tenant: Tenant
  actor: Actor
  /** The token's reader; null for none. */
  identity: Identity | null
}

const tokens = perApp((app) => {
  const cache = createReadCache<sql.TokenRow | null>({
    room: roomOf(app, 'clientTokens'),
    read: async (digest) => (await sql.findToken(app.db.query, Buffer.from(digest, 'hex'), new Date())) ?? null,
    // As with keys: made-up ones must not evict real ones, and a new one works at once. Nor must
    // those that have ended. Each use of one is looked up, and costs its address a token, as every
    // refusal does: so its look-ups are as rare as those of made-up ones.
    keep: (token) => token?.isLive === true && token.expiresAt.getTime() > Date.now(),
    groupOf: (_key, token) => token?.minterId,
  })
  followCacheNews(app, { kind: 'client_token', forget: ({ digest }) => cache.forget(digest), clear: cache.clear })
  // Tokens end with their key or sign-in.
  followCacheNews(app, { kind: 'key', forget: ({ keyId }) => cache.forgetGroup(keyId), clear: cache.clear })
  followCacheNews(app, {
    kind: 'sign_in',
    forget: ({ signInIds }) => signInIds.forEach((id) => cache.forgetGroup(id)),
    clear: cache.clear,
  })
  return cache
})

/**
 * The caller of a raw client token. `beforeLookUp` runs before the database is queried for a token
 * that this process has never found, and may refuse. Throws `invalid_client_token`, also after its
 * key or its reader has ended, `expired_client_token` and `tenant_suspended`.
 */
export async function findCallerByToken(app: App, rawToken: string, beforeLookUp?: () => void): Promise<ClientCaller> {
  if (!RAW_TOKEN.test(rawToken)) throw new ServiceError('invalid_client_token')
  const digest = sha256Hex(rawToken)
  if (tokens(app).isNew(digest)) beforeLookUp?.()
  const token = await tokens(app).get(digest)
  if (token === null) throw new ServiceError('invalid_client_token')
  if (token.expiresAt.getTime() <= Date.now()) throw new ServiceError('expired_client_token')
  if (!token.isLive) throw new ServiceError('invalid_client_token', { detail: ENDED })
  const tenant = await admitTenant(app, token.tenantId)
  return { tenant, actor: actorOf(token), identity: identityOf(token) }
}

const ENDED = 'What minted the token, or the reader that it names, has ended.'

const actorOf = ({ id, minterId, readerId, discussionIds: ids, externalIds, expiresAt }: sql.TokenRow): Actor => ({
  kind: 'client',
  id,
  minterId,
  readerId,
  discussions: ids.length + externalIds.length === 0 ? null : { ids, externalIds },
  expiresAt,
})

const NEVER = new Date(0)

const identityOf = ({ readerId, readerExternalId: externalId }: sql.TokenRow): Identity | null =>
  readerId === null || externalId === null
    ? null
    : { externalId, issuedAt: NEVER, ...NO_CLAIMS, badges: null, readerId }

const MAX_NAMED = 50

const unique = <S extends z.ZodType>(schema: S) =>
  z.array(schema).min(1).max(MAX_NAMED).refine(isDistinct, wrong('repeated', 'must not repeat one'))

export const tokenInput = z.object({ ttlSeconds: z.int().min(60).max(3600).nullish() })

export const namedInput = z.object({
  discussionIds: unique(z.string()).nullish(),
  externalIds: unique(externalIdSchema).nullish(),
})

// Built once: zod compiles a schema at its first use.
const wholeInput = tokenInput.extend(namedInput.shape)

const DEFAULT_TTL_SECONDS = 900

export interface CreateClientTokenInput {
  ttlSeconds?: number | null | undefined
  /** One of both. REST has them beside ttlSeconds, which errors point at. */
  discussions?:
    | { discussionIds?: readonly Id[] | null | undefined; externalIds?: readonly string[] | null | undefined }
    | null
    | undefined
}

/** A browser's credential, which is shown once. */
export interface ClientToken {
  token: string
  expiresAt: Date
  readerId: Id | null
}

/**
 * Mints a client token. With an identity, it acts for that reader. It lives no longer than what
 * mints it. An external id without a discussion gets one, as by a reader's first comment: the
 * browser can subscribe before it. Throws `not_found`, `validation_failed`, `rate_limited` while
 * there are too many.
 */
export async function createClientToken(ctx: Ctx, input: CreateClientTokenInput): Promise<ClientToken> {
  const { app } = ctx
  const { tenant, actor, identity } = requireCaller(ctx)
  const { ttlSeconds, discussionIds, externalIds } = validate(wholeInput, {
    ttlSeconds: input.ttlSeconds,
    ...input.discussions,
  })
  if (discussionIds != null && externalIds != null) {
    throw invalid('', 'at_most_one', 'must have only one of discussionIds and externalIds')
  }
  await requireDiscussions(ctx, discussionIds ?? [])
  await requireRoom(app, tenant)
  const newPages = await findNewPages(ctx, externalIds ?? [])
  const readerId = identity === null ? null : (await ensureReader(app, tenant, identity)).id
  const token = newClientToken()
  const end = Date.now() + (ttlSeconds ?? DEFAULT_TTL_SECONDS) * 1000
  const row: sql.NewToken = {
    tenantId: tenant.id,
    id: newId(),
    digest: sha256(token),
    minterId: credentialOf({ tenant, actor }).id,
    readerId,
    discussionIds: discussionIds ?? [],
    externalIds: externalIds ?? [],
    expiresAt: new Date(Math.min(end, actor.expiresAt?.getTime() ?? Infinity)),
  }
  if (readerId === null) await sql.insertToken(app.db.query, row)
  else await insertForReader(ctx, readerId, row)
  // Last: a token that is refused makes none. One after the other: many pages must not take all
  // connections of the pool.
  for (const externalId of newPages) await createDiscussion(ctx, { externalId }, { isForReader: true })
  return { token, expiresAt: row.expiresAt, readerId }
}

/** Throws `not_found`, as a ticket for an unknown discussion does. */
async function requireDiscussions(ctx: Ctx, ids: readonly Id[]): Promise<void> {
  const found = ids.every(isId) ? await Promise.all(ids.map((id) => findDiscussion(ctx, id))) : [null]
  if (found.includes(null)) throw noSuch('discussion')
}

/** Those without a discussion, in one order for all requests. Throws `validation_failed`. */
async function findNewPages(ctx: Ctx, externalIds: readonly string[]): Promise<string[]> {
  if (externalIds.length === 0) return []
  const known = await findDiscussionIds(ctx, externalIds)
  const isDots = (externalId: string): boolean => isDotSegment(externalId) && !known.has(externalId)
  const refused = externalIds.findIndex(isDots)
  if (refused >= 0) throw invalid(`/externalIds/${refused}`, 'invalid', DOT_SEGMENT)
  return externalIds.filter((externalId) => !known.has(externalId)).sort()
}

function insertForReader({ app, caller }: Ctx, readerId: Id, row: sql.NewToken): Promise<void> {
  const most = caller?.tenant.settings.clientToken.maxLivePerReader ?? 0
  return app.db.transaction(async (tx) => {
    // No two tokens take the last place. A ban, an erasure and a merge lock the row too: they end
    // the tokens from before, and a later mint sees them.
    if (!(await lockReader(tx, row.tenantId, readerId))) {
      throw new ServiceError('unavailable', { detail: 'The reader is being changed.', retryAfterSeconds: 1 })
    }
    const live = await sql.countTokensOfReader(tx, row.tenantId, readerId, new Date())
    if (live.count >= most) throw tooMany('The reader', 'maxLivePerReader', most, live)
    await sql.insertToken(tx, row)
  })
}

/** Counting costs what there is, so that it is done once a second. */
const COUNT_MS = 1000

const counts = perApp((app) =>
  createReadCache<sql.LiveTokens>({
    room: roomOf(app, 'other'),
    part: 0.25,
    maxAgeMs: COUNT_MS,
    read: (key) => {
      const [tenantId = '', most] = key.split(' ')
      return sql.countTokens(app.db.query, tenantId, new Date(), Number(most))
    },
  }),
)

/** What is minted within a second may exceed the cap. */
async function requireRoom(app: App, { id, settings }: Tenant): Promise<void> {
  const { maxLive } = settings.clientToken
  const live =
    // In a request's own transaction, a statement of the process would wait for its connection.
    app.scope === undefined
      ? await counts(app).get(`${id} ${maxLive}`)
      : await sql.countTokens(app.db.query, id, new Date(), maxLive)
  if (live.count >= maxLive) throw tooMany('The tenant', 'maxLive', maxLive, live)
}

function tooMany(whose: string, setting: string, most: number, { firstEnd }: sql.LiveTokens): ServiceError {
  return new ServiceError('rate_limited', {
    detail: `${whose} has ${counted(most, 'live client token')}, as many as the setting clientToken.${setting} allows.`,
    retryAfterSeconds: firstEnd === null ? 1 : (firstEnd.getTime() - Date.now()) / 1000,
  })
}
