import { expect, test } from 'vitest'

import { databaseHosts } from '../../src/core/settings/database-url.ts'

test.each([
  ['postgres://u:p@one:5433/name?sslmode=require', ['postgres://u:p@one:5433/name?sslmode=require']],
  ['postgresql://one,two:6000/name', ['postgresql://one/name', 'postgresql://two:6000/name']],
  ['postgres://u@one, two/name?target_session_attrs=read-write', ['postgres://u@one/name', 'postgres://u@two/name']],
  ['postgres:///name?host=/run/postgresql', ['postgres:///name?host=/run/postgresql']],
])('%s', (url, hosts) => {
  expect(databaseHosts(url)?.map(({ href }) => href)).toEqual(hosts)
})

test.each([
  'mysql://one/name',
  'postgres://one/name,two',
  'postgres://u:secret@one/name,postgres://u:secret@two/name',
  'postgres://one:port/name',
  'postgres://one/name?target_session_attrs=standby',
])('%s names no hosts', (url) => {
  expect(databaseHosts(url)).toBeNull()
})
