import type { ModerationMode } from '../../generated/console.ts'

/** The moderation modes in words. */
export const MODES: Readonly<Record<ModerationMode, string>> = {
  none: 'Only what a rule holds waits for a moderator',
  post: 'All show at once, and what a rule objects to is looked at afterwards',
  pre: 'Each comment waits for a moderator',
}
