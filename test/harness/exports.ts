import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { App } from '../../src/core/app.ts'
import { exportTenant } from '../../src/transfer/export/export.ts'
import { importFile, type ImportReport } from '../../src/transfer/import/import.ts'
import type { TestTenant } from './service.ts'

type Tenant = Pick<TestTenant, 'tenant'>

/** The export of a tenant. */
export async function exportText(app: App, { tenant }: Tenant): Promise<string> {
  let text = ''
  await exportTenant(app, tenant.id, async (lines) => void (text += lines))
  return text
}

/** Imports a text of the form of our exports into a tenant. */
export async function importText(app: App, { tenant }: Tenant, text: string): Promise<ImportReport> {
  const folder = mkdtempSync(join(tmpdir(), 'engagement-import-'))
  try {
    const path = join(folder, 'items.jsonl')
    writeFileSync(path, text)
    return await importFile(app, tenant.id, { source: 'jsonl', path })
  } finally {
    rmSync(folder, { recursive: true })
  }
}
