import { expect, test } from 'vitest'

import { tenantSettings } from '../../src/core/tenant-settings.ts'
import type { Found } from '../../src/domains/transfer/item.ts'
import { BATCH_ITEMS, readBatches } from '../../src/domains/transfer/read-batches.ts'
import { comment } from '../harness/transfer.ts'

test('a file is read in the pace of what is stored of it', async () => {
  const rests: number[] = []
  const pace = { sized: (most: number) => most / 16, rest: async (workedMs: number) => void rests.push(workedMs) }
  async function* found(): AsyncGenerator<Found> {
    for (let n = 0; n < BATCH_ITEMS + 1; n++) yield { place: `${n}`, item: comment(`${n}`, 1) }
  }
  const rules = {
    source: 'jsonl',
    keepsIds: false,
    settings: tenantSettings({}),
    authors: new Map<string, string>(),
    page: null,
    addresses: new Map<string, string>(),
    now: new Date(),
  }
  const sizes: number[] = []
  for await (const { items } of readBatches(found(), rules, 'jsonl', pace)) sizes.push(items)
  expect(sizes).toEqual([...Array.from({ length: 16 }, () => BATCH_ITEMS / 16), 1])
  expect(rests).toHaveLength(16)
  expect(rests.every((workedMs) => workedMs > 0)).toBe(true)
})
