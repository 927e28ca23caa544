// Moments as a `datetime-local` field has them: in the viewer's time zone, to the minute.

export const localTime = (at: number): string =>
  new Date(at - new Date(at).getTimezoneOffset() * 60_000).toISOString().slice(0, 16)

/** False for an incomplete time, and for a year of five digits, which browsers take. */
export const isMoment = (text: string): boolean => !Number.isNaN(Date.parse(text))
