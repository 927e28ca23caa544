import { TextInput } from '@mantine/core'

/**
 * When a day such as 2026-11-21 begins in the viewer's time zone, or the day `later` days after it;
 * null for what is no day.
 */
export function midnight(day: string | null, later: number): string | null {
  const [, year, month, date] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(day ?? '') ?? []
  if (year === undefined) return null
  return new Date(Number(year), Number(month) - 1, Number(date) + later).toISOString()
}

interface Filter {
  value: string | null
  set: (value: string | null) => void
}

/** A day in the viewer's time zone. */
export const Day = ({ label, filter: { value, set } }: { label: string; filter: Filter }) => (
  <TextInput
    type="date"
    label={label}
    value={value ?? ''}
    onChange={({ currentTarget }) => set(currentTarget.value)}
    // On a phone it fills its row.
    flex={{ base: '1 1 136px', sm: '0 1 auto' }}
  />
)
