import { expect, test } from 'vitest'

import { sentinelsOf } from '../../src/core/settings/redis-url.ts'

const one = { host: 'one', port: 26_379 }
const two = { host: 'two', port: 5000 }

test.each([
  ['redis+sentinel://one/primary', { hosts: [one], name: 'primary', db: 0, isTls: false }],
  ['redis+sentinel://one, two:5000/primary/3', { hosts: [one, two], name: 'primary', db: 3, isTls: false }],
  [
    'rediss+sentinel://us%40er:p%2Fw@one,two:5000/primary?sentinel_password=s%26x',
    {
      hosts: [one, two],
      name: 'primary',
      username: 'us@er',
      password: 'p/w',
      sentinelPassword: 's&x',
      db: 0,
      isTls: true,
    },
  ],
  [
    'redis+sentinel://[::1]:26379/primary',
    { hosts: [{ host: '::1', port: 26_379 }], name: 'primary', db: 0, isTls: false },
  ],
  ['redis+sentinel://:pw@one/primary/1', { hosts: [one], name: 'primary', password: 'pw', db: 1, isTls: false }],
])('%s', (url, expected) => {
  expect(sentinelsOf(url)).toEqual(expected)
})

test.each([
  'redis://one/primary',
  'redis+sentinel://one',
  'redis+sentinel://one/',
  'redis+sentinel:///primary',
  'redis+sentinel://one:port/primary',
  'redis+sentinel://one/primary/last',
  'redis+sentinel://one,/primary',
  'redis+sentinel://:50%@one/primary',
  'redis+sentinel://:p@ss@one/primary',
  'redis+sentinel://one/primary?sentinel_pasword=x',
])('%s names no sentinels', (url) => {
  expect(sentinelsOf(url)).toBeNull()
})
