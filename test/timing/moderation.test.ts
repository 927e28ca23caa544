import { expect, test } from 'vitest'

import { useReaders, useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

const service = useService()
const { ann } = useReaders(service, 'ann')

const post = async (page: string): Promise<{ id: string }> => {
  const options = { body: { body: 'text' }, headers: ann }
  return (await service.call('POST', `/discussions/by-external/${page}/comments`, options)).json
}
const discussion = async (page: string) => (await service.call('GET', `/discussions/by-external/${page}`)).json

test('POST /comments/bulk under an Idempotency-Key has half a second, and says which comments it did not reach', async () => {
  const ids = []
  for (let n = 0; n < 8; n++) ids.push((await post('bulk-slow')).id)
  const { query } = service.app.db
  await query(
    unnamed(
      `CREATE FUNCTION slow_down() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.15); RETURN NEW; END $$`,
    ),
  )
  await query(
    unnamed(`CREATE TRIGGER slow_down BEFORE UPDATE OF status ON comments FOR EACH ROW
       WHEN (NEW.status = 'rejected') EXECUTE FUNCTION slow_down()`),
  )
  const options = { body: { ids, action: 'reject' }, headers: { 'idempotency-key': 'bulk-slow' } }
  const first = await service.call('POST', '/comments/bulk', options)
  await query(unnamed('DROP TRIGGER slow_down ON comments'))
  expect(first.status).toBe(200)
  const codes = first.json.data.map(({ code }: { code: string | null }) => code)
  expect([codes[0], codes.at(-1)]).toEqual([null, 'unavailable'])
  expect((await service.call('POST', '/comments/bulk', options)).json).toEqual(first.json)
  const done = codes.filter((code: string | null) => code === null).length
  expect((await discussion('bulk-slow')).commentCount).toBe(ids.length - done)
})
