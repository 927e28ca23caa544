/** Settings that PgBouncer takes from each client, and gives to the session that it lends. */
const TRACKED = { DateStyle: 'ISO, MDY', TimeZone: 'UTC', standard_conforming_strings: 'on' }

/**
 * What statements and the driver depend on. Databases and roles can have other values (ALTER
 * DATABASE … SET): dates in another style, for instance, could not be read. Each session gets these
 * as it begins, which costs no round trip.
 */
export const SESSION = {
  ...TRACKED,
  search_path: 'public',
  IntervalStyle: 'postgres',
  bytea_output: 'hex',
  extra_float_digits: '1',
  array_nulls: 'on',
  transform_null_equals: 'off',
  gin_fuzzy_search_limit: '0',
  default_transaction_isolation: 'read committed',
  default_transaction_deferrable: 'off',
  idle_session_timeout: '0',
}

type Session = Readonly<Record<string, string>>

/** What a connection asks for as it begins. PgBouncer refuses all but what it tracks. */
export const sessionFor = (isPooled: boolean): Session => (isPooled ? TRACKED : SESSION)
