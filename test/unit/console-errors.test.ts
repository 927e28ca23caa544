import { describe, expect, test } from 'vitest'

import { ApiError, type InvalidField, refusalOf, wordsOf } from '../../src/console/api/errors.ts'

const invalid = (...fields: [pointer: string, message: string][]): ApiError =>
  new ApiError('validation_failed', fields.map((field) => field.join(' ')).join('; '), {
    fields: fields.map(([pointer, message]): InvalidField => ({ pointer, code: 'invalid', message })),
    requestId: 'r-1',
  })

const LABELS = {
  url: 'URL',
  words: 'Banned words',
  'policy.disableThreshold': 'Failures to disabling',
  'policy.breakerThreshold': 'Failures to an open circuit',
}

describe('a refusal of a form', () => {
  test('is shown at the field that it names, under its label, and nowhere else', () => {
    expect(refusalOf(invalid(['/url', 'must be an https URL']), LABELS)).toEqual({
      fields: { url: 'URL must be an https URL.' },
      rest: null,
    })
  })

  test('is shown at the list if one of its entries is wrong, and says which', () => {
    const { fields } = refusalOf(invalid(['/words/0', 'must not contain NUL'], ['/words/2', 'is required']), LABELS)
    expect(fields).toEqual({
      words: 'Banned words, number 1, must not contain NUL. Banned words, number 3, is required.',
    })
  })

  test('names other fields by their labels too', () => {
    const refusal = invalid(['/policy/disableThreshold', 'must be at least breakerThreshold'])
    expect(refusalOf(refusal, LABELS).fields).toEqual({
      'policy.disableThreshold': 'Failures to disabling must be at least “Failures to an open circuit”.',
    })
  })

  test('is shown above the form if it is about no field, in words, with the request id', () => {
    const { fields, rest } = refusalOf(
      invalid(['/url', 'is required'], ['/policy', 'must be an object'], ['/expiresAt', 'must be in the future']),
      LABELS,
    )
    expect(Object.keys(fields)).toEqual(['url'])
    expect(wordsOf(rest)).toBe('Policy must be an object. Expires at must be in the future.')
    expect(rest).toMatchObject({ code: 'validation_failed', requestId: 'r-1' })
  })

  test('is shown above the form if it names no field', () => {
    const error = new ApiError('key_budget_exhausted', 'There are as many active keys as the budget allows.')
    expect(refusalOf(error, LABELS)).toEqual({ fields: {}, rest: error })
  })
})

test.each([
  ['/rateLimit/perSecond', 'must be at least 1', 'Rate limit, per second, must be at least 1.'],
  ['/a~1b~0c', 'is required', 'A/b~c is required.'],
  [
    '',
    'must have exactly one of discussionId and externalId',
    'The request must have exactly one of discussion id and external id.',
  ],
  ['', 'Syntax Error: Unexpected <EOF>.', 'Syntax Error: Unexpected <EOF>.'],
])('%s %s: no pointer and no name of the API is shown outside of a form', (pointer, message, words) => {
  expect(wordsOf(invalid([pointer, message]))).toBe(words)
})
