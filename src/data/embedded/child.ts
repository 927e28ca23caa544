// The process in which `makeFiles` creates a database; its argument is the folder.
import { newPGlite, overPGlite } from './embedded.ts'
import { migrate } from '../migrations/migrate.ts'

process.on('disconnect', () => process.exit(1))

async function makeDatabase(folder: string): Promise<void> {
  const pglite = await newPGlite(folder)
  const database = await overPGlite(pglite)
  await database.exclusively(migrate)
  // PostgreSQL's template databases are half of the files, and this server never creates another
  // database.
  await pglite.exec('UPDATE pg_database SET datistemplate = false')
  for (const name of ['template0', 'template1']) await pglite.exec(`DROP DATABASE ${name}`)
  // The log of the migrations is removed as well.
  await pglite.exec('SET wal_recycle = off')
  await pglite.exec('SELECT pg_switch_wal()')
  await pglite.exec('CHECKPOINT')
  await database.close()
  process.exit(0)
}

void makeDatabase(process.argv[2] ?? '')
