import { pino } from 'pino'

/** For what must not write between the lines of the tests. */
export const SILENT = pino({ level: 'silent' })
