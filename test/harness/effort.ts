import { onServer } from './database.ts'

/**
 * The number of runs, steps or rows of a long test: all on PostgreSQL and Redis, a part of them on
 * the embedded defaults, so that local runs are short. TEST_EFFORT=full runs all there, too.
 */
export const effort = (full: number, part = Math.ceil(full / 4)): number =>
  onServer || process.env.TEST_EFFORT === 'full' ? full : part

/**
 * A property that is checked for so many milliseconds, in at least one complete run. fast-check's
 * own time limit fails a machine that is too busy for one run.
 */
export function forTime<Case>(ms: number, hold: (each: Case) => Promise<void>): (each: Case) => Promise<void> {
  let end: number | undefined
  return async (each) => {
    if (performance.now() > (end ?? Infinity)) return
    end ??= performance.now() + ms
    await hold(each)
  }
}
