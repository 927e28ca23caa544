import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { effort } from '../harness/effort.ts'
import { type TestResponse, useReaders, useService } from '../harness/service.ts'
import { dumpTables } from '../harness/dump.ts'

const service = useService()
const { ann } = useReaders(service, 'ann')

const call = (method: string, path: string, body: object, headers: Record<string, string> = {}) =>
  service.call(method, path, { headers, body })
const attempt = async (body: string, settings?: object): Promise<TestResponse['json']> => {
  const answer = await call('POST', '/moderation/try', { body, ...(settings && { settings }) })
  expect(answer.status, answer.text).toBe(200)
  return answer.json
}
const FREE = { reason: null, details: [] }

describe('POST /moderation/try', () => {
  test.each([
    ['a text that no rule holds', 'Fine words', {}, { outcome: 'approved', ...FREE }],
    [
      'pre-moderation',
      'Fine words',
      { moderationMode: 'pre' },
      { outcome: 'pending', reason: 'pre_moderation', details: [] },
    ],
    [
      'a banned word',
      'Buy VIAGRA, now',
      { bannedWords: ['viagra'] },
      { outcome: 'refused', reason: null, details: [{ rule: 'banned_word', match: 'viagra', start: 4, end: 10 }] },
    ],
    [
      'suspect words, each place of them',
      'casino, a Casíno and casinos',
      { suspectWords: ['none', 'casino', 'casinos'] },
      {
        outcome: 'pending',
        reason: 'suspect_word',
        details: [
          { rule: 'suspect_word', match: 'casino', start: 0, end: 6 },
          { rule: 'suspect_word', match: 'casino', start: 10, end: 16 },
          { rule: 'suspect_word', match: 'casinos', start: 21, end: 28 },
        ],
      },
    ],
    [
      'a suspect word under post-moderation',
      'a casino',
      { suspectWords: ['casino'], moderationMode: 'post' },
      {
        outcome: 'flagged',
        reason: 'suspect_word',
        details: [{ rule: 'suspect_word', match: 'casino', start: 2, end: 8 }],
      },
    ],
    [
      'a phrase over two lines, after an emoji',
      '🙂 free\n  money',
      { suspectWords: ['free money'] },
      {
        outcome: 'pending',
        reason: 'suspect_word',
        details: [{ rule: 'suspect_word', match: 'free money', start: 3, end: 15 }],
      },
    ],
    [
      'a word that the Markdown has only with markup inside',
      'cas**in**o',
      { suspectWords: ['casino'] },
      {
        outcome: 'pending',
        reason: 'suspect_word',
        details: [{ rule: 'suspect_word', match: 'casino', start: null, end: null }],
      },
    ],
    [
      'a part of a word',
      'megacasinos',
      { suspectWords: ['*casino*'] },
      {
        outcome: 'pending',
        reason: 'suspect_word',
        details: [{ rule: 'suspect_word', match: '*casino*', start: 4, end: 10 }],
      },
    ],
    [
      'links',
      'https://a.example/ and [b](https://b.example/)',
      { maxLinks: 1 },
      {
        outcome: 'pending',
        reason: 'too_many_links',
        details: [
          { rule: 'too_many_links', match: 'https://a.example/', start: 0, end: 18 },
          { rule: 'too_many_links', match: 'https://b.example/', start: 27, end: 45 },
        ],
      },
    ],
  ])('says of %s', async (_what, body, settings, expected) => {
    expect(await attempt(body, settings)).toEqual({ ...expected, dependsOnAuthor: expect.any(Array) })
  })

  test('tells the rules that depend on the author', async () => {
    expect((await attempt('Fine words')).dependsOnAuthor).toEqual(['repeated_text'])
    const { dependsOnAuthor } = await attempt('Fine words', { holdFirstComments: 2 })
    expect(dependsOnAuthor).toEqual(['repeated_text', 'first_comments'])
    expect((await attempt('bad', { bannedWords: ['bad'], holdFirstComments: 2 })).dependsOnAuthor).toEqual([])
  })

  test("takes the tenant's settings, with others in place of them, and changes nothing", async () => {
    await call('PATCH', '/settings', { suspectWords: ['casino'], maxLinks: 0 })
    expect((await attempt('casino')).outcome).toBe('pending')
    expect((await attempt('casino', { suspectWords: [] })).outcome).toBe('approved')
    expect((await attempt('https://a.example/', { suspectWords: [] })).reason).toBe('too_many_links')
    const text = `a text of the trial ${newId()}`
    await attempt(text, { suspectWords: ['another'] })
    const stored = await dumpTables(service.app.db)
    expect(stored).not.toContain(text)
    expect(stored).not.toContain('another')
    await call('PATCH', '/settings', { suspectWords: [], maxLinks: 5 })
  })

  test('says what happens to the comment of a new reader', async () => {
    const word = fc.constantFrom('good', 'Bad', 'bád', 'https://a.example/', '**bad**', 'b**a**d', 'worse')
    const settings = fc.record({
      moderationMode: fc.constantFrom('none', 'pre', 'post'),
      bannedWords: fc.constantFrom([], ['worse'], ['bad']),
      suspectWords: fc.constantFrom([], ['bad'], ['wor*']),
      maxLinks: fc.nat(1),
    })
    const holds = async (words: string[], tried: object): Promise<void> => {
      const body = words.join(' ')
      const { outcome, reason } = await attempt(body, tried)
      await call('PATCH', '/settings', tried)
      const headers = await service.as(newId())
      const answer = await call('POST', `/discussions/by-external/${newId()}/comments`, { body }, headers)
      expect(answer.json.errors?.[0]?.code).toBe(outcome === 'refused' ? 'banned_word' : undefined)
      if (outcome === 'refused') return
      expect(answer.json.status).toBe(outcome === 'pending' ? 'pending' : 'approved')
      const queue = outcome === 'flagged' ? 'reported' : 'pending'
      const { json } = await service.call(
        'GET',
        `/moderation/queue?status=${queue}&discussionId=${answer.json.discussionId}`,
      )
      expect(json.data[0]?.reason ?? null).toBe(reason)
    }
    const words = fc.array(word, { minLength: 1, maxLength: 4 })
    await fc.assert(fc.asyncProperty(words, settings, holds), { numRuns: effort(60, 20) })
    await call('PATCH', '/settings', { moderationMode: 'none', bannedWords: [], suspectWords: [], maxLinks: 5 })
  })

  test.each([
    [{ body: '' }, '/body'],
    [{ body: '> ' }, '/body'],
    [{ body: 'x'.repeat(10_001) }, '/body'],
    [{ body: 'x', settings: { maxLinks: -1 } }, '/settings/maxLinks'],
    [{ body: 'x', settings: { bannedWords: ['*'] } }, '/settings/bannedWords/0'],
    [{ body: 'x', settings: { suspectWords: 'x' } }, '/settings/suspectWords'],
    [{ body: 'x', settings: { reportThreshold: 3 } }, '/settings/reportThreshold'],
    [{}, '/body'],
  ])('%j is 422 at %s', async (body, pointer) => {
    const { status, json } = await call('POST', '/moderation/try', body)
    expect({ status, pointer: json.errors?.[0]?.pointer }).toEqual({ status: 422, pointer })
  })

  test('needs manage_settings', async () => {
    const { json } = await call('POST', '/keys', { label: 'moderator', capabilities: ['moderate_content'] })
    const answer = await call('POST', '/moderation/try', { body: 'x' }, { 'x-api-key': json.key, ...ann })
    expect(answer.json.code).toBe('missing_capability')
  })
})
