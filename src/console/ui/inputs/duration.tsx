import { Group, NativeSelect, NumberInput } from '@mantine/core'
import { type ReactNode, useState } from 'react'

import { fittingUnit, sizeOf, type Unit, unitsFor } from '../durations.ts'
import { THOUSANDS } from '../numbers.ts'

interface Props {
  label: string
  description: ReactNode
  placeholder?: string
  error?: ReactNode
  /** In `unit`; empty for none. */
  value: number | ''
  /** What an empty field stands for. */
  usual?: number | undefined
  onChange: (value: number | '') => void
  unit: Unit
  /** The longest that is allowed, in `unit`. */
  most?: number | undefined
}

/** Puts an input in front of something. */
const before = (choice: ReactNode) => (input: ReactNode) => (
  <Group gap="xs" wrap="nowrap" maw={280}>
    {input}
    {choice}
  </Group>
)

/** A length of time in a unit that the reader of the form chooses. `value` is always in `unit`. */
export function DurationInput({ label, value, usual = 0, onChange, unit, most, ...props }: Props) {
  const units = unitsFor(unit, most)
  // What was typed, because "1." is not yet a number.
  const [typed, setTyped] = useState<{ value: number | ''; shown: number | string; unit: Unit } | null>(null)
  const isTyped = typed !== null && Object.is(typed.value, value)
  const shownUnit = isTyped ? typed.unit : (fittingUnit(value === '' ? usual : value, units) ?? unit)
  const shown = isTyped ? typed.shown : value === '' ? '' : value / sizeOf(shownUnit, unit)
  const change = (next: number | string, nextUnit: Unit): void => {
    // Rounded, because 1.1 minutes are not 66.00000000000001 seconds.
    const changed = next === '' ? '' : Math.round(Number(next) * sizeOf(nextUnit, unit) * 1000) / 1000
    setTyped({ value: changed, shown: next, unit: nextUnit })
    onChange(changed)
  }
  const choice = units.length > 1 && (
    <NativeSelect
      aria-label={`Unit of ${label}`}
      data={units}
      value={shownUnit}
      onChange={({ currentTarget }) => change(shown, units.find((each) => each === currentTarget.value) ?? shownUnit)}
    />
  )
  return (
    <NumberInput
      label={label}
      // A number that is not whole or out of bounds is reported, not silently corrected.
      clampBehavior="none"
      thousandSeparator={THOUSANDS}
      hideControls
      min={0}
      value={shown}
      onChange={(next) => change(next, shownUnit)}
      inputContainer={before(choice)}
      {...(units.length === 1 ? { suffix: ` ${unit}` } : {})}
      {...props}
    />
  )
}
