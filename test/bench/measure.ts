import { inTurns } from './figures.ts'
import { load, type LoadResult } from './load.ts'
import type { BenchProcess } from './scripts.ts'

/** Requests, and the process that they go to. */
export interface Side {
  process: Pick<BenchProcess, 'port' | 'cpuMs'>
  requests: readonly Buffer[]
}

interface How {
  connections: number
  seconds: number
  mayFail?: boolean
}

/** The rate, the times and the CPU of the process for a request. */
export async function measure({ process, requests }: Side, how: How): Promise<LoadResult & { cpuMicros: number }> {
  const before = process.cpuMs()
  const result = await load({ port: process.port, requests, ...how })
  return { ...result, cpuMicros: ((process.cpuMs() - before) * 1000) / result.answered }
}

/** The same of many sides, turn by turn. */
export const compare = <K extends string>(
  sides: Readonly<Record<K, Side>>,
  { rounds, warm = 1, ...how }: How & { rounds: number; warm?: number },
): Promise<Record<K, Awaited<ReturnType<typeof measure>>[]>> =>
  inTurns(sides, (side) => measure(side, how), { rounds, warm })

/** How often a second `one` is done, as often as it can be. */
export async function rateOf(one: () => Promise<unknown>, { connections, seconds }: How): Promise<number> {
  const started = performance.now()
  let done = 0
  const loop = async (): Promise<void> => {
    for (; performance.now() < started + seconds * 1000; done++) await one()
  }
  await Promise.all(Array.from({ length: connections }, loop))
  return (done * 1000) / (performance.now() - started)
}
