// The drawings of what only writers see: fonts lack some signs.
import type { Kit } from './kit.ts'

/** A drawing of 16 by 16 in the colour of the text around it. */
export const icon = ({ html }: Kit, path: string): unknown =>
  html`<svg viewBox="0 0 16 16" aria-hidden="true"><path d=${path} /></svg>`

/** The reader's notifications. */
export const BELL = 'M3 12h10l-1-2V7a4 4 0 0 0-8 0v3zM6.5 14h3M8 3V1.5'
/** The reader's own comments: lines on a sheet. */
export const SHEET = 'M3 1.5h10v13H3zM5.5 5h5M5.5 8h5M5.5 11h3'
export const LINK = 'M6.5 9.5l3-3M7 4.5l2-2a3.2 3.2 0 0 1 4.5 4.5l-2 2M9 11.5l-2 2a3.2 3.2 0 0 1-4.5-4.5l2-2'
export const QUOTE = 'M6.5 4C4 5 3 7 3 9.5V12h3.5V8.5H3M13 4c-2.5 1-3.5 3-3.5 5.5V12H13V8.5H9.5'
export const LIST = 'M6 4h8M6 8h8M6 12h8M2 4h1.5M2 8h1.5M2 12h1.5'
