// A process to kill: upgrades the database of UPGRADE_URL to the release after this one, and says
// when it is done.
import { upgrade } from '../../src/data/migrations/migrate.ts'
import { openServer } from '../../src/data/server/server.ts'
import { SILENT } from './log.ts'
import { NEXT_RELEASE } from './releases.ts'

process.on('disconnect', () => process.exit(1))
const database = await openServer({ url: process.env.UPGRADE_URL ?? '', size: 2, onError: () => undefined })
await upgrade(database, SILENT, NEXT_RELEASE)
await database.close()
process.exit()
