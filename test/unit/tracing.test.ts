import { expect, test } from 'vitest'

import { drawing, shareOf } from '../../src/data/tracing-variables.ts'

const count = (draw: () => boolean, times: number): number => Array.from({ length: times }, draw).filter(Boolean).length

test.each([0.01, 0.1, 0.5, 0.9])('of many traces a share of %d is sampled', (share) => {
  // Six standard deviations: a run in a billion is outside.
  const times = 200_000
  const deviation = Math.sqrt(times * share * (1 - share))
  expect(Math.abs(count(drawing(share), times) - times * share)).toBeLessThan(6 * deviation)
})

test('with a share of 1 all are sampled, with 0 none, whatever the chance', () => {
  for (const chance of [0, 0.5, 1 - Number.EPSILON]) {
    expect(
      count(
        drawing(1, () => chance),
        100,
      ),
    ).toBe(100)
    expect(
      count(
        drawing(0, () => chance),
        100,
      ),
    ).toBe(0)
  }
})

test('with a chance of 0 the next one is sampled', () => {
  expect(drawing(0.01, () => 0)()).toBe(true)
})

test('the share is that of the random samplers', () => {
  const of = (sampler?: string, arg?: string) => shareOf({ OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: arg })
  expect(of('parentbased_traceidratio', '0.01')).toBe(0.01)
  expect(of('traceidratio', ' 0 ')).toBe(0)
  expect(of('traceidratio', '2')).toBeNull()
  expect(of('traceidratio', 'x')).toBeNull()
  expect(of('traceidratio')).toBeNull()
  expect(of('always_on', '0.01')).toBeNull()
  expect(of()).toBeNull()
})
