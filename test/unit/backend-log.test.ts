import { afterEach, beforeEach, expect, test, vi } from 'vitest'

import { logErrors, RefusedBackend } from '../../src/clients/backend/log.ts'

beforeEach(() => void vi.useFakeTimers())

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

test('the same error is logged at most once a minute, a refusal without its stack', () => {
  const logged = vi.spyOn(console, 'error').mockReturnValue()
  const log = logErrors()
  const down = new TypeError('fetch failed')
  const refuse = () => log(new RefusedBackend('kid 1a2b3c4d is no live identity secret of the tenant'))
  for (let round = 0; round < 3; round++) {
    log(down)
    refuse()
  }
  const refusal = 'Error: the service refuses this backend: kid 1a2b3c4d is no live identity secret of the tenant'
  expect(logged.mock.calls).toEqual([[down], [refusal]])
  vi.advanceTimersByTime(59_999)
  refuse()
  expect(logged).toHaveBeenCalledTimes(2)
  vi.advanceTimersByTime(1)
  refuse()
  expect(logged.mock.calls.slice(2)).toEqual([[refusal]])
})
