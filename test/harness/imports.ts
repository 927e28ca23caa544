import { join } from 'node:path'

import { expect } from 'vitest'

import type { App } from '../../src/core/app.ts'
import { type ImportFile, importFile, type ImportReport } from '../../src/transfer/import/import.ts'
import { ImportStopped } from '../../src/transfer/import/run.ts'
import type { Item } from '../../src/transfer/item.ts'
import { useFolder } from './folders.ts'
import { type TestTenant, useService } from './service.ts'
import { unnamed } from './sql.ts'
import { writeItems } from './transfer.ts'

type Items = readonly (Item | string)[]

/** What differs from the import of a file of our own form by the service itself. */
interface How extends Partial<ImportFile> {
  app?: App
}

const FIND = unnamed('SELECT id FROM readers WHERE tenant_id = $1 AND external_id = $2')
const UNOWNED = unnamed('SELECT id FROM comments WHERE tenant_id = $1 AND author_id IS NULL AND body IS NOT NULL')

/**
 * What the tests of a file import with: a service without a worker, and a folder for their files.
 * Both are there from `beforeAll` to `afterAll`. `name` begins the names of the tenants.
 */
export function useImports(name: string) {
  const service = useService()
  const folder = useFolder()
  let names = 0

  const pathOf = (file: string): string => join(folder, file)

  /** Writes a file of our own form, and returns its path. */
  function fileOf(items: Items): string {
    const path = pathOf(`${++names}.jsonl`)
    writeItems(path, items)
    return path
  }

  const importPath = (
    { tenant }: TestTenant,
    path: string,
    { app = service.app, ...how }: How = {},
  ): Promise<ImportReport> => importFile(app, tenant.id, { source: 'jsonl', path, ...how })

  return {
    service,
    pathOf,
    fileOf,
    addTenant: (): Promise<TestTenant> => service.addTenant(`${name}-${++names}`),
    importPath,
    importInto: (tenant: TestTenant, items: Items, how?: How): Promise<ImportReport> =>
      importPath(tenant, fileOf(items), how),

    /** An import that is stopped once `isEnough` holds of the items that are done. */
    async stopImport(
      { tenant }: TestTenant,
      path: string,
      isEnough: (items: number) => boolean = () => true,
    ): Promise<void> {
      const controller = new AbortController()
      const { signal } = controller
      const onProgress = ({ items }: { items: number }): void => (isEnough(items) ? controller.abort() : undefined)
      const stopped = importFile(service.app, tenant.id, { source: 'jsonl', path }, { signal, onProgress })
      await expect(stopped).rejects.toThrow(ImportStopped)
    },

    get: async ({ apiKey }: TestTenant, path: string) =>
      (await service.call('GET', path, { headers: { 'x-api-key': apiKey } })).json,

    /** False if there is no such reader. */
    async erase({ tenant, apiKey }: TestTenant, externalId: string): Promise<boolean> {
      const [found] = await service.app.db.query<{ id: string }>(FIND, [tenant.id, externalId])
      if (found === undefined) return false
      for (;;) {
        const { status } = await service.call('DELETE', `/readers/${found.id}`, { headers: { 'x-api-key': apiKey } })
        // An import holds its readers for as long as a batch takes, long on a busy machine.
        if (status === 503) continue
        expect(status).toBe(204)
        return true
      }
    },

    /** The comments that an erasure has left without their author, but with their text. */
    unowned: ({ tenant }: TestTenant) => service.app.db.query(UNOWNED, [tenant.id]),
  }
}
