import { expect, test } from 'vitest'

import { hourTime, wholeTime, zoneName } from '../../src/console/ui/clock.ts'

const at = (day: number, hour: number): string => new Date(2026, 10, day, hour).toISOString()
const NOW = Date.parse(at(21, 15))

test('an hour has its day before it unless that is today', () => {
  expect(hourTime(at(21, 0), NOW)).not.toContain('21')
  expect(hourTime(at(20, 16), NOW)).toContain('20')
  expect(hourTime(at(20, 16), NOW)).toContain(hourTime(at(21, 16), NOW))
  expect(hourTime(at(22, 0), NOW)).toContain('22')
})

test('a whole time has its year and its zone', () => {
  expect(wholeTime(at(21, 15))).toContain('2026')
  expect(wholeTime(new Date().toISOString())).toContain(zoneName())
})
