import pg from 'pg'
import { expect, onTestFinished, test, vi } from 'vitest'

import { importFile } from '../../src/transfer/import/import.ts'
import { BATCH_ITEMS } from '../../src/transfer/import/read-batches.ts'
import type { Progress } from '../../src/transfer/import/run.ts'
import { onServer } from '../harness/database.ts'
import { useImports } from '../harness/imports.ts'
import { unnamed } from '../harness/sql.ts'
import { comment, page, reader } from '../harness/transfer.ts'

const DATABASE = unnamed('SELECT current_database() AS name')

const imports = useImports('steps')

test.runIf(onServer)('an import takes small steps from its start while others use the database', async () => {
  const [{ name } = { name: '' }] = await imports.service.app.db.query<{ name: string }>(DATABASE)
  const url = new URL(`/${name}`, process.env.DATABASE_URL)
  const neighbour = new pg.Client({ connectionString: url.href, application_name: 'a neighbour' })
  await neighbour.connect()
  let isOver = false
  const works = async (): Promise<void> => {
    while (!isOver) await neighbour.query('SELECT pg_sleep(0.5)')
  }
  const ended = works()
  onTestFinished(async () => {
    isOver = true
    await ended
    await neighbour.end()
  })
  const path = imports.fileOf([
    reader('ann'),
    page('p'),
    ...Array.from({ length: 300 }, (_, n) => comment(`${n}`, n % 60)),
  ])
  const steps = async (): Promise<number[]> => {
    const items: number[] = []
    const onProgress = (progress: Progress): void => void items.push(progress.items)
    const acme = await imports.addTenant()
    await importFile(imports.service.app, acme.tenant.id, { source: 'jsonl', path }, { onProgress })
    return items
  }
  // An import that begins between two statements of the neighbour sees nobody.
  await vi.waitFor(
    async () => {
      const items = await steps()
      expect(items.at(-1)).toBe(302)
      // The smallest step has a 32nd. It may have grown before the first is stored.
      expect(items[0]).toBeGreaterThanOrEqual(BATCH_ITEMS / 32)
      expect(items[0]).toBeLessThan(BATCH_ITEMS / 16)
    },
    { timeout: 60_000 },
  )
})
