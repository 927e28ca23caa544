import pg from 'pg'
import { expect, test } from 'vitest'

import { ServiceError } from '../../src/core/errors.ts'
import { createLog } from '../../src/core/log.ts'
import { toServiceError } from '../../src/graphql/errors.ts'

const log = createLog('silent')

test('a request that outlives the database pool is told unavailable, not internal', async () => {
  const pool = new pg.Pool()
  await pool.end()
  const error: unknown = await pool.query('SELECT 1').catch((cause: unknown) => cause)
  expect(toServiceError(error, log).code).toBe('unavailable')
})

test.each(['08006', '57P01', '40P01', '40001', 'ECONNREFUSED'])('the code %s is unavailable', (code) => {
  expect(toServiceError(Object.assign(new Error('x'), { code }), log).code).toBe('unavailable')
})

test('anything else is internal, and says nothing of its cause', () => {
  const refusal = toServiceError(new Error('relation "secrets" does not exist'), log)
  expect(refusal).toBeInstanceOf(ServiceError)
  expect([refusal.code, refusal.message]).toEqual(['internal', 'Something went wrong on our side'])
})
