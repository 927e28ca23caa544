import { onServer } from './database.ts'

/**
 * How many runs, steps or rows a long test has: all on PostgreSQL and Redis, a part of them on the
 * embedded defaults, which everybody waits for. TEST_EFFORT=full has all there, too.
 */
export const effort = (full: number, part = Math.ceil(full / 4)): number =>
  onServer || process.env.TEST_EFFORT === 'full' ? full : part

/**
 * A property that is tried for so many milliseconds, however many runs that makes: one at least,
 * which comes to its end. A time limit of fast-check fails a machine that is too busy for one.
 */
export function forTime<Case>(ms: number, hold: (each: Case) => Promise<void>): (each: Case) => Promise<void> {
  let end: number | undefined
  return async (each) => {
    if (performance.now() > (end ?? Infinity)) return
    end ??= performance.now() + ms
    await hold(each)
  }
}
