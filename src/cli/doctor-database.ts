import { accessSync, constants, existsSync } from 'node:fs'
import { dirname, resolve as absolute } from 'node:path'

import type { SealKeys } from '../core/secrets/seals.ts'
import type { Settings } from '../core/settings/settings.ts'
import type { Sql } from '../core/database/database.ts'
import { statement } from '../core/database/statements.ts'
import { counted } from '../core/input/texts.ts'
import { openBackfills } from '../data/migrations/backfills.ts'
import type { Database } from '../data/database.ts'
import { expectOwnDatabase, openCopy } from '../data/embedded/embedded.ts'
import { holderOf } from '../data/embedded/folder-lock.ts'
import { askHosts, type HostAnswer } from '../data/server/hosts.ts'
import { compareMigrations, explainForeign } from '../data/migrations/migrate.ts'
import { explainUnfinished } from '../data/migrations/failures.ts'
import { cannotOpen, openReplica, serverOptions } from '../data/open.ts'
import { isStandbyOf } from '../data/server/replica.ts'
import { openServer } from '../data/server/server.ts'
import { findKeyUse, missingKeysText } from '../domains/encryption-keys/reseal.ts'
import { fail, type Finding, ok, reasonOf, warn } from './finding.ts'

const MIN_POSTGRES = 15
const MAX_CLOCK_DIFFERENCE_MS = 2000

export function dataDirFinding(dataDir: string): Finding {
  const folder = absolute(dataDir)
  try {
    expectOwnDatabase(folder, true)
  } catch (error) {
    return fail('data', error instanceof Error ? error.message : String(error))
  }
  let place = folder
  while (!existsSync(place) && dirname(place) !== place) place = dirname(place)
  try {
    accessSync(place, constants.R_OK | constants.W_OK | constants.X_OK)
    return ok('data', `${folder} ${place === folder ? 'can be written' : 'can be made'}`)
  } catch {
    return fail('data', `DATA_DIR: ${place} cannot be written: give this user the right, or name another folder`)
  }
}

export async function databaseFindings(settings: Settings, hasSecrets: boolean): Promise<Finding[]> {
  let database: Database | null
  try {
    const options = serverOptions(settings)
    database =
      options === null
        ? await openUnheldCopy(settings.DATA_DIR)
        : await openServer({ ...options, size: 1, onError: () => undefined })
  } catch (error) {
    if (error instanceof HeldError)
      return [warn('database', `${error.message}: stop it, and run this again to check the database`)]
    return [
      fail('database', cannotOpen(settings.DATABASE_URL === undefined ? 'DATA_DIR' : 'DATABASE_URL', error).message),
    ]
  }
  if (database === null) return [ok('database', 'embedded, none yet: the first start makes it')]
  try {
    const { query } = database.db
    return [
      ...(await serverFindings(query, settings)),
      await clockFinding(query),
      await migrationFinding(query),
      await encryptionFinding(query, settings, hasSecrets),
      ...(await poolerFindings(query, settings)),
      ...(await replicaFindings(query, settings)),
    ]
  } catch (error) {
    return [fail('database', `a query failed (${reasonOf(error)}): look at the database's log`)]
  } finally {
    await database.close()
  }
}

/** Each host of a URL that names several, and whether more than one takes writes. */
export async function hostFindings(settings: Settings): Promise<Finding[]> {
  const { connectMs = 0 } = serverOptions(settings)?.deadlines ?? {}
  const findings = (['DATABASE_URL', 'DATABASE_DIRECT_URL'] as const).map(async (setting) => {
    const hosts = await askHosts(settings[setting] ?? '', connectMs)
    if (hosts.length < 2) return []
    // By start time: several names may lead to one server, and so may several poolers.
    const primaries = new Map(
      hosts.flatMap(({ host, answer }) =>
        answer.is === 'writable' ? [[`${answer.system} ${answer.startedAt}`, { host, ...answer }]] : [],
      ),
    )
    const systems = new Set([...primaries.values()].map(({ system }) => system))
    const found = hosts.map(({ host, answer }) => hostFinding(host, answer, systems))
    if (primaries.size < 2) return found
    const names = [...primaries.values()].map(({ host }) => host).join(' and ')
    const what =
      systems.size > 1 ? 'different database servers' : 'a split brain: what is written to one is not on the other'
    const text = `${setting}: ${names} both take writes: ${what}. Stop all but the right one`
    return [...found, fail('hosts', text)]
  })
  return (await Promise.all(findings)).flat()
}

function hostFinding(host: string, answer: HostAnswer, primaries: ReadonlySet<string>): Finding {
  switch (answer.is) {
    case 'writable':
      return ok('host', `${host} takes writes`)
    case 'read_only':
      return warn('host', `${host} takes no writes, and is no standby: look at its default_transaction_read_only`)
    case 'standby':
      if (primaries.size === 0 || primaries.has(answer.system)) return ok('host', `${host} is a standby`)
      return fail('host', `${host} is a standby of another server: take it out of the URL`)
    case 'no_postgres':
      return fail('host', `${host} is another program, not PostgreSQL: look at the address and the port`)
    case 'refusing':
      return warn('host', `${host} answers, but lets nobody in (${answer.reason})`)
    case 'silent':
      return warn('host', `${host} does not answer (${answer.reason}): start it, or take it out of the URL`)
  }
}

/** A running service has locked the data folder. */
class HeldError extends Error {}

/**
 * Opens a copy of the embedded database without its lock, which would make a starting service fail.
 * Instead it checks before and after that no service holds the lock.
 */
async function openUnheldCopy(dataDir: string): Promise<Database | null> {
  refuseHeld(dataDir)
  const copy = await openCopy(dataDir).catch((error: unknown) => {
    refuseHeld(dataDir)
    throw error
  })
  try {
    refuseHeld(dataDir)
    return copy
  } catch (error) {
    await copy?.close()
    throw error
  }
}

function refuseHeld(dataDir: string): void {
  const holder = holderOf(dataDir)
  if (holder !== null) throw new HeldError(`${holder} has the embedded database open`)
}

const SERVER = statement(
  'doctor_server',
  `SELECT current_setting('server_version_num')::int AS version,
     current_setting('transaction_read_only') = 'on' AS "isReadOnly",
     current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int AS connections,
     host(inet_server_addr()) || ':' || inet_server_port() AS address`,
)

interface Server {
  version: number
  isReadOnly: boolean
  /** The server's limit. */
  connections: number
  /** Null if it is reached through a socket of this machine. */
  address: string | null
}

const PLACE = statement(
  'doctor_place',
  `SELECT coalesce(has_schema_privilege(current_schema(), 'CREATE'), false) AS "mayCreate",
     to_regclass('_prisma_migrations') IS NULL
       AND EXISTS (SELECT FROM pg_tables WHERE schemaname = current_schema()) AS "isForeign"`,
)
const CLOCK = statement('doctor_clock', 'SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS ms')

async function serverFindings(sql: Sql, settings: Settings): Promise<Finding[]> {
  const [server] = await sql<Server>(SERVER)
  if (server === undefined) return []
  const { isReadOnly, connections, address } = server
  const version = Math.floor(server.version / 10_000)
  const isEmbedded = settings.DATABASE_URL === undefined
  const name = `${isEmbedded ? 'embedded ' : ''}PostgreSQL ${version}${address === null ? '' : ` at ${address}`}`
  if (version < MIN_POSTGRES) return [fail('database', `is ${name}: upgrade it to ${MIN_POSTGRES} or newer`)]
  if (isReadOnly) return [fail('database', `${name} takes no writes: look at its default_transaction_read_only`)]
  const { WORKERS, ROLE, DATABASE_POOL_SIZE, DATABASE_POOLER } = settings
  const processes = WORKERS === 1 || ROLE === 'worker' ? 1 : WORKERS + (ROLE === 'all' ? 1 : 0)
  const wanted = processes * (DATABASE_POOL_SIZE + 1)
  // Behind a pooler these are connections to the pooler.
  if (isEmbedded || DATABASE_POOLER === 'transaction' || wanted <= connections)
    return [ok('database', `${name} answers`)]
  return [
    warn(
      'database',
      `${name} answers, and takes ${connections} connections; this start may open ${wanted}: raise its max_connections, or lower DATABASE_POOL_SIZE or WORKERS`,
    ),
  ]
}

async function clockFinding(sql: Sql): Promise<Finding> {
  const before = Date.now()
  const theirs = (await sql<{ ms: number }>(CLOCK))[0]?.ms ?? 0
  const differenceMs = Math.round(theirs - (before + Date.now()) / 2)
  if (Math.abs(differenceMs) < MAX_CLOCK_DIFFERENCE_MS) return ok('clock', "agrees with the database's")
  return fail(
    'clock',
    `is ${Math.abs(differenceMs)} ms ${differenceMs > 0 ? 'behind' : 'ahead of'} the database's: run NTP on both`,
  )
}

async function migrationFinding(sql: Sql): Promise<Finding> {
  const { missing, newer, foreign } = await compareMigrations(sql)
  if (foreign.length > 0) return fail('migrations', explainForeign(foreign))
  const unfinished = await explainUnfinished(sql)
  if (unfinished !== null) return (missing.length > 0 ? fail : warn)('migrations', unfinished)
  if (missing.length > 0) {
    const [place] = await sql<{ mayCreate: boolean; isForeign: boolean }>(PLACE)
    if (place?.mayCreate === false) {
      return fail('migrations', 'this role may create no tables: run GRANT CREATE ON SCHEMA public TO its name')
    }
    if (place?.isForeign === true) {
      return fail('migrations', 'the database has tables, but none of this service: use an empty database')
    }
    return warn('migrations', `${missing.length} to come: the next start applies them`)
  }
  const open = await openBackfills(sql)
  if (open.length === 0) {
    return ok('migrations', newer.length === 0 ? 'all applied' : `all applied, and ${newer.length} of a newer release`)
  }
  const progress = open.map(({ name, changed }) => `${name} (${counted(changed, 'row')} so far)`).join(', ')
  return warn(
    'migrations',
    `all applied; backfills go on: ${progress}. Workers of the release that has them do them: keep one running`,
  )
}

async function encryptionFinding(sql: Sql, keys: SealKeys, hasSecrets: boolean): Promise<Finding> {
  if (!hasSecrets)
    return fail('encryption', 'DATA_DIR: secrets.json is gone: restore it from a backup, or set ENCRYPTION_KEY')
  const use = await findKeyUse(sql, keys).catch((error: unknown) => {
    if ((error as { code?: unknown }).code === '42P01') return null
    throw error
  })
  if (use === null) return ok('encryption', 'no secret is stored yet')
  if (use.missingKeys.length > 0) return fail('encryption', missingKeysText(use.missingKeys))
  const [old] = use.oldKeys.filter(({ secrets }) => secrets > 0)
  if (old !== undefined) {
    return warn(
      'encryption',
      `${counted(old.secrets, 'secret is', 'secrets are')} sealed with the old key ${old.key}: run cli secrets reseal`,
    )
  }
  return ok('encryption', 'the encryption key opens what is stored')
}

const LIMIT = statement(
  'doctor_limit',
  `SELECT current_setting('statement_timeout') <> '0' AS "isLimited", current_user::text AS role`,
)
const IDENTITY = statement(
  'doctor_identity',
  'SELECT system_identifier::text AS server, current_database()::text AS database FROM pg_control_system()',
)

async function poolerFindings(sql: Sql, settings: Settings): Promise<Finding[]> {
  const options = serverOptions(settings)
  if (options?.directUrl === undefined) return []
  const { directUrl: url, deadlines, isPooled } = options
  const findings: Finding[] = []
  if (isPooled === true) {
    const [{ isLimited, role } = { isLimited: false, role: '' }] = await sql<{ isLimited: boolean; role: string }>(
      LIMIT,
    )
    findings.push(
      isLimited
        ? ok('pooler', 'the role has a statement_timeout of its own')
        : warn('pooler', `the server ends no long read: run ALTER ROLE "${role}" SET statement_timeout = '10s'`),
    )
  }
  try {
    const direct = await openServer({
      url,
      deadlines,
      setting: 'DATABASE_DIRECT_URL',
      size: 1,
      onError: () => undefined,
    })
    try {
      const [[here], [there]] = await Promise.all([sql<object>(IDENTITY), direct.db.query<object>(IDENTITY)])
      const isSame = JSON.stringify(here) === JSON.stringify(there)
      const text = 'DATABASE_DIRECT_URL: leads to another database than DATABASE_URL: give both the same one'
      findings.push(isSame ? ok('direct', 'leads to the same database, past the pooler') : fail('direct', text))
    } finally {
      await direct.close()
    }
  } catch (error) {
    findings.push(fail('direct', cannotOpen('DATABASE_DIRECT_URL', error).message))
  }
  return findings
}

async function replicaFindings(sql: Sql, settings: Settings): Promise<Finding[]> {
  const replica = await openReplica(settings)
  if (replica === null) return []
  try {
    if (await isStandbyOf(replica.probe.sql, sql)) return [ok('replica', 'is a standby of the database')]
    return [fail('replica', 'DATABASE_REPLICA_URL: leads to no standby of the database: name one, or unset it')]
  } catch (error) {
    const text = `DATABASE_REPLICA_URL: does not answer (${reasonOf(error)}): is it there, and are these its credentials?`
    return [fail('replica', text)]
  } finally {
    await replica.close()
  }
}
