import fc from 'fast-check'
import { expect, test } from 'vitest'

import { encodePage, personalPage, type ViewersValues } from '../../src/api/http/pages/encoded-page.ts'

const text = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.constant('"viewerReaction":null'),
  fc.constant('"authorMuted":null'),
  fc.constant('\\"'),
)
const comment = fc.record({
  id: fc.uuid(),
  status: fc.constantFrom('approved', 'withheld'),
  body: text,
  reactionCounts: fc.dictionary(fc.string(), fc.nat()),
  viewerReaction: fc.constant(null),
  authorMuted: fc.constant(null),
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

const withOwn = <T extends Comments>(body: T, own: ReadonlyMap<string, ViewersValues>): T =>
  JSON.parse(
    JSON.stringify(body, (_key, value: unknown) =>
      typeof value === 'object' && value !== null && 'viewerReaction' in value && 'id' in value
        ? { ...value, ...own.get(String(value.id)) }
        : value,
    ),
  ) as T

test("a page with what is a reader's own has the same bytes as the JSON of that page", () => {
  fc.assert(
    fc.property(page, fc.array(text, { minLength: 1 }), fc.nat(), (body, types, seed) => {
      const encoded = encodePage(body)
      expect(encoded.bytes.toString()).toBe(JSON.stringify(body))
      const ids = encoded.slots.map(({ commentId }) => commentId)
      const own = new Map(
        ids.map((id, n): [string, ViewersValues] => {
          const isOdd = (seed >> (n % 16)) & 1
          const type = types[n % types.length] ?? ''
          return [id, { ...(n % 2 === 0 && { viewerReaction: type }), ...(isOdd === 1 && { authorMuted: true }) }]
        }),
      )
      // Twice: the second time the places are known.
      for (const _ of [1, 2]) {
        const filled = personalPage(encoded, ({ commentId }) => own.get(commentId) ?? {})
        expect(filled.toString()).toBe(JSON.stringify(withOwn(body, own)))
      }
    }),
  )
})
