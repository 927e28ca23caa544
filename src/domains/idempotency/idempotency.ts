import { createHmac } from 'node:crypto'

import { type App, type Caller, type Ctx, perApp, requireCaller } from '../../core/context.ts'
import { deriveKey, seal, unseal } from '../../core/crypto.ts'
import { invalid, problemOf, ServiceError } from '../../core/errors.ts'
import { FIRST_ID, type Id } from '../../core/ids.ts'
import { inOneTransaction } from '../../core/scope.ts'
import type { Sql } from '../../core/sql.ts'
import * as sql from './sql.ts'

/** Contract, section 1. */
const KEPT_MS = 24 * 3_600_000
const RETRY_SECONDS = 1
const KEY = /^[\x21-\x7e]{1,255}$/

/** A request that carries an Idempotency-Key: what makes it the same again. */
export interface KeyedRequest {
  key: string
  method: string
  /** Path and query, as they came. */
  url: string
  /** To the byte. */
  rawBody: Uint8Array
}

/** An answer as it goes out. */
export interface Answer {
  status: number
  /** Null where there is no body. */
  contentType: string | null
  body: string
}

/** Thrown by `run` for an answer that decides nothing, as a failure in the midst of it: all that it did is undone. */
export class Undecided extends Error {
  readonly answer: Answer

  constructor(answer: Answer) {
    super('the request has no outcome')
    this.answer = answer
  }
}

/**
 * Answers a request that may come many times as if it had come once (contract, section 1). What `run` does with the app
 * of its context commits together with its answer, or not at all; there is no state between. A refusal (4xx, but not
 * 429) is an answer as well. Everything else that `run` throws is thrown on, and leaves nothing.
 * Throws `validation_failed`, `idempotency_conflict`, `idempotency_in_progress`, and `not_found` for an erased answer.
 */
export async function runOnce(
  ctx: Ctx,
  request: KeyedRequest,
  run: (ctx: Ctx) => Promise<Answer>,
): Promise<Answer & { replayed: boolean }> {
  const caller = requireCaller(ctx)
  if (!KEY.test(request.key)) {
    throw invalid('/Idempotency-Key', 'invalid', 'must have 1 to 255 visible ASCII characters')
  }
  const digests = digestsOf(ctx.app, caller, request)
  const tenantId = caller.tenant.id
  try {
    return await inOneTransaction(ctx.app, async (tx, attempt) => {
      const key = { tenantId, keyDigest: digests.key }
      if (!(await sql.tryLockKey(tx, key))) {
        throw new ServiceError('idempotency_in_progress', { retryAfterSeconds: RETRY_SECONDS })
      }
      const now = new Date()
      const record = await sql.findRecord(tx, key, now)
      if (record !== undefined) return replay(ctx.app, key, digests.request, record)
      const answer = await attempt((app) => run({ ...ctx, app })).catch(asRefusal(ctx))
      await sql.storeRecord(tx, {
        ...key,
        requestDigest: digests.request,
        status: answer.status,
        contentType: answer.contentType,
        body: seal(ctx.app.settings.ENCRYPTION_KEY, answer.body, sealContext(key)),
        mentions: mentionsOf(request, answer),
        readerExternalId: caller.identity?.externalId ?? null,
        now,
        expiresAt: new Date(now.getTime() + KEPT_MS),
      })
      return { ...answer, replayed: false }
    })
  } catch (error) {
    if (error instanceof Undecided) return { ...error.answer, replayed: false }
    throw error
  }
}

function replay(app: App, key: sql.RecordKey, requestDigest: Buffer, record: sql.IdempotencyRecord) {
  const { status, contentType, body } = record
  if (!requestDigest.equals(record.requestDigest)) throw new ServiceError('idempotency_conflict')
  if (body === null) throw new ServiceError('not_found', { detail: 'What this request answered has been erased.' })
  const opened = unseal(app.settings.ENCRYPTION_KEY, body, sealContext(key))
  return { status, contentType, body: opened, replayed: true }
}

/** A refusal as the answer that it is. */
const asRefusal =
  ({ requestId }: Ctx) =>
  (error: unknown): Answer => {
    if (!(error instanceof ServiceError) || !isOutcome(error.status)) throw error
    const body = JSON.stringify(problemOf(error, requestId))
    return { status: error.status, contentType: 'application/problem+json', body }
  }

/** Whether a status says what has become of the request: another try would not be another one. */
export const isOutcome = (status: number): boolean => status < 500 && status !== 429

const sealContext = ({ tenantId, keyDigest }: sql.RecordKey): string =>
  `idempotency:${tenantId}:${keyDigest.toString('hex')}`

const digestKey = perApp((app) => deriveKey(app.settings.ENCRYPTION_KEY, 'idempotency'))

/** With a key of our own: nobody who reads the table can try out what was sent, or by whom. */
function digestsOf(app: App, { tenant, actor, identity }: Caller, { key, method, url, rawBody }: KeyedRequest) {
  const hmac = (name: string, ...parts: unknown[]) =>
    createHmac('sha256', digestKey(app)).update(JSON.stringify([name, tenant.id, ...parts]))
  return {
    key: hmac('key', key).digest(),
    // Who asks is part of it: else a key without capabilities could have another one's secrets replayed.
    request: hmac('request', method, url, actor.kind, actor.id, identity?.externalId ?? null)
      .update(rawBody)
      .digest(),
  }
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi
const MAX_MENTIONS = 500
/** Stands for any id, where there are too many to list. */
const ANYONE = FIRST_ID

function mentionsOf({ url, rawBody }: KeyedRequest, { body }: Answer): Id[] {
  const texts = [url, Buffer.from(rawBody).toString('latin1'), body]
  const ids = new Set(texts.flatMap((text) => text.match(UUID) ?? []).map((id) => id.toLowerCase()))
  return ids.size > MAX_MENTIONS ? [ANYONE] : [...ids]
}

/**
 * Empties the stored answers that mention any of the ids: a reader's own, and those of what the reader wrote. The records
 * stay, so that no request is run a second time; its replay is `not_found`. Part of the erasure's transaction `tx`.
 */
export const forgetReader = (tx: Sql, tenantId: Id, ids: readonly Id[]): Promise<void> =>
  sql.forgetBodies(tx, tenantId, [...ids, ANYONE])

const BATCH = 1000

/** Deletes records whose 24 h are over, so many at a time. True where there may be more. */
export const deleteExpiredRecords = async (app: App): Promise<boolean> =>
  (await sql.deleteExpired(app.db.query, new Date(), BATCH)) === BATCH
