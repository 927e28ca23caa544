import { setImmediate as nextTurn } from 'node:timers/promises'

import { recordAudit, type Recorder, recorderFor } from '../../core/audit.ts'
import { requireCaller } from '../../core/access.ts'
import { type App, perApp } from '../../core/app.ts'
import { type Ctx, ofRequest } from '../../core/context.ts'
import { sha256Hex } from '../../core/secrets/crypto.ts'
import { badCursor, decodeCursor, encodeCursor } from '../../core/input/cursor.ts'
import { type Page, type PageArgs, pageOf, pageSize } from '../../core/input/page.ts'
import { type FieldError, invalid, MAX_FIELD_ERRORS, ServiceError, validationFailed } from '../../core/errors.ts'
import { type Id, inLowerCase, isId } from '../../core/ids.ts'
import { roomOf } from '../../core/cache.ts'
import { announceChange, createReadCache, followCacheNews } from '../../core/read-cache.ts'
import { pointer } from '../../core/input/validate.ts'
import { lockTenant } from '../tenants/tenants.ts'
import { type ManifestEntry, readManifest } from './manifest.ts'

/** The most documents of a tenant. */
const MAX_DOCUMENTS = 10_000

/** A document that the tenant's clients run by its id. */
export interface KnownDocument {
  /** `sha256:` and the hash of the text. */
  documentId: string
  /** Its further ids, sorted. */
  aliases: string[]
  body: string
  createdAt: Date
}

/** The message for what is wrong with a document's text; null if nothing is. */
export type CheckDocument = (body: string) => string | null

/** The form of the ids of documents. */
const isName = (text: string): boolean => /^[\w:.~-]{1,255}$/.test(text)

/**
 * How an id may be stored: a UUID is the same in any case, and earlier releases kept the case of
 * the manifest.
 */
function spellingsOf(name: string): string[] {
  const lower = inLowerCase(name)
  return isId(lower) ? [lower, lower.toUpperCase(), name] : [name]
}

/** The id of a text by the draft of persisted documents. */
export const documentIdOf = (body: string): string => `sha256:${sha256Hex(body)}`

const WITH_ALIASES = { aliases: { select: { alias: true }, orderBy: { alias: 'asc' } } } as const

interface Row {
  id: string
  body: string
  createdAt: Date
  aliases: { alias: string }[]
}

const toDocument = ({ id, aliases, body, createdAt }: Row): KnownDocument => ({
  documentId: id,
  aliases: aliases.map(({ alias }) => alias),
  body,
  createdAt,
})

/** Whether a request has brought a manifest: one takes seconds, and aliases would repeat it. */
const broughtBy = ofRequest(() => ({ manifest: false }))

/**
 * Adds the documents of a manifest to the tenant's; those that it has already stay. All are added,
 * or none. Throws `validation_failed`, also for the second manifest of a request, and
 * `document_conflict` for an id that names another text.
 */
export async function addDocuments(ctx: Ctx, manifest: unknown, check: CheckDocument): Promise<KnownDocument[]> {
  const { tenant } = requireCaller(ctx)
  const brought = broughtBy(ctx)
  if (brought.manifest) throw invalid('/manifest', 'repeated', 'must be the only one of the request')
  brought.manifest = true
  return addDocumentsOf(ctx.app, tenant.id, readManifest(manifest), check, recorderFor(ctx))
}

/**
 * Adds documents for any actor of the tenant. `record` writes the audit entry in its transaction.
 */
export async function addDocumentsOf(
  app: App,
  tenantId: Id,
  entries: readonly ManifestEntry[],
  check: CheckDocument,
  record: Recorder,
): Promise<KnownDocument[]> {
  const named = await withIds(entries)
  const ids = [...new Set(named.map(({ documentId }) => documentId))]
  await requireSound(app, tenantId, { named, ids, check })
  return app.db.transaction(async (sql) => {
    // One at a time, so that the bound holds and no two give one id to different texts.
    await lockTenant(sql, tenantId)
    const { document, documentAlias } = sql.prisma
    const known = await document.findMany({ where: { tenantId, id: { in: ids } }, select: { id: true } })
    const isKnown = new Set(known.map(({ id }) => id))
    const made = named.filter(({ documentId }) => !isKnown.has(documentId) && isKnown.add(documentId))
    if (made.length > 0 && (await document.count({ where: { tenantId } })) + made.length > MAX_DOCUMENTS) {
      throw validationFailed([
        {
          pointer: '/manifest',
          code: 'too_long',
          message: `must leave the tenant with at most ${MAX_DOCUMENTS} documents`,
        },
      ])
    }
    await document.createMany({ data: made.map(({ documentId, body }) => ({ tenantId, id: documentId, body })) })
    const aliases = named.filter(({ alias, documentId }) => alias !== documentId)
    await documentAlias.createMany({
      data: aliases.map(({ alias, documentId }) => ({ tenantId, alias, documentId })),
      skipDuplicates: true,
    })
    const given = await documentAlias.findMany({
      where: { tenantId, alias: { in: aliases.map(({ alias }) => alias) } },
      select: { alias: true, documentId: true },
    })
    const holders = new Map(given.map(({ alias, documentId }) => [alias, documentId]))
    const taken = aliases.find(({ alias, documentId }) => holders.get(alias) !== documentId)
    if (taken !== undefined) {
      throw new ServiceError('document_conflict', { detail: `The id ${taken.alias} names another document.` })
    }
    const rows = await document.findMany({
      where: { tenantId, id: { in: ids } },
      select: { id: true, body: true, createdAt: true, ...WITH_ALIASES },
    })
    requireFewAliases(rows, named)
    if (made.length > 0) {
      const after = { documentIds: made.map(({ documentId }) => documentId) }
      await record(sql, { action: 'document.add', targetId: null, after })
    }
    const byId = new Map(rows.map((row) => [row.id, toDocument(row)]))
    return ids.flatMap((id) => byId.get(id) ?? [])
  })
}

/** A document has an id for each tool, and a few of earlier releases of these. */
const MAX_ALIASES = 100

function requireFewAliases(rows: readonly Row[], named: readonly Named[]): void {
  const full = new Set(rows.filter(({ aliases }) => aliases.length > MAX_ALIASES).map(({ id }) => id))
  const one = named.find(({ documentId }) => full.has(documentId))
  if (one === undefined) return
  const message = `must leave the document with at most ${MAX_ALIASES} further ids`
  throw validationFailed([{ pointer: pointer(['manifest', one.alias]), code: 'too_long', message }])
}

interface Named {
  alias: string
  documentId: string
  body: string
}

/** Works for so long, and then lets others have their turn. */
const SLICE_MS = 5

/** Goes through a manifest in turns of the event loop. */
async function* inTurns<Each>(all: readonly Each[]): AsyncGenerator<Each> {
  let began = performance.now()
  for (const each of all) {
    yield each
    if (performance.now() - began < SLICE_MS) continue
    await nextTurn()
    began = performance.now()
  }
}

async function withIds(entries: readonly ManifestEntry[]): Promise<Named[]> {
  const named: Named[] = []
  for await (const { id, body } of inTurns(entries)) named.push({ alias: id, documentId: documentIdOf(body), body })
  return named
}

/** Checks the texts that the tenant does not have yet. Throws `validation_failed`. */
async function requireSound(
  app: App,
  tenantId: Id,
  { named, ids, check }: { named: readonly Named[]; ids: readonly string[]; check: CheckDocument },
): Promise<void> {
  const where = { tenantId, id: { in: [...ids] } }
  const stored = await app.prisma.document.findMany({ where, select: { id: true } })
  const isSound = new Set(stored.map(({ id }) => id))
  const errors: FieldError[] = []
  for await (const { alias, documentId, body } of inTurns(named)) {
    const isOwn = !alias.startsWith('sha256:') || alias === documentId
    const message = !isOwn ? 'is not the SHA-256 of the text' : isSound.has(documentId) ? null : check(body)
    if (message === null) isSound.add(documentId)
    else errors.push({ pointer: pointer(['manifest', alias]), code: 'invalid', message })
    if (errors.length === MAX_FIELD_ERRORS) break
  }
  if (errors.length > 0) throw validationFailed(errors)
}

/** The tenant's documents, by their ids. */
export async function listDocuments(ctx: Ctx, args: PageArgs): Promise<Page<KnownDocument>> {
  const { tenant } = requireCaller(ctx)
  const size = pageSize(args)
  const [after] = decodeCursor('documents', 1, args.after) ?? []
  if (after !== undefined && !/^sha256:[0-9a-f]{64}$/.test(after)) throw badCursor()
  const rows = await ctx.app.prisma.document.findMany({
    where: { tenantId: tenant.id, ...(after === undefined ? {} : { id: { gt: after } }) },
    select: { id: true, body: true, createdAt: true, ...WITH_ALIASES },
    orderBy: { id: 'asc' },
    take: size + 1,
  })
  return pageOf(rows.map(toDocument), size, args, ({ documentId }) => encodeCursor('documents', documentId))
}

/**
 * Deletes the document that this id names, with all its ids. Processes run it for 5 s at most.
 * Throws `not_found`.
 */
export async function deleteDocument(ctx: Ctx, { documentId: name }: { documentId: string }): Promise<KnownDocument> {
  const { tenant } = requireCaller(ctx)
  const tenantId = tenant.id
  if (!isName(name)) throw new ServiceError('not_found')
  const deleted = await ctx.app.db.transaction(async (sql) => {
    await lockTenant(sql, tenantId)
    const { document, documentAlias } = sql.prisma
    const alias = await documentAlias.findFirst({ where: { tenantId, alias: { in: spellingsOf(name) } } })
    const id = alias?.documentId ?? name
    const row = await document.findUnique({
      where: { tenantId_id: { tenantId, id } },
      select: { id: true, body: true, createdAt: true, ...WITH_ALIASES },
    })
    if (row === null) throw new ServiceError('not_found')
    await document.delete({ where: { tenantId_id: { tenantId, id } } })
    const before = { documentId: id, aliases: row.aliases.map(({ alias: each }) => each) }
    await recordAudit(sql, ctx, { action: 'document.delete', targetId: null, before })
    return toDocument(row)
  })
  announceChange(ctx.app, { kind: 'document', tenantId })
  return deleted
}

const bodies = perApp((app) => {
  const cache = createReadCache<string | null>({
    room: roomOf(app, 'documents'),
    read: async (key) => {
      const [tenantId = '', name = ''] = key.split(' ')
      const { document, documentAlias } = app.prisma
      const found = await document.findUnique({
        where: { tenantId_id: { tenantId, id: name } },
        select: { body: true },
      })
      if (found !== null) return found.body
      const alias = await documentAlias.findFirst({
        where: { tenantId, alias: { in: spellingsOf(name) } },
        select: { document: { select: { body: true } } },
      })
      return alias?.document.body ?? null
    },
    // A new document must be found at once, and made-up ids would evict real ones.
    keep: (body) => body !== null,
    groupOf: (key) => key.split(' ', 1)[0],
  })
  followCacheNews(app, { kind: 'document', forget: ({ tenantId }) => cache.forgetGroup(tenantId), clear: cache.clear })
  return cache
})

/** The text of the tenant's document with this id, or null. */
export const findDocument = (app: App, tenantId: Id, documentId: string): Promise<string | null> =>
  isName(documentId) ? bodies(app).get(`${tenantId} ${documentId}`) : Promise.resolve(null)
