import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { importFile } from '../../src/transfer/import/import.ts'
import { onServer } from '../harness/database.ts'
import { randomOf } from '../harness/random.ts'
import { SEED } from '../harness/seed.ts'
import { startService, type TestService, type TestTenant } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'
import { comment, findWrongCounts, page, reader, writeItems } from '../harness/transfer.ts'

let service: TestService
let folder: string

beforeAll(async () => {
  service = await startService({ worker: false })
  folder = mkdtempSync(join(tmpdir(), 'engagement-import-'))
})

afterAll(async () => {
  await service.close()
  rmSync(folder, { recursive: true })
})

const FIND = unnamed('SELECT id FROM readers WHERE tenant_id = $1 AND external_id = $2')

async function erase(tenant: TestTenant, externalId: string): Promise<boolean> {
  const [found] = await service.app.db.query<{ id: string }>(FIND, [tenant.tenant.id, externalId])
  if (found === undefined) return false
  const headers = { 'x-api-key': tenant.apiKey }
  const { status } = await service.call('DELETE', `/readers/${found.id}`, { headers })
  // An import holds its readers for as long as a batch takes, which may be long on a busy machine.
  if (status === 503) return erase(tenant, externalId)
  expect(status).toBe(204)
  return true
}

const UNOWNED = unnamed('SELECT id FROM comments WHERE tenant_id = $1 AND author_id IS NULL AND body IS NOT NULL')

const READERS = 400

test.runIf(onServer)('erasures during an import never stop it, and leave nothing of the readers', async () => {
  const acme = await service.addTenant('erasures')
  const seed = Number(process.env.IMPORT_SEED ?? SEED)
  console.log(`IMPORT_SEED=${seed}`)
  const random = randomOf(seed)
  const readers = Array.from({ length: READERS }, (_, n) => reader(`r${n}`))
  const comments = Array.from({ length: 6000 }, (_, n) => {
    const authorId = `r${Math.floor(random() * READERS)}`
    const parent = n > 0 && random() < 0.5 ? { parentId: `c${Math.floor(random() * n)}` } : {}
    return comment(`c${n}`, n % 60, { authorId, body: `Words of ${authorId}.`, ...parent })
  })
  const path = join(folder, 'items.jsonl')
  writeItems(path, [page('p'), ...readers, ...comments])
  let isOver = false
  const erased = new Set<string>()
  const eraseSome = async (): Promise<void> => {
    while (!isOver) {
      const name = `r${Math.floor(random() * READERS)}`
      if (!erased.has(name) && (await erase(acme, `jsonl:${name}`))) erased.add(name)
    }
  }
  const importing = importFile(service.app, acme.tenant.id, { source: 'jsonl', path }).finally(() => (isOver = true))
  const [{ refused }] = await Promise.all([importing, eraseSome(), eraseSome(), eraseSome()])
  // A fast machine is soon done with the import.
  expect(erased.size).toBeGreaterThan(0)
  expect(refused.first.every(({ reason }) => /erased/.test(reason))).toBe(true)
  const rows = await service.app.db.query<{ body: string | null }>(
    unnamed('SELECT body FROM comments WHERE tenant_id = $1 AND body IS NOT NULL'),
    [acme.tenant.id],
  )
  const left = new Set(rows.map(({ body }) => /Words of (\w+)\./.exec(body ?? '')?.[1] ?? ''))
  expect([...erased].filter((name) => left.has(name))).toEqual([])
  expect(await service.app.db.query(UNOWNED, [acme.tenant.id])).toEqual([])
  expect(await findWrongCounts(service.app.db, acme.tenant.id)).toEqual([])
})
