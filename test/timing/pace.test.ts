import { setTimeout } from 'node:timers/promises'

import pg from 'pg'
import { describe, expect, onTestFinished, test, vi } from 'vitest'

import { Pace } from '../../src/core/queues/pace.ts'
import type { Db } from '../../src/core/database/database.ts'
import { openServer } from '../../src/data/server/server.ts'
import { createServerDatabase, onServer } from '../harness/database.ts'

const WORK_MS = 5
/** For less than this it may have slept without having rested: a timer is late at times. */
const RESTED_MS = WORK_MS * 15

/** A database that says how many statements of others are under way. */
const busy = (others: () => Promise<number>, connections = 4): Db =>
  ({ connections, query: async () => [{ others: await others() }] }) as unknown as Db

const work = (): void => {
  const until = performance.now() + WORK_MS
  while (performance.now() < until);
}

/** How long a slice takes from its start. */
async function timeOf(pace: Pace): Promise<number> {
  const beganAt = performance.now()
  await pace.slice(async () => work())
  return performance.now() - beganAt
}

const untilKnown = (pace: Pace, others: number): Promise<void> =>
  vi.waitFor(() => expect(pace.others).toBe(others), { timeout: 10_000, interval: 20 })

test('a job rests in proportion to the statements of others', async () => {
  const pace = new Pace(busy(async () => 1))
  await pace.keep(async () => {
    await untilKnown(pace, 1)
    expect(await timeOf(pace)).toBeGreaterThan(RESTED_MS)
  })
})

test('a job that is alone does not rest', async () => {
  let asked = 0
  const pace = new Pace(busy(async () => (asked++, 0)))
  await pace.keep(async () => {
    await vi.waitFor(() => expect(asked).toBeGreaterThan(1))
    let hasEnded = false
    void pace.slice(async () => work()).then(() => (hasEnded = true))
    // No timer has had a turn.
    for (let turn = 0; turn < 3; turn++) await Promise.resolve()
    expect(hasEnded).toBe(true)
  })
  const before = asked
  await setTimeout(120)
  expect(asked, 'asked after the job').toBe(before)
})

test('slices get shorter with the load, down to a thirty-second', async () => {
  let asked = 0
  let others: number | undefined
  const pace = new Pace(busy(async () => (++asked, others ?? (asked % 10 === 0 ? 1 : 0))))
  expect(pace.sized(4000)).toBe(4000)
  await pace.keep(async () => {
    // Two of the last twenty.
    await vi.waitFor(() => expect(asked).toBeGreaterThan(21), { timeout: 10_000, interval: 20 })
    expect(pace.others).toBe(0.1)
    expect(pace.sized(4000)).toBe(800)
    others = 3
    await untilKnown(pace, 3)
    expect(pace.sized(4000)).toBe(125)
    expect(pace.sized(3)).toBe(1)
  })
})

test('a job checks the load before it begins', async () => {
  const pace = new Pace(busy(async () => 1))
  await pace.keep(async () => expect(pace.sized(4000)).toBe(125))
})

test('several statements in one sample count', async () => {
  let asked = 0
  const pace = new Pace(busy(async () => (++asked === 2 ? 30 : 0)))
  await pace.keep(async () => {
    await vi.waitFor(() => expect(asked).toBeGreaterThan(6), { timeout: 10_000, interval: 20 })
    expect(pace.sized(4000)).toBe(125)
  })
})

test('a single statement in one sample does not count', async () => {
  let asked = 0
  const pace = new Pace(busy(async () => (++asked % 20 === 5 ? 1 : 0)))
  await pace.keep(async () => {
    await vi.waitFor(() => expect(asked).toBeGreaterThan(6), { timeout: 10_000, interval: 20 })
    expect(pace.others).toBe(0)
    expect(pace.sized(4000)).toBe(4000)
  })
})

test('a rest ends when the others end, and when the job is stopped', async () => {
  const sliceOf = async (pace: Pace): Promise<string> => {
    // It would rest for 9 s.
    await pace.slice(() => setTimeout(500))
    return 'ended'
  }
  let others = 1000
  const pace = new Pace(busy(async () => others))
  await pace.keep(async () => {
    await untilKnown(pace, 1000)
    const ended = sliceOf(pace)
    others = 0
    expect(await Promise.race([ended, setTimeout(6000, 'rests')])).toBe('ended')
  })
  const stop = new AbortController()
  const known = busy(async () => 1000)
  const stopped = new Pace(known, stop.signal)
  await stopped.keep(async () => {
    await untilKnown(stopped, 1000)
    const ended = sliceOf(stopped)
    stop.abort()
    expect(await Promise.race([ended, setTimeout(6000, 'rests')])).toBe('ended')
  })
})

test('a job rests for at most a minute, however long a slice has waited', async () => {
  const pace = new Pace(busy(async () => 1000))
  await pace.keep(async () => {
    await untilKnown(pace, 1000)
    const real = performance.now.bind(performance)
    let ahead = 0
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => real() + ahead)
    onTestFinished(() => clock.mockRestore())
    const ended = pace.slice(async () => {
      ahead = 60_000
      return 'ended'
    })
    await setTimeout(200)
    ahead += 60_000
    expect(await Promise.race([ended, setTimeout(5000, 'rests')])).toBe('ended')
  })
})

test('neither an outage of the database nor a failing job stops the pacing', async () => {
  const pace = new Pace(busy(() => Promise.reject(new Error('it is away'))))
  const failed = pace.keep(async () => {
    await setTimeout(120)
    expect(pace.others).toBe(0)
    await pace.slice(() => Promise.reject(new Error('of the job')))
  })
  await expect(failed).rejects.toThrow('of the job')
})

test('the embedded database is not sampled', async () => {
  const asked = vi.fn(async () => 1)
  await new Pace(busy(asked, 1)).keep(() => setTimeout(120))
  expect(asked).not.toHaveBeenCalled()
})

describe.runIf(onServer)('on a server', () => {
  /** Runs one statement after the other, each of `seconds`, until the test ends. */
  async function keepBusy(url: string, name: string, seconds: number): Promise<void> {
    const client = new pg.Client({ connectionString: url, application_name: name })
    await client.connect()
    const working = (async () => {
      for (;;) await client.query('SELECT pg_sleep($1)', [seconds])
    })()
    onTestFinished(async () => {
      // It does not wait for the statement under way.
      await client.end()
      await expect(working).rejects.toThrow('Connection terminated')
    })
  }

  async function paceOn(options = ''): Promise<{ url: string; pace: Pace }> {
    const { url, drop } = await createServerDatabase()
    onTestFinished(drop)
    const { db, close } = await openServer({ url: url + options, size: 2, name: 'the job', onError: () => undefined })
    onTestFinished(close)
    return { url, pace: new Pace(db) }
  }

  test('counts the statements of others', async () => {
    const { url, pace } = await paceOn()
    await keepBusy(url, 'a neighbour', 0.2)
    await keepBusy(url, 'another one', 0.2)
    await pace.keep(() => vi.waitFor(() => expect(pace.others).toBeGreaterThan(1.2), { timeout: 20_000 }))
  })

  test('distinguishes them from its own even if the URL gives both one name', async () => {
    const { url, pace } = await paceOn('?application_name=a%20neighbour')
    await keepBusy(url, 'a neighbour', 0.2)
    await pace.keep(() => vi.waitFor(() => expect(pace.others).toBeGreaterThan(0.5), { timeout: 20_000 }))
  })

  test('counts neither its own statements nor long ones nor those of other databases', async () => {
    const { url, pace } = await paceOn()
    const other = await createServerDatabase()
    onTestFinished(other.drop)
    await keepBusy(url, 'the job', 0.2)
    await keepBusy(url, 'a dump', 60)
    await keepBusy(other.url, 'a neighbour', 0.2)
    await setTimeout(1200)
    await pace.keep(() => setTimeout(1200))
    expect(pace.others).toBe(0)
  })
})
