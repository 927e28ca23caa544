import { expect, test } from 'vitest'

import { overPGlite } from '../../src/data/embedded/embedded.ts'
import { lendPGlite, onServer } from '../harness/database.ts'
import { startService } from '../harness/service.ts'

// They say what the other tests rely on: the files of a worker share an embedded database.
const SKIPPED = onServer ? ' (skipped: of the embedded database)' : ''

const ROWS = `SELECT relname AS name, (xpath('/row/n/text()', query_to_xml(format('SELECT count(*) AS n FROM %I', relname),
    false, true, '')))[1]::text::int AS rows, reltuples::int AS guess
  FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY relname`
const SEQUENCES = 'SELECT last_value FROM pg_sequences'

/** A row that a worker writes once it has filled in the columns of a migration. */
const BACKFILL = "INSERT INTO backfills (name, completed_at) VALUES ('20990101000000_a_column', now())"

test.skipIf(onServer)(`a database that a service has used is lent again, as empty as before${SKIPPED}`, async () => {
  const { pglite, giveBack } = await lendPGlite()
  const stateOf = async () => [(await pglite.query(ROWS)).rows, (await pglite.query(SEQUENCES)).rows]
  const before = await stateOf()
  const service = await startService({ database: await overPGlite(pglite, giveBack) })
  const discussion = await service.call('POST', '/discussions', { body: { externalId: 'one' } })
  const comment = { headers: await service.as('a reader'), body: { body: 'A text' } }
  expect((await service.call('POST', `/discussions/${discussion.json.id}/comments`, comment)).status).toBe(201)
  await pglite.exec(BACKFILL)
  await service.close()
  const again = await lendPGlite()
  expect(again.pglite === pglite).toBe(true)
  expect(await stateOf()).toEqual(before)
  await again.giveBack()
})

test.skipIf(onServer)(`a database with another schema than before is not lent again${SKIPPED}`, async () => {
  const { pglite, giveBack } = await lendPGlite()
  await pglite.exec("ALTER TABLE comments ALTER COLUMN body SET DEFAULT 'none'")
  await giveBack()
  const other = await lendPGlite()
  expect(other.pglite === pglite).toBe(false)
  await other.giveBack()
})
