import { expect, test } from 'vitest'

import { ServiceError } from '../../src/core/errors.ts'
import { OutcomeNotes, replayOf } from '../../src/graphql/outcome.ts'

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
