import { readFile } from 'node:fs/promises'

import { schema } from '../api/execution/schema.ts'
import type { AuditRecord } from '../core/audit.ts'
import type { App } from '../core/app.ts'
import type { Id } from '../core/ids.ts'
import type { Sql } from '../core/database/database.ts'
import { addDocumentsOf } from '../domains/documents/documents.ts'
import { readManifest } from '../domains/documents/manifest.ts'
import { wrongIn } from '../graphql/documents/check.ts'

/** Adds the documents of a manifest's file to a tenant. */
export async function addManifest(
  app: App,
  tenantId: Id,
  { file, recordOf }: { file: string; recordOf: (tenantId: Id) => (sql: Sql, record: AuditRecord) => Promise<void> },
): Promise<{ documents: { documentId: string; aliases: string[] }[] }> {
  const entries = readManifest(JSON.parse(await readFile(file, 'utf8')))
  const added = await addDocumentsOf(app, tenantId, entries, (body) => wrongIn(schema, body), recordOf(tenantId))
  return { documents: added.map(({ documentId, aliases }) => ({ documentId, aliases })) }
}
