import fc from 'fast-check'
import { expect, test } from 'vitest'

import type { Ctx } from '../../src/core/context.ts'
import { edgeBytes, mostBytes } from '../../src/graphql/documents/weight.ts'

const ctx = {} as Ctx
const node = fc.record({
  body: fc.oneof(fc.string({ unit: 'binary', maxLength: 50 }), fc.constant(null)),
  counts: fc.dictionary(fc.string({ unit: 'binary' }), fc.nat()),
})

test('the most bytes of a page are never less than it has, whatever its texts contain', () => {
  const nodes = [{ fixed: 0, texts: ['body', 'counts'], computed: [], objects: [] }]
  fc.assert(
    fc.property(fc.array(fc.record({ cursor: fc.base64String(), node })), (edges) => {
      const plan = { fixed: 0, cursors: 1, nodes }
      const bytes = edges.reduce((sum, edge) => sum + edgeBytes(ctx, edge, plan), 0)
      const texts = edges.flatMap((edge) => [edge.cursor, edge.node.body, edge.node.counts])
      expect(bytes).toBe(texts.reduce((sum: number, text) => sum + Buffer.byteLength(JSON.stringify(text)), 0))
      expect(mostBytes(ctx, edges, plan)).toBeGreaterThanOrEqual(bytes)
    }),
  )
})
