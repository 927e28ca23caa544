import type { Db, Sql, TxSql } from './database.ts'

/**
 * Reads that may be some seconds old: from a replica, if one is close enough to the primary. A
 * caller may not see its own latest writes.
 */
export interface LateReads {
  /**
   * Whether there is a replica. Its answers may contain texts that have been erased since, so
   * readers' texts are read from the primary.
   */
  mayBeLate: boolean
  query: Sql
  /**
   * One read-only transaction. It sees everything that was committed before `asOf`. If it throws,
   * `work` may run again on another server.
   */
  transaction<T>(work: (sql: TxSql, asOf: Date) => Promise<T>): Promise<T>
}

/** `LateReads` on the database itself, which are never late. */
export const readNow = (db: Db): LateReads => ({
  mayBeLate: false,
  query: db.query,
  transaction: (work) => {
    const asOf = new Date()
    return db.transaction((sql) => work(sql, asOf))
  },
})
