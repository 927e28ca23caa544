import { vi } from 'vitest'

import { waitFor } from './standstill.ts'

// Whatever must happen does; how soon depends on the machine's load. If a second is the promise,
// the test says so.
const PATIENCE_MS = 10_000

vi.waitFor = (callback, options = {}) =>
  waitFor(callback, { timeout: PATIENCE_MS, ...(typeof options === 'number' ? { timeout: options } : options) })
