import { createHmac } from 'node:crypto'

import { requireCaller } from '../../core/access.ts'
import { type App, perApp } from '../../core/app.ts'
import type { Caller } from '../../core/caller.ts'
import type { Ctx, Outcome } from '../../core/context.ts'
import { invalid, problemOf, ServiceError } from '../../core/errors.ts'
import { FIRST_ID, type Id } from '../../core/ids.ts'
import { countRefusal } from '../../core/telemetry/metrics.ts'
import { inOneTransaction } from '../../core/scope.ts'
import { type DerivedKey, deriveKeys, seal, unseal } from '../../core/secrets/seals.ts'
import type { TxSql } from '../../core/database/database.ts'
import * as sql from './sql.ts'

/** As docs/reference/choices/requests.md has it, "Idempotency". */
const KEPT_MS = 24 * 3_600_000
const RETRY_SECONDS = 1
/** Of a longer answer, its ids are stored. */
const MAX_STORED_BYTES = 65_536
/** Begins a stored body that has what was noted of an answer. No answer begins with it. */
const NOTES = '\0'
/** The member of the notes with the whole answer, until its end. No field is called so. */
const WHOLE = ''
const KEY = /^[\x21-\x7e]{1,255}$/

/**
 * A request with an Idempotency-Key, and everything that must match for it to count as the same.
 */
export interface KeyedRequest {
  key: string
  method: string
  /** Path and query, as received. */
  url: string
  /** The body's bytes, unparsed. */
  rawBody: Uint8Array
}

/** An answer to send. */
export interface OutgoingResponse {
  status: number
  /** Null where there is no body. */
  contentType: string | null
  body: string
  /** Replaces raw secrets in the stored body. Without it, their member is left out. */
  blank?: null
  /** Whether it shows readers or their content without an id, by which an erasure finds it. */
  isUnnamed?: boolean
}

/** What is stored of a long answer, and of one that is of use only for a time. */
export interface Outcomes {
  /** `text` is a JSON object. `endsAt` is in milliseconds since 1970, or `Infinity`. */
  note(): Outcome & { endsAt: number; text(): string }
  /** Answers by the text of what was noted, and by what is there now. */
  replay(ctx: Ctx, text: string): Outcome
  /** The answer `again` of a replay, with what is still of use of the body of the first one. */
  renew(text: string, first: string, again: OutgoingResponse): OutgoingResponse
}

/**
 * Thrown by `run` for an answer that is not an outcome, such as a failure half-way: everything that
 * it did is undone.
 */
export class Undecided extends Error {
  readonly answer: OutgoingResponse

  constructor(answer: OutgoingResponse) {
    super('the request has no outcome')
    this.answer = answer
  }
}

/**
 * Executes a request with an Idempotency-Key once, however often it is sent. Everything that `run`
 * does with the app of its context commits together with its answer, or not at all. Raw secrets are
 * only in the first answer: they are not stored, and a replay leaves them out. A refusal (4xx
 * except 429) is stored like an answer. Anything else that `run` throws is rethrown, and leaves
 * nothing behind. Of an answer over 64 KiB, and of one that no erasure would find, the ids are
 * stored: for its replay, `run` reads what is there now. Another answer with something of use only
 * for a time, such as a ticket, is replayed whole until then; after that `run` makes the ticket
 * again, and the rest is replayed. Throws `validation_failed`, `idempotency_conflict`,
 * `idempotency_in_progress`, and `not_found` for an erased answer.
 */
export async function runOnce(
  ctx: Ctx,
  request: KeyedRequest,
  run: (ctx: Ctx) => Promise<OutgoingResponse>,
  outcomes: Outcomes,
): Promise<OutgoingResponse & { replayed: boolean }> {
  const caller = requireCaller(ctx)
  if (!KEY.test(request.key)) {
    throw invalid('/Idempotency-Key', 'invalid', 'must have 1 to 255 visible ASCII characters')
  }
  const digests = digestsOf(ctx.app, caller, request)
  const [current] = digests
  // All processes lock in the same order, whichever key is their current one: otherwise two
  // requests could each hold one lock and fail at the other, and neither would run.
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
        if (record === undefined) continue
        const { body, ...stored } = storedAnswer(ctx.app, key, requestDigest, record)
        if (!body.startsWith(NOTES)) return { ...stored, body, replayed: true }
        const { text, whole } = parted(body.slice(NOTES.length))
        if (whole !== undefined && now.getTime() < whole.until) return { ...stored, body: whole.body, replayed: true }
        const again = await attempt((app) => {
          const read = { ...ctx, app }
          return run({ ...read, outcome: outcomes.replay(read, text) })
        })
        return { ...(whole === undefined ? again : outcomes.renew(text, whole.body, again)), replayed: true }
      }
      const shownSecrets = new Set<string>()
      const erased = new Set<Id>()
      const notes = outcomes.note()
      const answer = await attempt(async (app) => {
        const decided = await run({ ...ctx, app, shownSecrets, outcome: notes })
        app.scope?.erasedReaders.forEach((id) => erased.add(id))
        return decided
      }).catch(asRefusal(ctx))
      const isByIds = answer.isUnnamed === true || Buffer.byteLength(answer.body) > MAX_STORED_BYTES
      const isNoted = isByIds || notes.endsAt < Infinity
      const whole = isByIds ? null : withoutSecrets(answer, shownSecrets)
      const noted = (): string => withoutSecrets({ ...answer, body: notes.text() }, shownSecrets)
      const kept = whole === null ? noted() : isNoted ? withWhole(noted(), { until: notes.endsAt, body: whole }) : whole
      await sql.storeRecord(tx, {
        ...current.key,
        requestDigest: current.request,
        status: answer.status,
        contentType: answer.contentType,
        body: seal(ctx.app.settings, isNoted ? NOTES + kept : kept, sealContext(current.key)),
        // Without erased readers: their erasure continues after this, and must not delete its own
        // answer.
        mentions: mentionsOf(request, kept).filter((id) => !erased.has(id)),
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

/** An answer to replay as it was until a time, in milliseconds since 1970. */
interface Whole {
  until: number
  body: string
}

// A process of an earlier release reads the notes alone.
const withWhole = (notes: string, whole: Whole): string => JSON.stringify({ ...JSON.parse(notes), [WHOLE]: whole })

/** What `withWhole` has joined. */
function parted(kept: string): { text: string; whole: Whole | undefined } {
  const { [WHOLE]: whole, ...notes } = JSON.parse(kept) as { [WHOLE]?: Whole }
  return { text: JSON.stringify(notes), whole }
}

/**
 * The body to store. Secrets are found by their value, so aliases, fragments and REST's own names
 * do not matter.
 */
function withoutSecrets({ body, blank }: OutgoingResponse, secrets: ReadonlySet<string>): string {
  if (secrets.size === 0) return body
  return JSON.stringify(JSON.parse(body), (_name, value: unknown) =>
    typeof value === 'string' && secrets.has(value) ? blank : value,
  )
}

function storedAnswer(app: App, key: sql.RecordKey, requestDigest: Buffer, record: sql.IdempotencyRecord) {
  const { status, contentType, body } = record
  if (!requestDigest.equals(record.requestDigest)) throw new ServiceError('idempotency_conflict')
  if (body === null) throw new ServiceError('not_found', { detail: 'The answer to this request has been erased.' })
  return { status, contentType, body: unseal(app.settings, body, sealContext(key)) }
}

/** Turns a refusal into an answer. */
const asRefusal =
  ({ app, requestId }: Ctx) =>
  (error: unknown): OutgoingResponse => {
    if (!(error instanceof ServiceError) || !isOutcome(error.status)) throw error
    // Only REST throws: GraphQL answers with its errors.
    countRefusal(app, 'rest', error.code)
    const body = JSON.stringify(problemOf(error, requestId))
    return { status: error.status, contentType: 'application/problem+json', body }
  }

/** Whether a status is an outcome of the request: then a retry would have no other. */
export const isOutcome = (status: number): boolean => status < 500 && status !== 429

const sealContext = ({ tenantId, keyDigest }: sql.RecordKey): string =>
  `idempotency:${tenantId}:${keyDigest.toString('hex')}`

const digestKeys = perApp((app) => deriveKeys(app.settings, 'idempotency'))

interface Digests {
  /** Identifies the record. The digest begins with the id of the key that made it. */
  key: sql.RecordKey
  request: Buffer
}

/**
 * The digests of a request under each key of the process, the present one first: a record may date
 * from before a rotation of ENCRYPTION_KEY, or from a process that already has the next key. The
 * digests are keyed, so that nobody who reads the table can find out by trial what was sent, or by
 * whom.
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
  // A page that retries may have got a new token for the same reader meanwhile.
  const browserId =
    actor.kind === 'client'
      ? (actor.readerId ?? actor.id)
      : actor.kind === 'site'
        ? JSON.stringify([actor.id, identity?.externalId])
        : null
  const callerId = browserId ?? actor.id
  const hmac = (name: string, ...parts: unknown[]) =>
    createHmac('sha256', secret).update(JSON.stringify([name, tenant.id, ...parts]))
  // A browser could else take the keys of the backend, or of another reader, before they do.
  const ofKey = browserId === null ? hmac('key', key) : hmac('key', key, browserId)
  return {
    key: { tenantId: tenant.id, keyDigest: Buffer.concat([Buffer.from(id, 'hex'), ofKey.digest()]) },
    // The caller is part of it: otherwise a key without capabilities could get the replay of
    // another one's secrets.
    request: hmac('request', method, url, actor.kind, callerId, identity?.externalId ?? null)
      .update(rawBody)
      .digest(),
  }
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi
const MAX_MENTIONS = 500
/** Stands for all ids, if there are too many to list. */
const ANYONE = FIRST_ID

function mentionsOf({ url, rawBody }: KeyedRequest, kept: string): Id[] {
  const texts = [url, Buffer.from(rawBody).toString('latin1'), kept]
  const ids = new Set(texts.flatMap((text) => text.match(UUID) ?? []).map((id) => id.toLowerCase()))
  return ids.size > MAX_MENTIONS ? [ANYONE] : [...ids]
}

/**
 * Empties the stored answers that mention any of the ids: a reader's own, and those of the reader's
 * content. The records stay, so that no request runs a second time; its replay is `not_found`. Part
 * of the erasure's transaction `tx`.
 */
export const forgetInAnswers = (tx: TxSql, tenantId: Id, ids: readonly Id[]): Promise<void> =>
  sql.forgetBodies(tx, tenantId, [...ids, ANYONE])

const BATCH = 1000

/** Deletes a batch of records after their 24 h. Returns whether there may be more. */
export const deleteExpiredRecords = async (app: App): Promise<boolean> =>
  (await sql.deleteExpired(app.db.query, new Date(), BATCH)) === BATCH
