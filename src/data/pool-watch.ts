import type pg from 'pg'

/** Statistics of a pool's connections. */
export interface PoolWatch {
  max: number
  idle(): number
  inUse(): number
  /** How many statements and transactions wait for a connection. */
  waiting(): number
  /** Calls `listener` with the milliseconds that each has waited. */
  onWait(listener: (ms: number) => void): void
}

type Callback = Parameters<pg.Pool['connect']>[0]

/** Watches a pool. It times `connect`, which the pool's own `query` uses as well. */
export function watchPool(pool: pg.Pool): PoolWatch {
  let onWaited: ((ms: number) => void) | undefined
  const connect = pool.connect.bind(pool)
  const timed = (callback?: Callback): Promise<pg.PoolClient> | void => {
    const since = performance.now()
    const over = (): void => onWaited?.(performance.now() - since)
    if (callback === undefined) {
      const connected = connect()
      connected.then(over, over)
      return connected
    }
    connect((...args) => {
      over()
      callback(...args)
    })
  }
  pool.connect = timed as pg.Pool['connect']
  return {
    max: pool.options.max,
    idle: () => pool.idleCount,
    inUse: () => pool.totalCount - pool.idleCount,
    waiting: () => pool.waitingCount,
    onWait: (listener) => void (onWaited = listener),
  }
}
