import { readFile } from 'node:fs/promises'

import { schema } from '../api/execution/schema.ts'
import type { App } from '../core/app.ts'
import { byService, recorderOf } from '../core/audit.ts'
import type { Id } from '../core/ids.ts'
import { addDocumentsOf } from '../domains/documents/documents.ts'
import { readManifest } from '../domains/documents/manifest.ts'
import { wrongIn } from '../graphql/documents/check.ts'

/** Adds the documents of a manifest's file to a tenant. */
export async function addManifest(
  app: App,
  tenantId: Id,
  file: string,
): Promise<{ documents: { documentId: string; aliases: string[] }[] }> {
  const entries = readManifest(JSON.parse(await readFile(file, 'utf8')))
  const record = recorderOf(byService(tenantId))
  const added = await addDocumentsOf(app, tenantId, entries, (body) => wrongIn(schema, body), record)
  return { documents: added.map(({ documentId, aliases }) => ({ documentId, aliases })) }
}
