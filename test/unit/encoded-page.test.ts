import fc from 'fast-check'
import { expect, test } from 'vitest'

import { encodePage, personalPage } from '../../src/api/http/pages/encoded-page.ts'

const text = fc.oneof(fc.string({ unit: 'grapheme' }), fc.constant('"viewerReaction":null'), fc.constant('\\"'))
const comment = fc.record({
  id: fc.uuid(),
  status: fc.constantFrom('approved', 'withheld'),
  body: text,
  reactionCounts: fc.dictionary(fc.string(), fc.nat()),
  viewerReaction: fc.constant(null),
  createdAt: text,
})
const list = <T>(of: fc.Arbitrary<T>) => fc.record({ data: fc.array(of, { maxLength: 5 }), nextCursor: text })
const page = list(
  fc.oneof(
    comment,
    fc.tuple(comment, list(comment)).map(([each, replies]) => ({ ...each, replies })),
  ),
)

interface Comments {
  data: readonly { id: string; replies?: Comments }[]
}

const withReactions = <T extends Comments>(body: T, held: ReadonlyMap<string, string>): T =>
  JSON.parse(
    JSON.stringify(body, (_key, value: unknown) =>
      typeof value === 'object' && value !== null && 'viewerReaction' in value && 'id' in value
        ? { ...value, viewerReaction: held.get(String(value.id)) ?? null }
        : value,
    ),
  ) as T

test("a page with a reader's reactions has the same bytes as the JSON of that page", () => {
  fc.assert(
    fc.property(page, fc.array(text, { minLength: 1 }), (body, types) => {
      const encoded = encodePage(body)
      expect(encoded.bytes.toString()).toBe(JSON.stringify(body))
      const ids = encoded.slots.map(({ commentId }) => commentId)
      const held = new Map(ids.flatMap((id, n) => (n % 2 === 0 ? [[id, types[n % types.length] ?? '']] : [])))
      // Twice: the second time the places are known.
      for (const _ of [1, 2]) {
        expect(personalPage(encoded, held).toString()).toBe(JSON.stringify(withReactions(body, held)))
      }
    }),
  )
})
