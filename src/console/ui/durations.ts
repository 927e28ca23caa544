import { formatNumber } from './numbers.ts'

const MILLISECONDS = {
  milliseconds: 1,
  seconds: 1000,
  minutes: 60_000,
  hours: 3_600_000,
  days: 86_400_000,
} as const

export type Unit = keyof typeof MILLISECONDS

const UNITS = Object.keys(MILLISECONDS) as Unit[]

/** How many of `unit` one `larger` unit has. */
export const sizeOf = (larger: Unit, unit: Unit): number => MILLISECONDS[larger] / MILLISECONDS[unit]

/** `unit` and the larger ones of which at least one is within `most`. */
export const unitsFor = (unit: Unit, most = Infinity): Unit[] =>
  UNITS.filter((each) => each === unit || (sizeOf(each, unit) > 1 && sizeOf(each, unit) <= most))

/** The largest of `units` in which `amount` is a whole number; the first one for zero. */
export const fittingUnit = (amount: number, units: readonly Unit[]): Unit | undefined =>
  units.findLast((each, at) => at === 0 || (amount > 0 && amount % sizeOf(each, units[0] ?? each) === 0))

/** A length of time, exactly: "15 minutes", "1 hour 30 seconds". */
export function durationWords(amount: number, unit: Unit): string {
  let left = amount
  const parts = unitsFor(unit)
    .toReversed()
    .flatMap((each) => {
      const count = each === unit ? left : Math.floor(left / sizeOf(each, unit))
      left -= count * sizeOf(each, unit)
      return count === 0 ? [] : [`${formatNumber(count)} ${count === 1 ? each.slice(0, -1) : each}`]
    })
  return parts.length === 0 ? `0 ${unit}` : parts.join(' ')
}
