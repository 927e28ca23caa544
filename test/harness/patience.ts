import { vi } from 'vitest'

// What must come, comes; how soon depends on what else the machine does. Where a second is the promise, the test says so.
const PATIENCE_MS = 10_000

const { waitFor } = vi
vi.waitFor = (callback, options = {}) =>
  waitFor(callback, typeof options === 'number' ? options : { timeout: PATIENCE_MS, ...options })
