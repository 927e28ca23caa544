import { onServer } from './database.ts'

/**
 * How many runs, steps or rows a long test has: all on PostgreSQL and Redis, a part of them on the
 * embedded defaults, which everybody waits for. TEST_EFFORT=full has all there, too.
 */
export const effort = (full: number, part = Math.ceil(full / 4)): number =>
  onServer || process.env.TEST_EFFORT === 'full' ? full : part
