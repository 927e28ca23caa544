import { ServiceError } from '../../core/errors.ts'

/** The record of the asserted reader was erased between its look-up and the write. */
export class ReaderGone extends ServiceError {
  constructor() {
    super('unavailable', { detail: 'The record of the reader is being erased.', retryAfterSeconds: 1 })
  }
}

const FOREIGN_KEY_VIOLATION = '23503'
const TO_READERS = /_(author|reader)_id_fkey$/

/**
 * Whether a write failed because its reader is gone. A statement that found the record and then
 * waited for a lock fails at the foreign key instead.
 */
export function isReaderGone(error: unknown): boolean {
  if (error instanceof ReaderGone) return true
  const { code, constraint } = (error ?? {}) as { code?: unknown; constraint?: unknown }
  return code === FOREIGN_KEY_VIOLATION && typeof constraint === 'string' && TO_READERS.test(constraint)
}
