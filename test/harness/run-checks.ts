import { afterAll, expect } from 'vitest'

import { faults } from './faults.ts'

// A test may expect a request to fail, but not for one of these.
afterAll(() => expect([...new Set(faults.splice(0))]).toEqual([]))
