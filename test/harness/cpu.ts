/**
 * Begins to count the CPU time of this process; the result tells the microseconds since. Other work
 * on the machine does not count.
 */
export function countCpu(): () => number {
  const before = process.cpuUsage()
  return () => {
    const { user, system } = process.cpuUsage(before)
    return user + system
  }
}

/** The same by the clock. */
export function countTime(): () => number {
  const before = performance.now()
  return () => (performance.now() - before) * 1000
}
