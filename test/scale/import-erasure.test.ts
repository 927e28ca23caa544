import { expect, test } from 'vitest'

import { onServer } from '../harness/database.ts'
import { useImports } from '../harness/imports.ts'
import { randomOf } from '../harness/random.ts'
import { SEED } from '../harness/seed.ts'
import { unnamed } from '../harness/sql.ts'
import { comment, findWrongCounts, page, reader } from '../harness/transfer.ts'

const imports = useImports('erasures')
const { erase, fileOf, importPath } = imports

const READERS = 400

test.runIf(onServer)('erasures during an import never stop it, and leave nothing of the readers', async () => {
  const acme = await imports.addTenant()
  const seed = Number(process.env.IMPORT_SEED ?? SEED)
  console.log(`IMPORT_SEED=${seed}`)
  const random = randomOf(seed)
  const readers = Array.from({ length: READERS }, (_, n) => reader(`r${n}`))
  const comments = Array.from({ length: 6000 }, (_, n) => {
    const authorId = `r${Math.floor(random() * READERS)}`
    const parent = n > 0 && random() < 0.5 ? { parentId: `c${Math.floor(random() * n)}` } : {}
    return comment(`c${n}`, n % 60, { authorId, body: `Words of ${authorId}.`, ...parent })
  })
  const path = fileOf([page('p'), ...readers, ...comments])
  let isOver = false
  const erased = new Set<string>()
  const eraseSome = async (): Promise<void> => {
    while (!isOver) {
      const name = `r${Math.floor(random() * READERS)}`
      if (!erased.has(name) && (await erase(acme, `jsonl:${name}`))) erased.add(name)
    }
  }
  const importing = importPath(acme, path).finally(() => (isOver = true))
  const [{ refused }] = await Promise.all([importing, eraseSome(), eraseSome(), eraseSome()])
  // A fast machine is soon done with the import.
  expect(erased.size).toBeGreaterThan(0)
  expect(refused.first.every(({ reason }) => /erased/.test(reason))).toBe(true)
  const rows = await imports.service.app.db.query<{ body: string | null }>(
    unnamed('SELECT body FROM comments WHERE tenant_id = $1 AND body IS NOT NULL'),
    [acme.tenant.id],
  )
  const left = new Set(rows.map(({ body }) => /Words of (\w+)\./.exec(body ?? '')?.[1] ?? ''))
  expect([...erased].filter((name) => left.has(name))).toEqual([])
  expect(await imports.unowned(acme)).toEqual([])
  expect(await findWrongCounts(imports.service.app.db, acme.tenant.id)).toEqual([])
})
