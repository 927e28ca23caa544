import { DriverAdapterError, type SqlMigrationAwareDriverAdapterFactory } from '@prisma/driver-adapter-utils'

type Factory = SqlMigrationAwareDriverAdapterFactory

// The engine notes a migration before its script and marks it as finished after it. A process that dies in between
// would leave one of which nobody knows whether it was applied; so the script itself marks it, in its own transaction.
const MARK_FINISHED = `DO $$ BEGIN
  IF to_regclass('_prisma_migrations') IS NOT NULL THEN
    UPDATE _prisma_migrations SET finished_at = now(), applied_steps_count = 1
    WHERE finished_at IS NULL AND rolled_back_at IS NULL;
  END IF;
END $$;`

const FORGET_UNFINISHED = `DO $$ BEGIN
  IF to_regclass('_prisma_migrations') IS NOT NULL THEN
    DELETE FROM _prisma_migrations WHERE finished_at IS NULL AND rolled_back_at IS NULL;
  END IF;
END $$;`

/**
 * The same adapter, on which a script is one transaction: a migration is applied and marked, or not at all. Prisma's own
 * for pg cuts a script at each semicolon, also in a comment or a function; the one for PGlite does not wait for its end.
 * `run` sends a text of several statements as it is.
 */
export const wholeScripts = (factory: Factory, run: (script: string) => Promise<unknown>): Factory => ({
  provider: factory.provider,
  adapterName: factory.adapterName,
  connect: async () => {
    const executeScript = async (script: string): Promise<void> =>
      void (await run(`${script}\n;${MARK_FINISHED}`).catch(explain))
    return Object.assign(await factory.connect(), { executeScript })
  },
  connectToShadowDb: () => factory.connectToShadowDb(),
})

/** The only form in which the engine shows what was wrong. */
function explain(error: unknown): never {
  const { message, code = 'XX000' } = error as Error & { code?: string }
  const nothing = { detail: undefined, column: undefined, hint: undefined }
  throw new DriverAdapterError({ kind: 'postgres', code, severity: 'ERROR', message, ...nothing })
}

/** Drops the note of a migration whose process died: its script was rolled back. The caller keeps other processes out. */
export async function forgetUnfinished(factory: Factory): Promise<void> {
  const connection = await factory.connect()
  await connection.executeScript(FORGET_UNFINISHED)
}
