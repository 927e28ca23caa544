import { expect, vi } from 'vitest'

import { waitFor } from './standstill.ts'

// Whatever must happen does; how soon depends on the machine's load. So a wait of a test is long,
// however short the test asks for: it ends as soon as the condition holds. Only the tests of these
// folders say something about time.
const OF_TIME = /\/test\/(timing|faults|browser|cluster|containers)\//
const PATIENCE_MS = 60_000
const USUAL_MS = 10_000

vi.waitFor = (callback, options = {}) => {
  const given = typeof options === 'number' ? { timeout: options } : options
  const { timeout = USUAL_MS } = given
  const isOfTime = OF_TIME.test(expect.getState().testPath?.replaceAll('\\', '/') ?? '')
  return waitFor(callback, { ...given, timeout: isOfTime ? timeout : Math.max(timeout, PATIENCE_MS) })
}
