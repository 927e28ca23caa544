import { vi } from 'vitest'

import { waitFor } from './standstill.ts'

// What must come, comes; how soon depends on what else the machine does. Where a second is the
// promise, the test says so.
const PATIENCE_MS = 10_000

vi.waitFor = (callback, options = {}) =>
  waitFor(callback, { timeout: PATIENCE_MS, ...(typeof options === 'number' ? { timeout: options } : options) })
