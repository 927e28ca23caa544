// version.mjs <url>: prints the version of a PostgreSQL server.
import pg from 'pg'

const client = new pg.Client({ connectionString: process.argv[2] })
await client.connect()
const { rows } = await client.query('SHOW server_version')
console.log(`PostgreSQL ${rows[0].server_version}`)
await client.end()
