import { afterAll, afterEach, beforeAll, expect } from 'vitest'

import { faults } from './faults.ts'
import { watchOpen } from './left-open.ts'
import { takeLog } from './log.ts'

// Such a clean-up runs after all that a file has in `afterAll`.
const leftOpen = watchOpen()
beforeAll(() => async () => expect(await leftOpen(), 'what this file leaves open').toEqual([]))

// A test may expect a request to fail, but not for one of these.
afterAll(() => expect([...new Set(faults.splice(0))]).toEqual([]))

// The answer does not say why a service answered 503.
const tellIfFailed = (result: { state?: string } | undefined): void => {
  const log = takeLog()
  if (result?.state === 'fail' && log !== '') console.error(log)
}
afterEach(({ task }) => tellIfFailed(task.result))
// vitest takes nothing but a pattern there.
// oxlint-disable-next-line no-empty-pattern
afterAll(({}, file) => tellIfFailed(file.result))
