import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import { readStored } from '../../src/core/stored.ts'
import { tenantSettings, tenantSettingsSchema } from '../../src/core/settings/tenant.ts'
import { patchStored } from '../../src/domains/settings/merge.ts'
import { readOverrides } from '../../src/domains/webhooks/rules/policy.ts'

const DEFAULTS: Record<string, unknown> = tenantSettings({})
const GROUPS = ['rateLimit', 'stream', 'ticket', 'webhookPolicy', 'identity', 'classifier']

/** Settings as this release may have stored them. */
const ours = fc.record(
  {
    moderationMode: fc.constantFrom('none', 'pre', 'post'),
    bannedWords: fc.array(fc.stringMatching(/^[a-z]{1,10}$/), { maxLength: 5 }),
    maxDepth: fc.integer({ min: 0, max: 100 }),
    autoCloseDays: fc.option(fc.integer({ min: 1, max: 3650 })),
    stream: fc.record({ replayHours: fc.integer({ min: 1, max: 720 }) }, { requiredKeys: [] }),
    webhookPolicy: fc.record({ maxAttempts: fc.integer({ min: 1, max: 10 }) }, { requiredKeys: [] }),
    classifier: fc.option(fc.record({ fallback: fc.constantFrom('approve', 'hold') }, { requiredKeys: [] })),
  },
  { requiredKeys: [] },
)

/**
 * Settings as any other release may have stored them: known names with any values, and unknown
 * names at each level.
 */
const theirs = fc
  .dictionary(fc.oneof(fc.constantFrom(...Object.keys(DEFAULTS)), fc.stringMatching(/^[a-z]{8}$/)), fc.jsonValue())
  .chain((top) =>
    fc
      .dictionary(fc.constantFrom(...GROUPS), fc.dictionary(fc.stringMatching(/^[a-zA-Z]{2,18}$/), fc.jsonValue()))
      .map((groups) => ({ ...top, ...groups })),
  )

describe('settings stored by another release', () => {
  test('are always read as valid settings of this one', () => {
    fc.assert(
      fc.property(fc.oneof(theirs, fc.jsonValue()), (stored) => {
        const read = tenantSettings(stored)
        expect(tenantSettingsSchema.parse(read)).toEqual(read)
      }),
    )
  })

  test('do not affect the known settings beside them', () => {
    fc.assert(
      fc.property(ours, fc.jsonValue(), fc.jsonValue(), (stored, unknown, alsoUnknown) => {
        const newer = {
          ...structuredClone(stored),
          fromTheFuture: unknown,
          stream: { ...stored.stream, fromTheFuture: alsoUnknown },
        }
        expect(tenantSettings(newer)).toEqual(tenantSettings(stored))
      }),
    )
  })

  test('are kept by a change of others, which is read back as given', () => {
    fc.assert(
      fc.property(theirs, ours, (stored, patch) => {
        const after: Record<string, unknown> = tenantSettings(patch)
        const next = patchStored(stored, patch, after, DEFAULTS)
        for (const [name, value] of Object.entries(stored)) {
          if (!Object.hasOwn(patch, name)) expect(next[name]).toEqual(value)
        }
        // The settings of one name are checked together.
        for (const name of Object.keys(patch).filter((each) => !GROUPS.includes(each))) {
          expect((tenantSettings(next) as Record<string, unknown>)[name]).toEqual(after[name])
        }
      }),
    )
  })

  test('are never changed by reading them', () => {
    fc.assert(
      fc.property(theirs, (stored) => {
        const before = structuredClone(stored)
        tenantSettings(stored)
        expect(stored).toEqual(before)
      }),
    )
  })

  test.each([
    ['an unknown value', { moderationMode: 'ask-a-friend' }, {}],
    ['a value out of bounds', { maxDepth: 5000, maxLinks: 7 }, { maxLinks: 7 }],
    ['a group of another type', { stream: 'fast', maxLinks: 7 }, { maxLinks: 7 }],
    ['one unknown entry of a list', { bannedWords: ['one', '!!!', 'two', 3] }, { bannedWords: ['one', 'two'] }],
    [
      'an unknown field and value of a nullable group',
      { classifier: { url: 'https://c.example.com', fallback: 'vote', model: 'x' } },
      { classifier: { url: 'https://c.example.com' } },
    ],
    ['two values that do not fit', { webhookPolicy: { breakerThreshold: 80 }, maxLinks: 7 }, { maxLinks: 7 }],
  ])('%s is left out, and nothing else', (_name, stored, asIf) => {
    expect(tenantSettings(stored)).toEqual(tenantSettings(asIf))
  })

  test('a list that is too long keeps its beginning: banned words stay banned', () => {
    const bannedWords = Array.from({ length: 1200 }, (_, n) => `word${n}`)
    expect(tenantSettings({ bannedWords }).bannedWords).toEqual(bannedWords.slice(0, 1000))
  })
})

test('the overrides of an endpoint are read without unknown fields', () => {
  expect(readOverrides({ maxAttempts: 5, timeoutMs: 'long', jitter: 0.5, disableThreshold: 0 })).toEqual({
    maxAttempts: 5,
  })
})

test('a schema that cannot be satisfied in part is read as its defaults', () => {
  const schema = z.strictObject({ a: z.number().default(1) }).refine(({ a }) => a === 1)
  expect(readStored(schema, { a: 2 })).toEqual({ a: 1 })
})
