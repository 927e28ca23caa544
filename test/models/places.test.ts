import fc from 'fast-check'
import { test } from 'vitest'

import { createMemoryPlaces } from '../../src/data/places/memory.ts'
import { commandsOf, type Held, release, take } from '../harness/places.ts'

test('places of one process: takes and releases at random agree with the model', async () => {
  await fc.assert(
    fc.asyncProperty(commandsOf(0), async (commands) => {
      const places = createMemoryPlaces()
      const held: Held[] = []
      for (const command of commands) {
        if (command.kind === 'release') release(held, command.which)
        if (command.kind !== 'take') continue
        await take(places, held, command)
      }
    }),
    { numRuns: 200 },
  )
})
