import type pg from 'pg'

import { SettingsError } from '../../core/settings/settings.ts'
import type { UrlSetting } from './pooler.ts'
import { SESSION } from './session.ts'

/** A pooler decides on these: it ends idle sessions, and our transactions name their isolation. */
const NOT_OF_POOLED: readonly string[] = ['default_transaction_isolation', 'idle_session_timeout']

/**
 * Throws a SettingsError if a session lacks what the code depends on: a pooler may ignore it, and
 * could then serve a database or role that sets something else.
 */
export async function expectSession(client: pg.ClientBase, isPooled: boolean, setting: UrlSetting): Promise<void> {
  const expected = Object.entries({ ...SESSION, client_encoding: 'UTF8' }).filter(
    ([name]) => !isPooled || !NOT_OF_POOLED.includes(name),
  )
  const { rows } = await client.query<{ name: string; value: string }>(
    // A path may also name schemas that do not exist, as that of the role.
    `SELECT name, CASE name WHEN 'search_path' THEN array_to_string(current_schemas(false), ', ')
       ELSE current_setting(name) END AS value
     FROM unnest($1::text[]) AS name`,
    [expected.map(([name]) => name)],
  )
  const values = new Map(rows.map(({ name, value }) => [name, value]))
  for (const [name, value] of expected) {
    const actual = values.get(name)
    if (actual === value) continue
    const found = `its sessions have ${name} = ${JSON.stringify(actual)}, and a pooler keeps the service from setting it`
    const change = `run ALTER DATABASE … SET ${name} = ${quoted(value)}, or ALTER ROLE …, and restart the pooler`
    throw new SettingsError(`${setting}: ${found}: ${change}`)
  }
}

const quoted = (value: string): string => (/^\w+$/.test(value) ? value : `'${value}'`)
