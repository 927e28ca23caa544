import { expect, test } from 'vitest'

import type { ImportFile } from '../../src/transfer/import/import.ts'
import type { Item } from '../../src/transfer/item.ts'
import { rehearseImport } from '../../src/transfer/rehearsal/rehearse.ts'
import { countCpu, countTime } from '../harness/cpu.ts'
import { onServer } from '../harness/database.ts'
import { effort } from '../harness/effort.ts'
import { useImports } from '../harness/imports.ts'
import { at } from '../harness/transfer.ts'

const imports = useImports('rehearsals')

test('a rehearsal of a long chain with the newest reply first takes no longer than others', async () => {
  const acme = await imports.addTenant()
  const length = effort(20_000)
  const chain = (count: number, isReversed: boolean): ImportFile => {
    const comments = Array.from({ length: count }, (_, n): Item => ({
      kind: 'comment',
      id: `c${n}`,
      discussionId: 'p',
      parentId: n === 0 ? null : `c${n - 1}`,
      body: 'Text',
      createdAt: at(n % 60),
    }))
    const page: Item = { kind: 'discussion', id: 'p', externalId: 'p' }
    return {
      source: 'jsonl',
      path: imports.fileOf(isReversed ? [...comments.toReversed(), page] : [page, ...comments]),
    }
  }
  // On a server most of the work is PostgreSQL's, whose CPU is not this process's.
  const begin = onServer ? countTime : countCpu
  const costOf = async (file: ImportFile): Promise<number> => {
    const micros = begin()
    const { counts, changed } = await rehearseImport(imports.service.app, acme.tenant.id, file)
    expect([counts.comments, changed.total]).toEqual([length, length - 11])
    return micros()
  }
  const [inOrder, reversed] = [await costOf(chain(length, false)), await costOf(chain(length, true))]
  expect(reversed).toBeLessThan(3 * inOrder)
})
