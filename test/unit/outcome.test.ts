import { describe, expect, test } from 'vitest'

import { ServiceError } from '../../src/core/errors.ts'
import { OutcomeNotes, renewed, replayOf } from '../../src/graphql/outcome.ts'

test('a field is replayed under any name that a request can give it', async () => {
  const notes = new OutcomeNotes()
  const names = ['__proto__', 'constructor', 'toString', 'plain']
  for (const name of names)
    await notes.of(
      name,
      () => name,
      (value) => ({ value, end: null }),
    )
  await expect(
    notes.of(
      'hasOwnProperty',
      () => {
        throw new ServiceError('not_found', { detail: 'Gone.' })
      },
      (value) => ({ value, end: null }),
    ),
  ).rejects.toThrow('Gone.')
  const replay = replayOf(notes.text(), async () => null)
  const never = (): never => {
    throw new Error('a replay runs nothing')
  }
  for (const name of names) expect(await replay.of(name, never, never)).toBe(name)
  await expect(replay.of('hasOwnProperty', never, never)).rejects.toThrow('Gone.')
  await expect(replay.of('valueOf', never, never)).rejects.toThrow('nothing was noted of valueOf')
})

describe('an answer of which one field is run again', () => {
  const text = JSON.stringify({ ticket: { value: 'old', until: 0 }, made: { value: 1 } })
  const first = JSON.stringify({ data: { ticket: 'old', made: 1 } })
  const again = (status: number, answer: object) => ({ status, body: JSON.stringify(answer) })

  test('has the rest of the first answer, whose other errors of now it lacks', () => {
    const gone = { message: 'Gone.', path: ['made'] }
    const { status, body } = renewed(text, first, again(294, { errors: [gone], data: { ticket: 'new', made: null } }))
    expect([status, JSON.parse(body)]).toEqual([200, { data: { ticket: 'new', made: 1 } }])
  })

  test('has the error of that field, and the status of an answer with errors', () => {
    const errors = [{ message: 'Gone.', path: ['ticket'] }]
    const { status, body } = renewed(text, first, again(294, { errors, data: { ticket: null, made: 1 } }))
    expect([status, JSON.parse(body)]).toEqual([294, { data: { ticket: null, made: 1 }, errors }])
  })

  test.each([[undefined], [null]])('is refused where its operation is refused by now: data is %s', (data) => {
    const refused = again(400, { errors: [{ message: 'No such field.' }], data })
    expect(renewed(text, first, refused)).toBe(refused)
  })
})
