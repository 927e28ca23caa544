import { codeOf } from '../outage.ts'

// lock_not_available, deadlock_detected. PostgreSQL has rolled the statement back.
const LOCK_FAILURES: ReadonlySet<unknown> = new Set(['55P03', '40P01'])

/** A transaction gave up its locks for others. `message` is public. */
export class LockFailure extends Error {}

/** Whether a transaction failed only because of locks, so that a retry may succeed. */
export const isLockFailure = (error: unknown): boolean =>
  error instanceof LockFailure || (error instanceof Error && LOCK_FAILURES.has(codeOf(error)))

/** Whether a write failed because of a unique key. */
export const isDuplicate = (error: unknown): boolean => error instanceof Error && codeOf(error) === '23505'
