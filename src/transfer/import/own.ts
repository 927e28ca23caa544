import { ServiceError } from '../../core/errors.ts'
import { isId } from '../../core/ids.ts'
import { announceChange } from '../../core/read-cache.ts'
import type { TxSql } from '../../core/database/database.ts'
import { tenantSettings } from '../../core/settings/tenant.ts'
import { adoptSettings } from '../../domains/settings/settings.ts'
import { adoptSite } from '../../domains/sites/adopt.ts'
import { adoptEndpoint } from '../../domains/webhooks/adopt.ts'
import type { PlacedOwn } from '../store/imported.ts'
import type { AuditItem, EndpointItem, MuteItem, SettingsItem, SiteItem } from '../item.ts'
import { type Key, keyOf } from '../../domains/imports/keys.ts'
import { OF_ERASED_READER, OF_MISSING_READER } from '../store/sort-out.ts'
import { findAuditEntries, insertImportedAuditEntries, takesAuditEntries } from './own-sql.ts'
import { addCounts, type ImportFinding, type TransferCounts } from '../../domains/imports/report.ts'
import { advance, type Stored, type Work } from '../store/store.ts'
import { findItems, lockReadersOfItems } from '../store/sql.ts'

const changesOf = (placed: readonly PlacedOwn[]): ImportFinding[] =>
  placed.flatMap(({ place, changed }) => (changed === undefined ? [] : [{ place, reason: changed }]))

/**
 * Stores items that only an export of this service has: settings, endpoints, sites, mutes, audit
 * entries.
 */
export async function storeOwn(work: Work, rows: readonly PlacedOwn[]): Promise<Stored> {
  const stored: Stored = { already: 0, refused: [] }
  for (const placed of rows) {
    const { place, row } = placed
    if (row.kind === 'audit' || row.kind === 'mute') continue
    const outcome = await storeOne(work, { ...placed, row })
    if (outcome === 'same') stored.already++
    else if (outcome !== 'taken') stored.refused.push({ place, reason: outcome })
  }
  await storeMutes(
    work,
    rows.flatMap(({ row, ...rest }) => (row.kind === 'mute' ? [{ ...rest, row }] : [])),
    stored,
  )
  await storeAudit(
    work,
    rows.flatMap(({ row, ...rest }) => (row.kind === 'audit' ? [{ ...rest, row }] : [])),
    stored,
  )
  return stored
}

/** `taken`, or `same` if it exists already, or why it is refused. */
async function storeOne(work: Work, placed: PlacedOwn<SettingsItem | EndpointItem | SiteItem>): Promise<string> {
  const { row } = placed
  let outcome = ''
  try {
    await advance(work, async (tx) => {
      const [result, counts] =
        row.kind === 'settings'
          ? await takeSettings(tx, work, row)
          : row.kind === 'site'
            ? await takeSite(tx, work, row)
            : await takeEndpoint(tx, work, row)
      outcome = result
      return result === 'taken' ? { counts, changes: changesOf([placed]) } : { counts: {}, changes: [] }
    })
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'validation_failed') throw error
    const [first] = error.extras.errors ?? []
    return first === undefined ? error.message : `${row.kind}${first.pointer} ${first.message}`
  }
  if (row.kind === 'settings' && outcome === 'taken') {
    announceChange(work.app, { kind: 'tenant', tenantId: work.tenantId })
    work.maxDepth = tenantSettings(row.settings).maxDepth
  }
  return outcome
}

async function takeSettings(tx: TxSql, work: Work, { settings }: SettingsItem): Promise<[string, TransferCounts]> {
  const outcome = await adoptSettings(work.app, tx, work, settings)
  return [outcome === 'other' ? 'the tenant has settings of its own' : outcome, { settings: 1 }]
}

async function takeEndpoint(tx: TxSql, work: Work, item: EndpointItem): Promise<[string, TransferCounts]> {
  if (!isId(item.id)) return ['id: is not a UUID', {}]
  const { id, url, eventTypes, discussionIds, description = null, policy = {} } = item
  const endpoint = { id, url, eventTypes, discussionIds, description, policy, createdAt: new Date(item.createdAt) }
  return [(await adoptEndpoint(work.app, tx, work, endpoint)) ? 'taken' : 'same', { endpoints: 1 }]
}

const SITE_REASONS = {
  taken: 'taken',
  same: 'same',
  other: 'another site has its public key',
  full: 'the tenant has as many sites as there can be',
} as const

async function takeSite(
  tx: TxSql,
  work: Work,
  { id, name, origins, publicKey, posting, guests, createdAt }: SiteItem,
): Promise<[string, TransferCounts]> {
  if (!isId(id)) return ['id: is not a UUID', {}]
  const site = { id, name, origins, publicKey, posting, guests: guests ?? 'off', createdAt: new Date(createdAt) }
  const outcome = await adoptSite(tx, work, site)
  return [SITE_REASONS[outcome], { sites: 1 }]
}

/** The keys of both readers of a mute. */
export const readersOf = (source: string, { readerId, mutedId }: MuteItem): { reader: Key; muted: Key } => ({
  reader: keyOf(source, 'reader', readerId),
  muted: keyOf(source, 'reader', mutedId),
})

async function storeMutes(work: Work, mutes: readonly PlacedOwn<MuteItem>[], stored: Stored): Promise<void> {
  const sound = mutes.filter(({ place, row }) => {
    if (!isId(row.id)) stored.refused.push({ place, reason: 'id: is not a UUID' })
    return isId(row.id)
  })
  if (sound.length === 0) return
  const { tenantId, source } = work
  const keys = new Set(sound.flatMap(({ row }) => Object.values(readersOf(source, row))))
  let outcome: Stored = { already: 0, refused: [] }
  await advance(work, async (tx) => {
    outcome = { already: 0, refused: [] }
    // An erasure that has begun is waited for; others wait for this lock.
    const here = new Map((await lockReadersOfItems(tx, tenantId, [...keys])).map(({ key, itemId }) => [key, itemId]))
    const known = new Map((await findItems(tx, tenantId, [...keys])).map(({ key, itemId }) => [key, itemId]))
    const data = sound.flatMap(({ place, row: { id, createdAt, ...row } }) => {
      const { reader, muted } = readersOf(source, { id, createdAt, ...row })
      const [readerId, mutedId] = [here.get(reader), here.get(muted)]
      if (readerId !== undefined && mutedId !== undefined)
        return [{ tenantId, id, readerId, mutedId, createdAt: new Date(createdAt) }]
      const isErased = [reader, muted].some((key) => known.has(key) && !here.has(key))
      outcome.refused.push({ place, reason: isErased ? OF_ERASED_READER : OF_MISSING_READER })
      return []
    })
    const { count } = await tx.prisma.readerMute.createMany({ data, skipDuplicates: true })
    outcome.already = data.length - count
    return { counts: addCounts({}, { mutes: count }), changes: changesOf(sound) }
  })
  stored.already += outcome.already
  stored.refused.push(...outcome.refused)
}

/**
 * Only an empty audit log takes entries: among others they would look like actions in this service.
 */
async function storeAudit(work: Work, entries: readonly PlacedOwn<AuditItem>[], stored: Stored): Promise<void> {
  if (entries.length === 0) return
  const { app, tenantId } = work
  const sound = entries.filter(({ place, row }) => {
    const reason = troubleOf(row)
    if (reason !== null) stored.refused.push({ place, reason })
    return reason === null
  })
  work.takesAudit ??= await takesAuditEntries(app.db.query, work)
  if (!work.takesAudit) return leaveOut(work, sound, stored)
  await advance(work, async (tx) => {
    const rows = sound.map(({ row }) => row)
    const erased = await erasedAmong(tx, work, rows)
    const made = await insertImportedAuditEntries(tx, { tenantId, importId: work.importId }, rows, erased)
    stored.already += sound.length - made.size
    const changes = changesOf(sound.filter(({ row }) => made.has(row.id)))
    return { counts: addCounts({}, { auditEntries: made.size }), changes }
  })
}

/** The file's ids of readers in audit entries who were erased since they were imported. */
async function erasedAmong(tx: TxSql, { tenantId, source }: Work, entries: readonly AuditItem[]): Promise<Set<string>> {
  const ids = entries.flatMap(({ targetType, targetId }) =>
    targetType === 'reader' && targetId != null ? [targetId] : [],
  )
  const byKey = new Map(ids.map((id) => [keyOf(source, 'reader', id), id]))
  // An erasure that has begun is waited for; others wait for this lock.
  const here = new Set((await lockReadersOfItems(tx, tenantId, [...byKey.keys()])).map(({ key }) => key))
  const known = await findItems(tx, tenantId, [...byKey.keys()])
  return new Set(known.flatMap(({ key }) => (here.has(key) ? [] : (byKey.get(key) ?? []))))
}

function troubleOf({ id, actorId, actorKind, targetType, action }: AuditItem): string | null {
  if (!isId(id) || (actorId != null && !isId(actorId))) return 'id: is not a UUID'
  const isOfImport = actorKind === 'system' && ['settings.update', 'webhook.create', 'site.create'].includes(action)
  return targetType === 'import' || isOfImport ? 'is an entry of an import, which no export has' : null
}

async function leaveOut(
  { app, tenantId }: Work,
  entries: readonly PlacedOwn<AuditItem>[],
  stored: Stored,
): Promise<void> {
  const ids = entries.map(({ row }) => row.id)
  const there = await findAuditEntries(app.prisma, tenantId, ids)
  const [first, ...others] = entries.filter(({ row }) => !there.has(row.id))
  stored.already += there.size
  if (first === undefined) return
  const more = others.length === 0 ? '' : `, as are ${others.length} further on`
  stored.refused.push({ place: first.place, reason: `is left out${more}: the tenant has an audit log of its own` })
}
