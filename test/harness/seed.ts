import * as fc from 'fast-check'

/**
 * The seed of all random cases: the same in each run, so that no run fails by luck. The full
 * suite draws one for each run, and prints it: `TEST_SEED=…` runs its cases again.
 */
export const SEED = Number(process.env.TEST_SEED ?? 1)

fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: SEED })
