// The process in which `makeFiles` makes a database: its argument is the folder.
import { PGlite } from '@electric-sql/pglite'

import { overPGlite } from './embedded.ts'
import { migrate } from './migrate.ts'

process.on('disconnect', () => process.exit(1))
const database = await overPGlite(new PGlite(process.argv[2] ?? ''))
await database.exclusively(migrate)
await database.close()
process.exit(0)
