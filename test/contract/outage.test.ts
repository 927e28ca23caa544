import { randomBytes } from 'node:crypto'

import { beforeAll, describe, expect, test, vi } from 'vitest'

import { unnamed } from '../harness/sql.ts'
import { useService } from '../harness/service.ts'

const service = useService({ env: { DATABASE_LOCK_PATIENCE_SECONDS: '0.1' } })

beforeAll(async () => {
  // A discussion cannot be written while `faults` has a code; nor, with `disk`, anything be put on
  // the disk.
  await run('CREATE TABLE faults (code text)')
  await run(`CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ DECLARE it text; BEGIN
    SELECT code INTO it FROM faults;
    IF it IS NOT NULL THEN RAISE EXCEPTION 'as told' USING ERRCODE = it; END IF;
    RETURN NEW;
  END $$`)
  await run('CREATE TRIGGER fail BEFORE INSERT ON discussions FOR EACH ROW EXECUTE FUNCTION fail()')
  await run('CREATE TRIGGER fail BEFORE UPDATE ON comments FOR EACH ROW EXECUTE FUNCTION fail()')
})

const run = (text: string): Promise<unknown> => service.app.db.query(unnamed(text))

const fail = (code: string): Promise<unknown> => run(`INSERT INTO faults VALUES ('${code}')`)
const mend = (): Promise<unknown> => run('DELETE FROM faults')
const readyz = async () => {
  const response = await fetch(`${service.url}/readyz`)
  return { status: response.status, body: (await response.json()) as { code?: string; detail?: string } }
}

/**
 * A write that succeeds. On a busy machine one may wait longer than the patience of these tests.
 */
const written = (path: string, options: { body: object; headers?: Record<string, string> }) =>
  vi.waitFor(async () => {
    const answer = await service.call('POST', path, options)
    expect(answer.status, answer.text).toBe(201)
    return answer
  })

const CODES = [
  '25006',
  '57014',
  '55P03',
  '53100',
  '53200',
  '53300',
  '57P01',
  '57P02',
  '57P03',
  '08000',
  '08006',
  '40P01',
]

test('a bulk action answers unavailable, not internal, for each comment that an outage prevents', async () => {
  const path = '/discussions/by-external/bulk/comments'
  const headers = await service.as('ann')
  const { json } = await written(path, { body: { body: 'One' }, headers })
  await fail('53100')
  const answer = await service.call('POST', '/comments/bulk', { body: { ids: [json.id], action: 'reject' } })
  await mend()
  expect(answer).toMatchObject({ status: 200, json: { data: [{ id: json.id, ok: false, code: 'unavailable' }] } })
})

test.each(CODES)(
  'SQLSTATE %s is 503 unavailable with Retry-After, over REST and GraphQL, and is not stored',
  async (code) => {
    const body = { externalId: `page-${code}` }
    const headers = { 'idempotency-key': randomBytes(8).toString('hex') }
    await fail(code)
    try {
      for (const options of [{ body }, { body, headers }]) {
        const answer = await service.call('POST', '/discussions', options)
        expect(answer.json).toMatchObject({ status: 503, code: 'unavailable' })
        expect(answer.headers.get('retry-after')).toBe('1')
        expect(answer.text).not.toContain('as told')
      }
      const mutation =
        'mutation ($input: CreateDiscussionInput!) { createDiscussion(input: $input) { discussion { id } } }'
      const { json, headers: answered } = await service.graphql(mutation, { input: body })
      expect(json.errors).toMatchObject([{ extensions: { code: 'unavailable', status: 503, retryAfterSeconds: 1 } }])
      expect(answered.get('retry-after')).toBe('1')
    } finally {
      await mend()
    }
    const again = await written('/discussions', { body, headers })
    expect(again.headers.get('idempotency-replayed')).toBe(null)
  },
)

test('a database without disk space: /readyz is 503 until there is space again', async () => {
  await vi.waitFor(async () => expect((await readyz()).status).toBe(200))
  await run(`CREATE FUNCTION no_space() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
    RAISE EXCEPTION 'no space' USING ERRCODE = '53100';
  END $$`)
  await run(
    `CREATE EVENT TRIGGER no_space ON ddl_command_start WHEN TAG IN ('CREATE TABLE AS') EXECUTE FUNCTION no_space()`,
  )
  await fail('53100')
  expect((await service.call('POST', '/discussions', { body: { externalId: 'full' } })).status).toBe(503)
  await vi.waitFor(async () => {
    const { status, body } = await readyz()
    expect([status, body.code, body.detail]).toEqual([503, 'unavailable', 'The database is out of disk space.'])
  })
  await vi.waitFor(async () => expect((await service.call('GET', '/discussions')).status).toBe(200))
  await mend()
  await run('DROP EVENT TRIGGER no_space')
  await vi.waitFor(async () => expect((await readyz()).status).toBe(200))
  await written('/discussions', { body: { externalId: 'full' } })
})

describe('one aborted statement', () => {
  test('does not make the process unready', async () => {
    await fail('57014')
    expect((await service.call('POST', '/discussions', { body: { externalId: 'slow' } })).status).toBe(503)
    await mend()
    expect((await readyz()).status).toBe(200)
  })
})
