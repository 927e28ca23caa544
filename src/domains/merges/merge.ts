import { type Doer, doerOf, recordAuditOf } from '../../core/audit.ts'
import { requireCaller } from '../../core/access.ts'
import type { App } from '../../core/app.ts'
import type { Ctx } from '../../core/context.ts'
import { invalid, ServiceError } from '../../core/errors.ts'
import { type Id, isId, newId } from '../../core/ids.ts'
import { ofTenant } from '../../core/queues/patience.ts'
import { announceChange } from '../../core/read-cache.ts'
import type { Reader as ReaderRecord, ReaderTrust } from '../../generated/prisma/client.ts'
import { announceEnd, endTokensOfReader, forgetAddressOf } from '../readers/ended-tokens.ts'
import { hasRows } from '../erasure/erase-batches.ts'
import { isAtWork } from '../readers/ban-sweeps.ts'
import { isGuestId } from '../readers/guest-ids.ts'
import { isBanned } from '../readers/bans.ts'
import { banOf, noSuchReader } from '../readers/records.ts'
import { moveReader as moveInImports } from '../imports/imports.ts'
import { moveNotes } from '../notes/notes.ts'
import { moveNotifications } from '../notifications/notifications.ts'
import { shownBadges } from '../readers/badges/known.ts'
import { moveMutes } from '../readers/mutes/mutes.ts'
import { beginMoving, type Merging, STEPS, TargetChanged } from './move.ts'
import * as sql from './sql.ts'
import type { StoredBan } from '../readers/fields.ts'
import { touchPages } from '../tenants/tenants.ts'

interface MergeReader {
  readerId: Id
  into: Id
}

/**
 * A further round moves rows of writes that began before the merge and ended after the previous
 * round.
 */
const MAX_ROUNDS = 20

/**
 * Merges two readers: everything that belongs to `readerId` belongs to `into` afterwards, and
 * `readerId` is deleted. From the first transaction on, the reader cannot be found, and its
 * external id leads to the other one. The rest moves in batches. If that is interrupted, another
 * call continues it, and so does a worker. With a transaction for the whole request, the batches
 * follow its commit. Returns the reader that stays. Throws `not_found`, `validation_failed`,
 * `invalid_transition`.
 */
export async function mergeReader(ctx: Ctx, input: MergeReader): Promise<ReaderRecord> {
  const { tenant } = requireCaller(ctx)
  const { scope, log } = ctx.app
  const stays = await begin(ctx.app, doerOf(ctx), input)
  if (scope === undefined) {
    await continueMerge(ctx.app, tenant.id, input.readerId)
    return stays
  }
  const app = ofTenant(ctx.app, tenant.id)
  scope.effects.push(() =>
    continueMerge(app, tenant.id, input.readerId).catch((err: unknown) =>
      log.warn({ err, readerId: input.readerId }, 'a worker will finish this merge'),
    ),
  )
  return stays
}

/**
 * Merges two readers for an operator, who may name them by the service's ids or the tenant's. The
 * service's ids take precedence.
 */
export async function mergeReaderOf(root: App, tenantId: Id, from: string, into: string): Promise<ReaderRecord> {
  const app = ofTenant(root, tenantId)
  const idOf = async (name: string, who: string): Promise<Id> => {
    const id = (await sql.findReaderId(app.prisma, tenantId, name)) ?? name
    if (isId(id)) return id
    throw new ServiceError('not_found', { detail: `There is no reader ${name}, ${who}.` })
  }
  const input = { readerId: await idOf(from, 'who is to go'), into: await idOf(into, 'who is to stay') }
  if (input.readerId === input.into) {
    const detail = `${from} and ${into} are one reader already: name the one who goes and another one who stays.`
    throw new ServiceError('validation_failed', { detail })
  }
  const stays = await begin(app, { tenantId, actor: { kind: 'system', id: null } }, input)
  await continueMerge(app, tenantId, input.readerId)
  return stays
}

/** Without a heartbeat for this long, a merge counts as abandoned. */
const ABANDONED_MS = 60_000

/**
 * Continues one interrupted merge until it is done, or `signal` is aborted; then another process
 * continues. Several processes may run it at once. Returns whether there was one.
 */
export async function finishMerge(app: App, signal: AbortSignal, now = new Date()): Promise<boolean> {
  const left = await sql.takeUpMerge(app.db.query, now, new Date(now.getTime() - ABANDONED_MS))
  if (left === undefined) return false
  await continueMerge(ofTenant(app, left.tenantId), left.tenantId, left.readerId, signal).catch((error: unknown) => {
    if (!signal.aborted) throw error
  })
  return true
}

async function begin(app: App, doer: Doer, { readerId, into: intoId }: MergeReader): Promise<ReaderRecord> {
  const { tenantId } = doer
  if (!isId(readerId)) throw noReader()
  if (!isId(intoId)) throw noTarget()
  if (readerId === intoId) throw invalid('/into', 'same_reader', 'must be another reader')
  const { stays, names, ended } = await app.db.transaction(async (tx) => {
    const rows = await sql.lockReaders(tx, tenantId, [readerId, intoId])
    const find = (id: Id): sql.LockedReader | undefined => rows.find((row) => row.id === id)
    const mergeOf = (id: Id): Promise<sql.Merge | null> => sql.findMerge(tx.prisma, tenantId, id)
    const where = { tenantId_id: { tenantId, id: intoId } }
    const into = find(intoId)
    if (!isHere(into)) throw noTarget(await mergeOf(intoId))
    if (isGuestId(into.externalId)) throw invalid('/into', 'is_guest', 'must not be a guest')
    const from = find(readerId)
    if (!isHere(from)) {
      const merge = await mergeOf(readerId)
      if (merge?.intoId !== intoId) throw noReader(merge)
      // A repeated call continues the merge.
      return { stays: await tx.prisma.reader.findUniqueOrThrow({ where }), names: [], ended: [] }
    }
    // It would miss some of one reader's comments, or take those of the other one.
    if (await isAtWork(tx, tenantId, [readerId, intoId])) {
      const detail = 'A ban still changes comments of one of the readers. Merge them once that is done, or end the ban.'
      throw new ServiceError('invalid_transition', { detail })
    }
    const now = new Date()
    await sql.beginMerge(tx, tenantId, readerId, intoId, now)
    const ban = strongerBan(from, into, now)
    const trust = stricterTrust(from.trust, into.trust)
    const assignedBadges = shownBadges(into.assignedBadges, from.assignedBadges)
    const hasMore = assignedBadges.length > into.assignedBadges.length
    if (ban !== into || trust !== into.trust || hasMore) {
      const badges = shownBadges(assignedBadges, into.claimedBadges)
      await sql.setStanding(tx, tenantId, intoId, { ...ban, trust, assignedBadges, badges })
    }
    await moveInImports(tx, tenantId, readerId, intoId)
    await moveNotes(tx, tenantId, readerId, intoId)
    await moveMutes(tx, tenantId, readerId, intoId)
    await moveNotifications(tx, tenantId, readerId, intoId)
    const after = await tx.prisma.reader.findUniqueOrThrow({ where })
    await recordAuditOf(tx, doer, {
      action: 'reader.merge',
      targetId: readerId,
      before: { externalId: from.externalId },
      after: { into: intoId, ban: banOf(after), trust, ...(hasMore && { badges: assignedBadges }) },
    })
    const tokens = await endTokensOfReader(tx, tenantId, readerId)
    await forgetAddressOf(tx, tenantId, readerId)
    // The one who stays may be banned from now on.
    if (ban !== into && !ban.shadowBanned) tokens.push(...(await endTokensOfReader(tx, tenantId, intoId)))
    if (hasMore) await touchPages(tx, tenantId)
    return { stays: after, names: [from.externalId, into.externalId], ended: tokens }
  })
  announceEnd(app, ended)
  for (const externalId of names) announceChange(app, { kind: 'reader', tenantId, externalId })
  return stays
}

const noReader = (merge: sql.Merge | null = null): ServiceError => noSuchReader(merge?.intoId)
const noTarget = (merge: sql.Merge | null = null): ServiceError =>
  new ServiceError('not_found', {
    detail:
      merge === null
        ? 'There is no reader to merge into.'
        : `The reader to merge into was merged into ${merge.intoId} before.`,
  })

/** Throws `invalid_transition` for a reader who is being erased. */
function isHere(reader: sql.LockedReader | undefined): reader is sql.LockedReader {
  if (reader?.isErasing === true) {
    throw new ServiceError('invalid_transition', { detail: 'The reader is being erased.' })
  }
  return reader?.isErasing === null
}

/**
 * The stronger of two bans in force: the one that ends later; if they end together, an open one
 * over one in shadow, else the target's own.
 */
function strongerBan<Ban extends StoredBan>(from: Ban, into: Ban, now: Date): Ban {
  if (!isBanned(from, now)) return into
  if (!isBanned(into, now)) return from
  const [ofFrom, ofInto] = [endOf(from), endOf(into)]
  if (ofFrom !== ofInto) return ofFrom > ofInto ? from : into
  return into.shadowBanned && !from.shadowBanned ? from : into
}

/** The strictest first: a reader who is held stays so under another name. */
const TRUSTS: readonly ReaderTrust[] = ['hold', 'normal', 'never_hold']

const stricterTrust = (one: ReaderTrust, other: ReaderTrust): ReaderTrust =>
  TRUSTS.indexOf(one) < TRUSTS.indexOf(other) ? one : other

const endOf = ({ bannedUntil }: StoredBan): number => bannedUntil?.getTime() ?? Infinity

async function continueMerge(app: App, tenantId: Id, readerId: Id, signal?: AbortSignal): Promise<void> {
  try {
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const merge = await sql.findMerge(app.prisma, tenantId, readerId)
      // Another call was faster, or the erasure of the target has taken it over.
      if (merge?.mergingAt == null) return
      if (await moveAll(beginMoving(app, tenantId, readerId, signal), merge.intoId)) return
    }
  } finally {
    announceChange(app, { kind: 'erasure', tenantId })
  }
  throw new ServiceError('unavailable', { detail: 'The reader is still writing; try again.', retryAfterSeconds: 1 })
}

/** False if rows are left, or the target has changed. */
async function moveAll(merging: Merging, intoId: Id): Promise<boolean> {
  try {
    for (const step of STEPS) while (await step(merging)) continue
  } catch (error) {
    if (error instanceof TargetChanged) return false
    throw error
  }
  const { app, tenantId, readerId } = merging.work
  const externalId = await app.db.transaction(async (tx) => {
    const rows = await sql.lockReaders(tx, tenantId, [readerId, intoId])
    const from = rows.find(({ id }) => id === readerId)
    const merge = await sql.findMerge(tx.prisma, tenantId, readerId)
    if (from === undefined || merge?.mergingAt == null || merge.intoId !== intoId) return null
    if (await hasRows(tx, tenantId, readerId)) return null
    // Again: an import under way may have found the reader just before the merge began.
    await moveInImports(tx, tenantId, readerId, intoId)
    // Again: others may have replied while the comments moved.
    await moveNotifications(tx, tenantId, readerId, intoId)
    await sql.endMerge(tx, tenantId, from, newId())
    return from.externalId
  })
  if (externalId === null) return false
  announceChange(app, { kind: 'reader', tenantId, externalId })
  return true
}
