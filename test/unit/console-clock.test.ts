import { expect, onTestFinished, test, vi } from 'vitest'

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
  expect(wholeTime(at(21, 15))).toContain(zoneName(at(21, 15)))
})

test('a text that is no moment stays as it is', () => expect(wholeTime('2026-99-99T9:Z')).toBe('2026-99-99T9:Z'))

test('the labels of hours have their zone where the clock changes between them', async () => {
  const before = process.env.TZ
  onTestFinished(() => {
    if (before === undefined) delete process.env.TZ
    else process.env.TZ = before
    vi.resetModules()
  })
  process.env.TZ = 'America/New_York'
  vi.resetModules()
  const { hourLabels } = await import('../../src/console/ui/clock.ts')
  const now = Date.parse('2026-11-01T12:00:00Z')
  const autumn = hourLabels(['2026-11-01T05:00:00Z', '2026-11-01T06:00:00Z'], now)
  expect(autumn.zone).toBe('EDT, then EST')
  expect(autumn.labels[0]).toMatch(/EDT$/)
  expect(autumn.labels[1]).toMatch(/EST$/)
  // Days later, the zone of the hours is told, not that of now.
  const summer = hourLabels(['2026-10-31T05:00:00Z', '2026-10-31T06:00:00Z'], now)
  expect(summer.zone).toBe('EDT')
  expect(summer.labels.join()).not.toContain('EDT')
  expect(hourLabels([])).toEqual({ labels: [], zone: '' })
})
