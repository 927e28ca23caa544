// Not by `database.ts`, which loads the whole database layer.
const isOnServer = (process.env.DATABASE_URL ?? '') !== ''

/**
 * The number of runs, steps or rows of a long test: all on PostgreSQL and Redis, a part of them on
 * the embedded defaults, so that local runs are short. TEST_EFFORT=full runs all there, too.
 */
export const effort = (full: number, part = Math.ceil(full / 4)): number =>
  isOnServer || process.env.TEST_EFFORT === 'full' ? full : part
