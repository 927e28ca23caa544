import { describe, expect, test } from 'vitest'

import { tenantSettings } from '../../src/core/settings/tenant.ts'
import { renderMarkdown } from '../../src/domains/comments/text/markdown.ts'
import { decide, holdPolicy, judgeText, holdReasonOf } from '../../src/domains/comments/rules.ts'

const judge = (body: string, settings: object = {}) => judgeText(body, renderMarkdown(body), tenantSettings(settings))
const reason = (body: string, settings: object = {}) => judge(body, settings).reason
const refusal = (body: string, settings: object) => {
  try {
    judge(body, settings)
    return null
  } catch (error) {
    return (error as { extras: { errors: unknown } }).extras.errors
  }
}

describe('words', () => {
  test('that are banned refuse the text, and the refusal names neither them nor their list', () => {
    expect(refusal('You FOOL', { bannedWords: ['fool'] })).toEqual([
      { pointer: '/body', code: 'banned_word', message: 'has a word that is not allowed here' },
    ])
    expect(refusal('You fooled me', { bannedWords: ['fool'] })).toBeNull()
  })

  test.each([
    'f**oo**l',
    'f*o*ol',
    'fo~~o~~l',
    '`fool`',
    '[fo](https://x.example)ol',
    'f&#111;ol',
    '# fool',
    '<b>fool</b>',
  ])('are found in what is shown: %s', (body) => expect(reason(body, { suspectWords: ['fool'] })).toBe('suspect_word'))

  test('are found in hidden markup, too', () => {
    const settings = { suspectWords: ['fool'] }
    expect(reason('[a](https://fool.example)', settings)).toBe('suspect_word')
    expect(reason('[a](https://a.example "fool")', settings)).toBe('suspect_word')
  })

  // What a browser makes of each is the address https://fool.example/fool or the title "fool".
  test.each([
    '[a](https://fool\\.example)',
    '[a](https://f&#111;ol.example)',
    '[a](https://f%6fol.example)',
    '[a](https://a.example/f%6F%6fl)',
    '[a](https://a.example/?q=%E0%A4%A&b=f%6Fol)',
    '[a](https://a.example "f&#111;ol")',
    '<https://f%6fol.example>',
    '![a](https://f&#111;ol.example)',
    '[a]\n\n[a]: https://f&#111;ol.example',
    '[a](https://fool。example)',
  ])('are found where links lead: %s', (body) => {
    expect(reason(body, { suspectWords: ['fool'] })).toBe('suspect_word')
  })

  test.each([
    ['fool.example', '[a](https://fool\\.example)'],
    ['fool.example', '[a](https://fool%2Eexample)'],
    ['fool.example', '[a](https://fool。example)'],
    ['fool.example/offer', '[a](https://fool.example/%6Fffer)'],
    ['bücher.example', '[a](https://xn--bcher-kva.example/)'],
    ['bücher.example', '[a](https://b%C3%BCcher.example/)'],
    ['xn--bcher-kva.example', '[a](https://xn--bcher-kva.example/)'],
    ['пример', '[a](https://a.example/%D0%BF%D1%80%D0%B8%D0%BC%D0%B5%D1%80)'],
  ])('of an address are found as a browser reads it: %s in %s', (word, body) => {
    expect(reason(body, { suspectWords: [word] })).toBe('suspect_word')
    expect(reason('[a](https://other.example/)', { suspectWords: [word] })).toBeNull()
  })

  test('of two paragraphs are separate', () =>
    expect(reason('fo\n\nol, *fo* *ol*', { suspectWords: ['fool'] })).toBeNull())
})

test.each([
  ['two plain addresses', 'https://a.example https://b.example', 2],
  ['a link whose text is its address', '[https://a.example](https://a.example)', 1],
  ['an address in code', '`https://a.example`', 0],
  ['an address in angle brackets', '<https://a.example>', 1],
  ['an image', '![a](https://a.example/a.png)', 1],
  ['an e-mail address', 'write to a@example.com', 1],
  ['a reference used twice', '[a] [a]\n\n[a]: https://a.example', 2],
  ['a link of HTML', '<a href="https://a.example">a</a>', 1],
  ['a scheme that makes no link', '[a](javascript:alert(1))', 0],
  ['a name without a scheme', 'www.a.example a.example', 0],
] as const)('%s counts as the links that are shown: %s', (_what, body, links) => {
  expect(renderMarkdown(body).split('<a ')).toHaveLength(links + 1)
  expect(reason(body, { maxLinks: links })).toBeNull()
  if (links > 0) expect(reason(body, { maxLinks: links - 1 })).toBe('too_many_links')
})

test('the addresses in a text that is shown as it was written count as links', () => {
  const body = '[a](http://a.example) '.repeat(450).trim()
  expect(renderMarkdown(body)).toContain('[a](http://a.example)')
  expect(reason(body, { maxLinks: 99 })).toBe('too_many_links')
})

describe('the order', () => {
  const all = {
    bannedWords: ['worst'],
    suspectWords: ['bad'],
    maxLinks: 0,
    holdAfterRejections: 3,
    holdFirstComments: 2,
    moderationMode: 'pre',
  }
  const never = { repeats: false, isRejected: false, approvedCount: 0 }
  const first = (body: string, history: object = {}) => holdReasonOf(judge(body, all), { ...never, ...history })

  test('is banned words, suspect words, links, repetition, rejections, first comments, pre-moderation', () => {
    expect(refusal('worst bad https://a.example', all)).not.toBeNull()
    expect(first('bad https://a.example', { repeats: true })).toBe('suspect_word')
    expect(first('https://a.example', { repeats: true })).toBe('too_many_links')
    expect(first('good', { repeats: true, isRejected: true })).toBe('repeated_text')
    expect(first('good', { isRejected: true })).toBe('earlier_rejections')
    expect(first('good', { approvedCount: 1 })).toBe('first_comments')
    expect(first('good', { approvedCount: 2 })).toBe('pre_moderation')
  })

  test('needs no author history if the text has decided', () => {
    expect(judge('bad', all)).toMatchObject({ repeats: false, approvedBelow: 0 })
    expect(judge('good', all)).toMatchObject({ repeats: true, approvedBelow: 2 })
    expect(judge('good')).toMatchObject({ repeats: true, approvedBelow: 0, reason: null, textDigest: null })
  })
})

describe('a decision', () => {
  const classifier = { url: 'https://classifier.example' }
  const policy = (settings: object) => holdPolicy(tenantSettings(settings))
  const approved = { status: 'approved', holdReason: null, flagged: false, asks: false }

  test.each([
    ['nothing against it', null, false, {}, approved],
    ['a rule', 'suspect_word', false, {}, { status: 'pending', holdReason: 'suspect_word', asks: false }],
    ['a rule afterwards', 'suspect_word', false, { moderationMode: 'post' }, { status: 'approved', flagged: true }],
    ['a shadow', null, true, { moderationMode: 'post', classifier }, { status: 'pending', holdReason: 'shadow_ban' }],
    ['a shadow and a rule', 'suspect_word', true, { moderationMode: 'post' }, { status: 'pending', flagged: false }],
    ['a classifier', null, false, { classifier }, { status: 'pending', holdReason: 'classifier', asks: true }],
    ['a classifier after a rule', 'suspect_word', false, { classifier }, { status: 'pending', asks: false }],
    ['a classifier without address', null, false, { classifier: { fallback: 'hold' } }, approved],
  ] as const)('by %s', (_by, verdict, isShadowBanned, settings, expected) =>
    expect(decide(verdict, isShadowBanned, policy(settings))).toMatchObject(expected),
  )
})
