import { join } from 'node:path'

import sqlite from 'node-sqlite3-wasm'

/** An export of another program, made by hand. */
export const fixture = (name: string): string => join(import.meta.dirname, '../fixtures/transfer', name)

/** A database as Isso 0.13 makes it. */
export function makeIssoDatabase(path: string): string {
  const database = new sqlite.Database(path)
  database.exec(`
    CREATE TABLE preferences (key VARCHAR PRIMARY KEY, value VARCHAR);
    CREATE TABLE threads (id INTEGER PRIMARY KEY, uri VARCHAR(256) UNIQUE, title VARCHAR(256));
    CREATE TABLE comments (
      tid REFERENCES threads(id), id INTEGER PRIMARY KEY, parent INTEGER, created FLOAT NOT NULL, modified FLOAT,
      mode INTEGER, remote_addr VARCHAR, text VARCHAR, author VARCHAR, email VARCHAR, website VARCHAR,
      likes INTEGER DEFAULT 0, dislikes INTEGER DEFAULT 0, voters BLOB NOT NULL, notification INTEGER NOT NULL DEFAULT 0
    );
    INSERT INTO threads VALUES (1, '/2020/harbour/', 'Boats & bridges'), (2, '/2020/tram/', NULL);
  `)
  const insert = database.prepare(`
    INSERT INTO comments (tid, id, parent, created, modified, mode, remote_addr, text, author, email, website, likes,
      dislikes, voters) VALUES (?, ?, ?, ?, ?, ?, '198.51.100.0', ?, ?, ?, ?, ?, ?, x'0001')
  `)
  const nine = Date.UTC(2020, 2, 1, 9) / 1000
  const rows = [
    [
      1,
      1,
      null,
      nine + 0.25,
      nine + 300,
      1,
      'I like *boats*\nin two lines',
      'Ann',
      'ann@reader.example',
      'https://ann.example',
      3,
      1,
    ],
    [
      1,
      2,
      1,
      nine + 600,
      null,
      2,
      '<b>Raw</b> HTML',
      'Ben &amp; &lt;Bo&gt;',
      null,
      'https://ben.example/?a=1&amp;b=2',
      0,
      0,
    ],
    [1, 3, 1, nine + 700, nine + 900, 4, '', null, 'cem@reader.example', null, 0, 0],
    [1, 4, 3, nine + 800, null, 1, 'A reply to what is gone', null, null, null, 0, 0],
    [2, 5, null, 0, null, 1, 'When?', 'Late', null, null, 0, 0],
  ]
  for (const row of rows) insert.run(row)
  insert.finalize()
  database.close()
  return path
}
