/** Who waits for a batch, and with what. */
export interface BatchEntry<Input, Output> {
  input: Input
  resolve: (output: Output) => void
  reject: (error: unknown) => void
}

/**
 * Joins what comes at the same time: `atOnce` flushes are under way at most, and what arrives
 * meanwhile goes together in the next one, at most `max` at once; a lone one goes at once. `max`
 * may depend on what waits. `flush` resolves all of its batch; where it rejects, those of the batch
 * that still wait are rejected too.
 */
export function inBatches<Input, Output>(
  max: number | ((waiting: readonly BatchEntry<Input, Output>[]) => number),
  flush: (batch: readonly BatchEntry<Input, Output>[]) => Promise<void>,
  atOnce = 1,
): (input: Input) => Promise<Output> {
  const waiting: BatchEntry<Input, Output>[] = []
  let underWay = 0

  async function drain(): Promise<void> {
    underWay++
    while (waiting.length > 0) {
      const batch = waiting.splice(0, typeof max === 'number' ? max : max(waiting))
      await flush(batch).catch((error: unknown) => batch.forEach(({ reject }) => reject(error)))
    }
    underWay--
  }

  return (input) =>
    new Promise((resolve, reject) => {
      waiting.push({ input, resolve, reject })
      if (underWay < atOnce) void drain()
    })
}
