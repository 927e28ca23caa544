/** One caller's input in a batch, and how to answer that caller. */
export interface BatchEntry<Input, Output> {
  input: Input
  resolve: (output: Output) => void
  reject: (error: unknown) => void
}

interface Batching {
  /** How many flushes are under way at most; 1 by default. */
  atOnce?: number
  /** A flush that takes longer no longer counts as under way, so that it holds up no other. */
  patienceMs?: number
}

/**
 * Batches concurrent calls: one `flush` is under way at a time, or `atOnce`. Inputs that arrive
 * meanwhile go together into the next one, at most `max` at once; a lone one goes at once. `max`
 * may depend on the waiting inputs. `flush` must resolve every entry of its batch; if it rejects,
 * the entries that still wait are rejected too.
 */
export function inBatches<Input, Output>(
  max: number | ((waiting: readonly BatchEntry<Input, Output>[]) => number),
  flush: (batch: readonly BatchEntry<Input, Output>[]) => Promise<void>,
  { atOnce = 1, patienceMs }: Batching = {},
): (input: Input) => Promise<Output> {
  const waiting: BatchEntry<Input, Output>[] = []
  let underWay = 0

  async function drain(): Promise<void> {
    let counts = true
    underWay++
    const leave = (): void => {
      if (counts) underWay--
      counts = false
    }
    const giveWay = (): void => {
      leave()
      if (waiting.length > 0) void drain()
    }
    while (counts && waiting.length > 0) {
      const batch = waiting.splice(0, typeof max === 'number' ? max : max(waiting))
      const timer = patienceMs === undefined ? undefined : setTimeout(giveWay, patienceMs)
      await flush(batch).catch((error: unknown) => batch.forEach(({ reject }) => reject(error)))
      clearTimeout(timer)
    }
    leave()
  }

  return (input) =>
    new Promise((resolve, reject) => {
      waiting.push({ input, resolve, reject })
      if (underWay < atOnce) void drain()
    })
}
