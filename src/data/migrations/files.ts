import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { ROOT } from '../../core/process/root.ts'

export const PRISMA = join(ROOT, 'prisma')

/** One folder of `prisma/migrations`. */
export interface Migration {
  name: string
  /** `migration.sql`. */
  script: string
  /** `backfill.sql`, if there is one: a statement that workers run in batches. */
  backfill: string | null
  /** The migration whose backfill must be complete before this one: `-- after backfill NAME`. */
  after: string | null
}

/**
 * `<time>_contract_<time of a migration>` removes what releases with that migration no longer need.
 */
const CONTRACT = /^\d+_contract_(\d+)$/

/**
 * The time of the migration that a release must have to run beside this one; null if any release
 * can.
 */
export const contracted = (name: string): string | null => CONTRACT.exec(name)?.[1] ?? null

/** The migrations of a release, oldest first. */
export const readMigrations = (folder = join(PRISMA, 'migrations')): Migration[] =>
  readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => readMigration(folder, name))
    .sort((a, b) => (a.name < b.name ? -1 : 1))

function readMigration(folder: string, name: string): Migration {
  const file = (base: string): string => join(folder, name, base)
  const backfill = existsSync(file('backfill.sql')) ? readFileSync(file('backfill.sql'), 'utf8') : null
  return parseMigration(name, readFileSync(file('migration.sql'), 'utf8'), backfill)
}

export const parseMigration = (name: string, script: string, backfill: string | null = null): Migration => ({
  name,
  script,
  backfill,
  after: /^-- after backfill (\S+)$/m.exec(script)?.[1] ?? null,
})
