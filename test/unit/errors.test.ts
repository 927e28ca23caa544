import { GraphQLInt, specifiedScalarTypes } from 'graphql'
import pg from 'pg'
import { expect, test } from 'vitest'
import { z } from 'zod'

import { PROBLEMS } from '../../src/clients/backend/problems.ts'
import { type ErrorCode, ERRORS } from '../../src/core/error-table.ts'
import { problemOf, ServiceError } from '../../src/core/errors.ts'
import { createLog } from '../../src/core/telemetry/log.ts'
import { validate } from '../../src/core/input/validate.ts'
import { toServiceError } from '../../src/api/execution/errors.ts'
import { checkInput } from '../../src/api/execution/input.ts'

const log = createLog('silent')
const ABOUT = { requestId: 'a-request' }

test('a request that outlives the database pool gets unavailable, not internal', async () => {
  const pool = new pg.Pool()
  await pool.end()
  const error: unknown = await pool.query('SELECT 1').catch((cause: unknown) => cause)
  expect(toServiceError(error, log, ABOUT).code).toBe('unavailable')
})

test.each(Object.entries(PROBLEMS))("the backend library's %s has the service's texts", (code, refusal) => {
  expect(ERRORS[code as keyof typeof PROBLEMS]).toMatchObject(refusal)
})

const CODES = {
  database: [
    '25006',
    '53100',
    '53200',
    '53300',
    '55P03',
    '57014',
    '57P01',
    '57P02',
    '57P03',
    '40P01',
    '40001',
    '25P03',
  ],
  connection: ['08000', '08001', '08003', '08004', '08006', '08P01'],
  socket: ['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EHOSTUNREACH', 'ENETUNREACH', 'EAI_AGAIN'],
}

test.each(Object.values(CODES).flat())('the code %s is unavailable, with a Retry-After, also as a cause', (code) => {
  const error = Object.assign(new Error('x'), { code })
  for (const thrown of [error, new Error('outer', { cause: error })]) {
    const { code: answered, extras } = toServiceError(thrown, log, ABOUT)
    expect([answered, extras.retryAfterSeconds]).toEqual(['unavailable', 1])
  }
})

test('an error that ends the session is unavailable, whatever its code', () => {
  const error = Object.assign(new Error('database "x" is not currently accepting connections'), {
    code: '55000',
    severity: 'FATAL',
  })
  expect(toServiceError(error, log, ABOUT).code).toBe('unavailable')
})

test.each(['23505', '42601', '22P02', '55000', '42P01'])('the code %s is internal', (code) => {
  expect(toServiceError(Object.assign(new Error('x'), { code, severity: 'ERROR' }), log, ABOUT).code).toBe('internal')
})

test('anything else is internal, and reveals nothing of its cause', () => {
  const refusal = toServiceError(new Error('relation "secrets" does not exist'), log, ABOUT)
  expect(refusal).toBeInstanceOf(ServiceError)
  expect([refusal.code, refusal.message]).toEqual(['internal', 'Something went wrong on our side'])
})

test.each(Object.keys(ERRORS) as ErrorCode[])('the detail of %s says more than its title, without links', (code) => {
  const { title, detail } = problemOf(new ServiceError(code), 'a-request')
  const begin = (text: string): string => text.slice(0, title.length).toLowerCase()
  expect(begin(detail)).not.toBe(begin(title))
  // A problem refers to no other text.
  expect(detail).not.toMatch(/\]\(|`detail`/)
  expect(problemOf(new ServiceError(code, { detail: 'Why.' }), 'a-request').detail).toBe('Why.')
})

test('a value of a wrong type gets the required type in words, without type names of GraphQL or zod', () => {
  const said = (type: string, value: unknown): string | undefined =>
    checkInput(specifiedScalarTypes.find(({ name }) => name === type) ?? GraphQLInt, value)[0]?.message
  expect(specifiedScalarTypes.map(({ name }) => said(name, {}))).toEqual([
    'must be a string',
    'must be a whole number from -2147483648 to 2147483647',
    'must be a number',
    'must be true or false',
    'must be a string',
  ])
  expect(said('Int', 2_147_483_648)).toBe(said('Int', 'five'))
  const shape = z.object({ a: z.int(), b: z.boolean(), c: z.array(z.string()), d: z.object({}), e: z.string() })
  try {
    validate(shape, { a: 'x', b: 1, c: {}, d: [], e: 5 })
    expect.unreachable()
  } catch (error) {
    expect((error as ServiceError).extras.errors?.map(({ message }) => message)).toEqual([
      'must be a number',
      'must be true or false',
      'must be a list',
      'must be an object',
      'must be a string',
    ])
  }
})
