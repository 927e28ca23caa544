import { pino } from 'pino'

/** For what must not write between the lines of the tests. */
export const SILENT = pino({ level: 'silent' })

const MAX_LINES = 200

const noted: string[] = []

/** Keeps what services say, for the case that their test fails. */
export function noteLog(text: string): void {
  noted.push(text)
  if (noted.length > MAX_LINES) noted.shift()
}

/** What they have said since the last call. */
export const takeLog = (): string => noted.splice(0).join('')
