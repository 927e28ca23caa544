import { describe, expect, onTestFinished, test, vi } from 'vitest'

import { openBackfills } from '../../src/data/migrations/backfills.ts'
import { upgrade } from '../../src/data/migrations/migrate.ts'
import { onServer } from '../harness/database.ts'
import { SILENT } from '../harness/log.ts'
import { NEXT_RELEASE } from '../harness/releases.ts'
import { startUpgrade } from '../harness/upgrade-process.ts'
import { holdComments, LAST_COMMENT, oneRow, openFilledTwice, rulesOf, UPGRADED } from '../harness/filled-databases.ts'

/** A process of a busy machine takes long to start. */
const WAIT = { timeout: 120_000, interval: 10 }

describe.skipIf(!onServer)(`on a server${onServer ? '' : ' (skipped: needs DATABASE_URL)'}`, () => {
  const startOwnUpgrade = (url: string): ReturnType<typeof startUpgrade> => {
    const upgrading = startUpgrade(url)
    onTestFinished(upgrading.kill)
    return upgrading
  }

  test.each([
    ['the server goes on with it', false],
    ['the server gives it up', true],
  ])('kill -9 in the middle of a concurrent index build, and %s: the next start completes it', async (_, isGivenUp) => {
    const { url, database, other } = await openFilledTwice(10)
    await upgrade(database, SILENT, NEXT_RELEASE.slice(0, -1))
    const letGo = await holdComments(other)
    const process = startOwnUpgrade(url)
    const builder = () =>
      oneRow<{ pid: number }>(
        database,
        'SELECT pid FROM pg_stat_progress_create_index WHERE datname = current_database() AND index_relid <> 0',
      )
    await vi.waitFor(async () => expect(await builder()).toBeDefined(), WAIT)
    await process.kill()
    if (isGivenUp) await oneRow(database, `SELECT pg_terminate_backend(${(await builder())?.pid}, 5000)`)
    const upgraded = upgrade(database, SILENT, NEXT_RELEASE)
    await letGo()
    await upgraded
    expect(await rulesOf(database)).toEqual(UPGRADED)
  })

  test('kill -9 in the middle of a backfill: the next start continues, and handles each row once', async () => {
    const rows = 1000
    const { url, database, other } = await openFilledTwice(rows)
    const expand = NEXT_RELEASE.findLastIndex(({ backfill }) => backfill !== null)
    await upgrade(database, SILENT, NEXT_RELEASE.slice(0, expand + 1))
    // Its last batch does not end before the process is killed.
    const letGo = await holdComments(other, LAST_COMMENT)
    const process = startOwnUpgrade(url)
    const changed = async (): Promise<number> =>
      (await openBackfills(database.db.query).catch(() => []))[0]?.changed ?? 0
    await vi.waitFor(async () => expect(await changed()).toBeGreaterThan(0), WAIT)
    await process.kill()
    expect(await changed()).toBeLessThan(2 * rows)
    await letGo()
    await upgrade(database, SILENT, NEXT_RELEASE)
    expect(await rulesOf(database)).toEqual(UPGRADED)
    expect(await oneRow(database, 'SELECT changed::int FROM backfills ORDER BY name DESC')).toEqual({
      changed: 2 * rows,
    })
  })
})
