/**
 * Why a database cannot do its work. `down`: it does not answer. `standby`: it follows another
 * server. `read_only`: it takes no writes. `unreplicated`: its commits wait for a standby that is
 * away. `full`: its disk is full. `busy`: this statement had to give up; a retry may succeed.
 */
export type Trouble = Outage | 'busy'

/** Troubles that affect all statements, or all writes. */
export type Outage = keyof typeof OUTAGES

export const OUTAGES = {
  down: 'the database does not answer',
  standby: 'the database server is a standby',
  read_only: 'the database is read-only',
  unreplicated: 'commits of the database wait for a synchronous standby that is away',
  full: 'the database is out of disk space',
} as const

/** A statement was not sent, because the database is known to be in trouble. */
export class OutageError extends Error {
  readonly outage: Outage

  constructor(outage: Outage) {
    super(OUTAGES[outage])
    this.outage = outage
  }
}

// SQLSTATEs of https://www.postgresql.org/docs/current/errcodes-appendix.html, and codes of sockets
// and of Prisma. Class 08: connection exception. 57P01 to 57P05: the server ends the session.
// 25P03: it was idle in a transaction.
const DOWN =
  /^(08\w{3}|57P0[1-5]|25P03|ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|P1001|P1002|P1017|P2024)$/
// 40001, 40P01: a lost race, a deadlock. 57014: statement_timeout. 55P03: lock_timeout. 53200:
// memory. 53300: connections.
const BUSY = /^(40001|40P01|57014|55P03|53200|53300)$/
// The last three: requests that were still under way when a stopping process closed its clients.
const DOWN_WORDS =
  /Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|Client was closed|timeout expired|Cannot use a pool after calling end|PGlite is closed/

/**
 * The SQLSTATE of a database error, or the driver's or Prisma's own code. Prisma has codes for few
 * of them, and keeps the database's code beside its own.
 */
export function codeOf(error: Error): unknown {
  const { code, meta } = error as {
    code?: unknown
    meta?: { driverAdapterError?: { cause?: { originalCode?: unknown } } }
  }
  return meta?.driverAdapterError?.cause?.originalCode ?? code
}

/**
 * The trouble that an error of the database, its driver or its connection shows; null where it
 * shows none.
 */
export function troubleOf(error: unknown): Trouble | null {
  if (!(error instanceof Error)) return null
  if (error instanceof OutageError) return error.outage
  const code = codeOf(error)
  const { severity } = error as { severity?: unknown }
  if (code === '25006') return 'read_only'
  if (code === '53100') return 'full'
  if (typeof code === 'string' && BUSY.test(code)) return 'busy'
  // FATAL and PANIC end the session whatever the code, for instance in a database that takes no
  // connections. A server may translate the words, so that the codes above and below decide first
  // once a session has begun (`Connection`).
  if (severity === 'FATAL' || severity === 'PANIC') return 'down'
  if (typeof code === 'string' && DOWN.test(code)) return 'down'
  return DOWN_WORDS.test(error.message) ? 'down' : troubleOf(error.cause)
}

/** Errors of an outage that the log has already reported. */
const told = new WeakSet<Error>()

export function markTold(error: unknown): void {
  if (error instanceof Error) told.add(error)
}

/** Whether an error comes from an outage that the log has already reported. */
export function isTold(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { originalError } = error as { originalError?: unknown }
  return told.has(error) || isTold(error.cause) || isTold(originalError) || isToldOfPrisma(error)
}

/**
 * Prisma throws an error of its own, which does not hold the driver's. The driver's has been
 * reported by then (`PrismaOver`).
 */
function isToldOfPrisma(error: Error): boolean {
  if (!('clientVersion' in error)) return false
  const trouble = troubleOf(error)
  return trouble !== null && trouble !== 'busy'
}
