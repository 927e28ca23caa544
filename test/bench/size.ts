import { setTimeout } from 'node:timers/promises'

const { BENCH_SIZE: size = 'full' } = process.env
if (size !== 'full' && size !== 'smallest') throw new Error(`BENCH_SIZE is ${size}: it may be full or smallest`)

/** At the smallest size a bench shows only that it works: its figures say nothing. */
export const isSmallest = size === 'smallest'

/** Gives a bench its size. */
export const sized = (full: number, smallest: number): number => (isSmallest ? smallest : full)

/** What a bench needs and this machine lacks: it is skipped. */
export class NotHere extends Error {}

/** Says that a part of a bench is skipped. */
export function skip(what: string): null {
  console.log(`skipped: ${what} is not here`)
  return null
}

/** Handles the error of a program that could not be started. */
export const missing =
  (name: string) =>
  (error: unknown): never => {
    throw error instanceof Error && 'code' in error && error.code === 'ENOENT' ? new NotHere(name) : error
  }

/** Waits until processes are quiet, which takes less at the smallest size. */
export const pause = (ms: number): Promise<void> => setTimeout(sized(ms, ms / 10))
