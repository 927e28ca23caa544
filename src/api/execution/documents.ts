import { roomOf } from '../../core/cache.ts'
import { perApp } from '../../core/app.ts'
import { isBrowser } from '../../core/caller.ts'
import type { Ctx } from '../../core/context.ts'
import { invalid, ServiceError } from '../../core/errors.ts'
import { documentIdOf, findDocument } from '../../domains/documents/documents.ts'
import { checkLength } from '../../graphql/documents/size.ts'
import { MAX_KEPT_CHARACTERS, readDocument } from './read-document.ts'
import type { Params, SentParams } from './params.ts'

/** Apollo's automatic persisted queries: texts that this process has been sent with their hash. */
const automatic = perApp((app) => roomOf(app, 'automaticDocuments')<string, string>({ part: 1 }))

/** What Apollo's and urql's links wait for before they send the text. */
const NOT_FOUND = 'PersistedQueryNotFound'

/** Whether this refuses the hash of a text that is not kept. */
export const isHashUnknown = (error: unknown): boolean =>
  error instanceof ServiceError && error.extras.detail === NOT_FOUND

/**
 * The request with the text of its document: the sent one, or the tenant's by its id. Throws
 * `unknown_document`, also for a text that a browser may not run, and `validation_failed` for an id
 * that is not that of the text.
 */
export async function withDocument(ctx: Ctx, sent: SentParams): Promise<Params> {
  const { query, documentId, extensions } = sent
  // As in the query string of a GET, an empty name stands for none.
  const params = { ...sent, operationName: sent.operationName === '' ? null : sent.operationName }
  const persisted = hashIn(extensions)
  const id = documentId ?? (persisted === null ? null : `sha256:${persisted}`)
  if (query == null) {
    const found = id === null ? null : await findText(ctx, id, persisted)
    if (found === null) throw new ServiceError('unknown_document', persisted === null ? {} : { detail: NOT_FOUND })
    return { ...params, query: found }
  }
  requireOwn(documentId, query, '/documentId')
  // Also beside a documentId: it is by this hash that the text is kept for others.
  if (persisted !== null) requireOwn(`sha256:${persisted}`, query, '/extensions/persistedQuery')
  if (mustBeKnown(ctx)) await requireKnown(ctx, query)
  // Refuse one that is too large.
  checkLength(query)
  readDocument(ctx, query)
  if (!mustBeKnown(ctx) && persisted !== null && ctx.caller !== null && query.length <= MAX_KEPT_CHARACTERS)
    automatic(ctx.app).set(keyOf(ctx, persisted), query)
  return { ...params, query }
}

/** Throws `validation_failed` for the hash of another text. */
function requireOwn(id: string | null | undefined, query: string, pointer: string): void {
  if (id?.startsWith('sha256:') !== true || id === documentIdOf(query)) return
  throw invalid(pointer, 'invalid', 'is not the SHA-256 of the query')
}

/** The hash of Apollo's `persistedQuery`; null without one. Throws `validation_failed`. */
function hashIn(extensions: SentParams['extensions']): string | null {
  const persisted = extensions?.persistedQuery
  if (persisted == null) return null
  const { version, sha256Hash } = persisted as { version?: unknown; sha256Hash?: unknown }
  if (version === 1 && typeof sha256Hash === 'string') return sha256Hash
  throw invalid('/extensions/persistedQuery', 'invalid', 'must have version 1 and sha256Hash')
}

async function findText(ctx: Ctx, id: string, persisted: string | null): Promise<string | null> {
  if (ctx.caller === null) throw new ServiceError('missing_credentials')
  const { tenant } = ctx.caller
  const known = await findDocument(ctx.app, tenant.id, id)
  if (known !== null || persisted === null) return known
  // A manifest's own ids come in the same place.
  const named = await findDocument(ctx.app, tenant.id, persisted)
  return named ?? (mustBeKnown(ctx) ? null : (automatic(ctx.app).get(keyOf(ctx, persisted)) ?? null))
}

const keyOf = ({ caller }: Ctx, hash: string): string => `${caller?.tenant.id ?? ''} ${hash}`

/** Whether the caller is a browser whose tenant lets it run known documents alone. */
const mustBeKnown = ({ caller }: Ctx): boolean =>
  caller !== null && isBrowser(caller.actor) && caller.tenant.settings.graphql.documents === 'known'

async function requireKnown(ctx: Ctx, query: string): Promise<void> {
  const { tenant } = ctx.caller as NonNullable<Ctx['caller']>
  if ((await findDocument(ctx.app, tenant.id, documentIdOf(query))) === null) throw new ServiceError('unknown_document')
}
