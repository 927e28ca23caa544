import { randomUUID } from 'node:crypto'

import { expect, test } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { newGuestToken } from '../../src/core/secrets/crypto.ts'
import { effort } from '../harness/effort.ts'
import { addGuestSite } from '../harness/guests.ts'
import { PATIENT, useService } from '../harness/service.ts'
import { ORIGIN, page } from '../harness/sites.ts'
import { unnamed } from '../harness/sql.ts'

const BOTS = effort(1000, 100)
const AT_ONCE = 10
const PAGES = 5

const service = useService({ env: PATIENT })

const query = <Row extends object>(sql: string, params: unknown[] = []) =>
  service.app.db.query<Row>(unnamed(sql), params as never)

/** Guests who have confirmed an address: their tokens. */
async function addBots(tenantId: string, count: number): Promise<string[]> {
  const bots = Array.from({ length: count }, () => ({ id: newId(), token: newGuestToken() }))
  const columns = [bots.map(({ id }) => id), bots.map(() => `guest:${randomUUID()}`), bots.map(({ token }) => token)]
  await query(
    `WITH bots AS (SELECT * FROM unnest($2::uuid[], $3::text[], $4::text[]) AS b (id, external_id, token)),
       made AS (INSERT INTO readers (tenant_id, id, external_id, name, profile_issued_at)
         SELECT $1, id, external_id, 'Bot', now() FROM bots),
       confirmed AS (INSERT INTO guests (tenant_id, reader_id, address_digest)
         SELECT $1, id, sha256(token::bytea) FROM bots)
     INSERT INTO guest_tokens (tenant_id, digest, reader_id, created_at, expires_at)
     SELECT $1, sha256(token::bytea), id, now(), now() + interval '1 day' FROM bots`,
    [tenantId, ...columns],
  )
  return bots.map(({ token }) => token)
}

test(`${BOTS} confirmed addresses get nothing into view, and nothing out of it, without a moderator`, async () => {
  const settings = { moderationMode: 'none', reportThreshold: 2 }
  const site = await addGuestSite(service, service, { mailUrl: 'https://mailer.example/guests', settings })
  const address = (n: number): string => `${ORIGIN}/bots-${n % PAGES}`
  const ann = await site.token()
  const targets: string[] = []
  for (let n = 0; n < PAGES; n++) {
    const { status, json } = await site.ask('POST', `/comments${page(address(n))}`, {
      body: { body: 'Of a reader' },
      token: ann,
    })
    expect([status, json.status]).toEqual([201, 'approved'])
    targets.push(json.id as string)
  }
  const attack = async (token: string, n: number): Promise<string[]> => {
    const target = targets[n % PAGES] ?? ''
    const say = (body: object) => site.ask('POST', `/comments${page(address(n))}`, { body, token })
    const answers = [
      await say({ body: `Buy from bot ${n}` }),
      await say({ body: `Answer of bot ${n}`, parentId: target }),
      await site.ask('PUT', `/comments/${target}/reaction`, { body: { type: 'like' }, token }),
      await site.ask('POST', `/comments/${target}/report`, { body: { reason: 'spam' }, token }),
    ]
    return answers.map(({ status, json }) => `${status} ${String(json.status ?? '')}`)
  }
  const bots = await addBots(service.tenant.id, BOTS)
  for (let n = 0; n < bots.length; n += AT_ONCE) {
    const some = bots.slice(n, n + AT_ONCE).map((token, at) => attack(token, n + at))
    for (const answers of await Promise.all(some))
      expect(answers).toEqual(['201 pending', '201 pending', '403 403', expect.stringMatching(/^201/)])
  }
  const [sums] = await query(
    `SELECT (SELECT count(*)::int FROM comments WHERE status = 'pending') AS pending,
         (SELECT array_agg(id::text ORDER BY id) FROM comments WHERE status = 'approved') AS approved,
         (SELECT sum(reply_count)::int FROM comments WHERE status = 'approved') AS replies,
         (SELECT count(*)::int FROM reactions) AS reactions,
         (SELECT count(*)::int FROM reports WHERE counted) AS counted`,
  )
  expect(sums).toEqual({ pending: 2 * BOTS, approved: targets.toSorted(), replies: 0, reactions: 0, counted: 0 })
  const { json } = await site.ask('GET', `/comments${page(address(0))}`)
  expect(json.data.map((each: { id: string }) => each.id)).toEqual([targets[0]])
})
