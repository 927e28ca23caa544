import { createHmac } from 'node:crypto'

import { type App, type Caller, type Ctx, perApp, requireCaller } from '../../core/context.ts'
import { invalid, problemOf, ServiceError } from '../../core/errors.ts'
import { FIRST_ID, type Id } from '../../core/ids.ts'
import { countRefusal } from '../../core/metrics.ts'
import { inOneTransaction } from '../../core/scope.ts'
import { type DerivedKey, deriveKeys, seal, unseal } from '../../core/seals.ts'
import type { Sql } from '../../core/sql.ts'
import * as sql from './sql.ts'

/** As docs/reference/choices.md has it, "Idempotency". */
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
export interface OutgoingResponse {
  status: number
  /** Null where there is no body. */
  contentType: string | null
  body: string
  /** What the stored body has in the place of a raw secret. Without it, the member is left out. */
  blank?: null
}

/**
 * Thrown by `run` for an answer that decides nothing, as a failure in the midst of it: all that it
 * did is undone.
 */
export class Undecided extends Error {
  readonly answer: OutgoingResponse

  constructor(answer: OutgoingResponse) {
    super('the request has no outcome')
    this.answer = answer
  }
}

/**
 * Answers a request that may come many times as if it had come once. What `run` does with the app
 * of its context commits together with its answer, or not at all; there is no state between. Raw
 * secrets are in the first answer alone: they are not stored, and a replay leaves them out. A
 * refusal (4xx, but not 429) is an answer as well. Everything else that `run` throws is thrown on,
 * and leaves nothing. Throws `validation_failed`, `idempotency_conflict`,
 * `idempotency_in_progress`, and `not_found` for an erased answer.
 */
export async function runOnce(
  ctx: Ctx,
  request: KeyedRequest,
  run: (ctx: Ctx) => Promise<OutgoingResponse>,
): Promise<OutgoingResponse & { replayed: boolean }> {
  const caller = requireCaller(ctx)
  if (!KEY.test(request.key)) {
    throw invalid('/Idempotency-Key', 'invalid', 'must have 1 to 255 visible ASCII characters')
  }
  const digests = digestsOf(ctx.app, caller, request)
  const [current] = digests
  // In one order in all processes, whichever of their keys is the current one: else each of two
  // could hold one lock, fail at the other, and the request would be nobody's.
  const locks = digests.map(({ key }) => key).sort((a, b) => a.keyDigest.compare(b.keyDigest))
  try {
    return await inOneTransaction(ctx.app, async (tx, attempt) => {
      for (const key of locks) {
        if (await sql.tryLockKey(tx, key)) continue
        throw new ServiceError('idempotency_in_progress', { retryAfterSeconds: RETRY_SECONDS })
      }
      const now = new Date()
      for (const { key, request: requestDigest } of digests) {
        const record = await sql.findRecord(tx, key, now)
        if (record !== undefined) return replay(ctx.app, key, requestDigest, record)
      }
      const shownSecrets = new Set<string>()
      const erased = new Set<Id>()
      const answer = await attempt(async (app) => {
        const decided = await run({ ...ctx, app, shownSecrets })
        app.scope?.erasedReaders.forEach((id) => erased.add(id))
        return decided
      }).catch(asRefusal(ctx))
      await sql.storeRecord(tx, {
        ...current.key,
        requestDigest: current.request,
        status: answer.status,
        contentType: answer.contentType,
        body: seal(ctx.app.settings, withoutSecrets(answer, shownSecrets), sealContext(current.key)),
        // The erasure of a reader goes on after this: its own answer must outlast it.
        mentions: mentionsOf(request, answer).filter((id) => !erased.has(id)),
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

/**
 * The body to store. Secrets are found by their value: aliases, fragments and REST's own names do
 * not matter.
 */
function withoutSecrets({ body, blank }: OutgoingResponse, secrets: ReadonlySet<string>): string {
  if (secrets.size === 0) return body
  return JSON.stringify(JSON.parse(body), (_name, value: unknown) =>
    typeof value === 'string' && secrets.has(value) ? blank : value,
  )
}

function replay(app: App, key: sql.RecordKey, requestDigest: Buffer, record: sql.IdempotencyRecord) {
  const { status, contentType, body } = record
  if (!requestDigest.equals(record.requestDigest)) throw new ServiceError('idempotency_conflict')
  if (body === null) throw new ServiceError('not_found', { detail: 'The answer to this request has been erased.' })
  const opened = unseal(app.settings, body, sealContext(key))
  return { status, contentType, body: opened, replayed: true }
}

/** A refusal as the answer that it is. */
const asRefusal =
  ({ app, requestId }: Ctx) =>
  (error: unknown): OutgoingResponse => {
    if (!(error instanceof ServiceError) || !isOutcome(error.status)) throw error
    // GraphQL answers with its errors, and throws none.
    countRefusal(app, 'rest', error.code)
    const body = JSON.stringify(problemOf(error, requestId))
    return { status: error.status, contentType: 'application/problem+json', body }
  }

/** Whether a status says what has become of the request: another try would not be another one. */
export const isOutcome = (status: number): boolean => status < 500 && status !== 429

const sealContext = ({ tenantId, keyDigest }: sql.RecordKey): string =>
  `idempotency:${tenantId}:${keyDigest.toString('hex')}`

const digestKeys = perApp((app) => deriveKeys(app.settings, 'idempotency'))

interface Digests {
  /** What names the record: its digest begins with the id of the key that it is made with. */
  key: sql.RecordKey
  request: Buffer
}

/**
 * The digests of a request under each key of the process, the present one first: a record may have
 * been written before ENCRYPTION_KEY was rotated, or by a process that has the next one already.
 * They are made with a key of our own, so that nobody who reads the table can try out what was
 * sent, or by whom.
 */
function digestsOf(app: App, caller: Caller, request: KeyedRequest): [Digests, ...Digests[]] {
  const [current, ...others] = digestKeys(app)
  const digest = (key: DerivedKey): Digests => digestWith(key, caller, request)
  return [digest(current), ...others.map(digest)]
}

function digestWith(
  { id, key: secret }: DerivedKey,
  { tenant, actor, identity }: Caller,
  { key, method, url, rawBody }: KeyedRequest,
): Digests {
  const hmac = (name: string, ...parts: unknown[]) =>
    createHmac('sha256', secret).update(JSON.stringify([name, tenant.id, ...parts]))
  return {
    key: { tenantId: tenant.id, keyDigest: Buffer.concat([Buffer.from(id, 'hex'), hmac('key', key).digest()]) },
    // Who asks is part of it: else a key without capabilities could have another one's secrets
    // replayed.
    request: hmac('request', method, url, actor.kind, actor.id, identity?.externalId ?? null)
      .update(rawBody)
      .digest(),
  }
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi
const MAX_MENTIONS = 500
/** Stands for any id, where there are too many to list. */
const ANYONE = FIRST_ID

function mentionsOf({ url, rawBody }: KeyedRequest, { body }: OutgoingResponse): Id[] {
  const texts = [url, Buffer.from(rawBody).toString('latin1'), body]
  const ids = new Set(texts.flatMap((text) => text.match(UUID) ?? []).map((id) => id.toLowerCase()))
  return ids.size > MAX_MENTIONS ? [ANYONE] : [...ids]
}

/**
 * Empties the stored answers that mention any of the ids: a reader's own, and those of what the
 * reader wrote. The records stay, so that no request is run a second time; its replay is
 * `not_found`. Part of the erasure's transaction `tx`.
 */
export const forgetInAnswers = (tx: Sql, tenantId: Id, ids: readonly Id[]): Promise<void> =>
  sql.forgetBodies(tx, tenantId, [...ids, ANYONE])

const BATCH = 1000

/** Deletes records whose 24 h are over, so many at a time. True where there may be more. */
export const deleteExpiredRecords = async (app: App): Promise<boolean> =>
  (await sql.deleteExpired(app.db.query, new Date(), BATCH)) === BATCH
