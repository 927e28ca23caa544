import { randomBytes } from 'node:crypto'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Logger } from 'pino'

import { toServiceError } from '../../src/api/execution/errors.ts'
import type { App } from '../../src/core/app.ts'
import { problemOf } from '../../src/core/errors.ts'
import { newId } from '../../src/core/ids.ts'
import { openHeaders, type SealedHeader } from '../../src/core/delivery/own-headers.ts'
import { keyIdOf, seal, unseal } from '../../src/core/secrets/seals.ts'
import { secondFactorContext } from '../../src/domains/staff/second-factor.ts'
import type { Sql } from '../../src/core/database/database.ts'
import { findKeyUse, findMissingKeys, resealSecrets } from '../../src/domains/encryption-keys/reseal.ts'
import { openSecrets, signingSecretContext } from '../../src/core/secrets/signing-secrets.ts'
import { createServer } from '../../src/api/http/server.ts'
import { hubOf } from '../../src/live/hub.ts'
import { onServer } from '../harness/database.ts'
import { freePort } from '../harness/ports.ts'
import { addMember } from '../harness/members.ts'
import { type TestService, useService } from '../harness/service.ts'
import { openStream } from '../harness/stream-client.ts'
import { unnamed } from '../harness/sql.ts'

const [oldKey, newKey] = [randomBytes(32), randomBytes(32)]

/**
 * Processes of one deployment at the steps of a rotation. `before` seals with the old key and knows
 * the new one already.
 */
const before = useService({
  env: { ENCRYPTION_KEY: oldKey.toString('base64'), ENCRYPTION_KEYS: newKey.toString('base64') },
})
const others: { close(): Promise<void> }[] = []
let during: Process
let after: Process

beforeAll(async () => {
  during = await startProcess(newKey, [oldKey])
  after = await startProcess(newKey, [])
})
afterAll(async () => {
  for (const process of others) await process.close()
})

interface Process {
  app: App
  call: TestService['call']
  url: string
}

/** Another process on the same database and bus. */
async function startProcess(ENCRYPTION_KEY: Buffer, ENCRYPTION_KEYS: Buffer[]): Promise<Process> {
  const port = await freePort()
  const app: App = { ...before.app, settings: { ...before.app.settings, ENCRYPTION_KEY, ENCRYPTION_KEYS } }
  const server = await createServer(app)
  await server.listen({ host: '127.0.0.1', port })
  others.push({
    close: async () => {
      await hubOf(app).close({ graceMs: 0 })
      await server.close()
    },
  })
  const url = `http://127.0.0.1:${port}`
  const call: TestService['call'] = async (method, path, { body, headers = {} } = {}) => {
    const response = await fetch(`${url}/api/v1${path}`, {
      method,
      headers: {
        'x-api-key': before.apiKey,
        ...headers,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    return {
      status: response.status,
      headers: response.headers,
      text,
      json: text === '' ? undefined : JSON.parse(text),
    }
  }
  return { app, call, url }
}

const asProcess = ({ app, call, url }: TestService): Process => ({ app, call, url })
const commentOn = async (process: Process, page: string, headers: Record<string, string> = {}) =>
  process.call('POST', `/discussions/by-external/${page}/comments`, {
    body: { body: 'Hello' },
    headers: { ...(await before.as('ann')), ...headers },
  })

describe('during a rolling restart', () => {
  test('an assertion is accepted by processes that have the key of its secret, and refused with 401 by others', async () => {
    expect((await commentOn(asProcess(before), 'rotation')).status).toBe(201)
    expect((await commentOn(during, 'rotation')).status).toBe(201)
    const refused = await commentOn(after, 'rotation')
    expect([refused.status, refused.json.code]).toEqual([401, 'invalid_identity'])
  })

  test('a ticket opens a stream at any process that has its key, whichever signed it', async () => {
    const { json } = await before.call('POST', '/discussions', { body: { externalId: 'rotation-tickets' } })
    const mint = async (process: Process) =>
      (await process.call('POST', '/stream/ticket', { body: { discussionId: json.id } })).json.ticket as string
    const statusAt = async (process: Process, ticket: string) => {
      const stream = await openStream(`${process.url}/api/v1/stream/${json.id}?ticket=${ticket}`)
      stream.close()
      return stream.status
    }
    const [old, current] = [await mint(asProcess(before)), await mint(during)]
    for (const process of [asProcess(before), during]) {
      expect([await statusAt(process, old), await statusAt(process, current)]).toEqual([200, 200])
    }
    expect([await statusAt(after, old), await statusAt(after, current)]).toEqual([401, 200])
  })

  test('an Idempotency-Key is replayed by the next process, and by the previous one', async () => {
    const [forth, back] = [{ 'idempotency-key': newId() }, { 'idempotency-key': newId() }]
    const first = await commentOn(asProcess(before), 'rotation-once', forth)
    const replayed = await commentOn(during, 'rotation-once', forth)
    expect([first.status, replayed.headers.get('idempotency-replayed'), replayed.text]).toEqual([
      201,
      'true',
      first.text,
    ])
    const second = await commentOn(during, 'rotation-once', back)
    const replayedBack = await commentOn(asProcess(before), 'rotation-once', back)
    expect([replayedBack.headers.get('idempotency-replayed'), replayedBack.text]).toEqual(['true', second.text])
    const conflict = await during.call('POST', '/discussions', { body: { externalId: 'x' }, headers: forth })
    expect(conflict.json.code).toBe('idempotency_conflict')
  })

  test.runIf(onServer)('twenty requests with one Idempotency-Key at both create one comment', async () => {
    const headers = { 'idempotency-key': newId() }
    const processes = [asProcess(before), during]
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => commentOn(processes[n % 2]!, 'rotation-race', headers)),
    )
    for (const { status, json } of answers) expect(status === 201 || json.code === 'idempotency_in_progress').toBe(true)
    const { json } = await before.call('GET', '/discussions/by-external/rotation-race')
    expect(json.commentCount).toBe(1)
  })
})

const SECRETS = unnamed(
  `SELECT kid, encode(sealed, 'base64') AS sealed FROM webhook_secrets WHERE endpoint_id = $1 ORDER BY created_at`,
)
const sealedOf = (endpointId: string): Promise<{ kid: string; sealed: string }[]> =>
  before.app.db.query(SECRETS, [endpointId])

const TOKEN = 'Bearer of-the-gateway'
const HEADERS = unnamed(`SELECT name, encode(sealed, 'base64') AS sealed FROM webhook_headers WHERE endpoint_id = $1`)
const headersOf = (endpointId: string) => before.app.db.query<SealedHeader>(HEADERS, [endpointId])

const newEndpoint = async () =>
  (
    await before.call('POST', '/webhooks', {
      body: { url: 'https://127.0.0.1:9/hook', headers: [{ name: 'Authorization', value: TOKEN }] },
    })
  ).json as {
    id: string
    kid: string
    secret: string
  }

const FILL = unnamed(`INSERT INTO classifier_secrets (tenant_id, kid, sealed, expires_at)
   SELECT $1, kid, decode(sealed, 'base64'), now() + interval '1 hour' FROM unnest($2::text[], $3::text[]) s (kid, sealed)`)
const FACTORS = unnamed('SELECT account_id AS "accountId", sealed FROM second_factors')
const EXPIRE_OUTCOMES = unnamed('UPDATE idempotency_records SET expires_at = now() - make_interval(secs => 1)')

describe('cli secrets reseal', () => {
  test('seals values of the old key under the new one, in batches, and reports what still needs the old one', async () => {
    const endpoint = await newEndpoint()
    const { id: tenantId } = before.tenant
    const kids = Array.from({ length: 450 }, (_, n) => n.toString(16).padStart(8, '0'))
    const sealed = kids.map((kid) => seal(before.app.settings, `secret ${kid}`, signingSecretContext(tenantId, kid)))
    await before.app.db.query(FILL, [tenantId, kids, sealed.map((bytes) => bytes.toString('base64'))])
    await commentOn(asProcess(before), 'reseal', { 'idempotency-key': newId() })
    const member = await addMember(before, before, 'analyst')
    const { json: factor } = await before.call('POST', '/admin/auth/totp', { headers: member.headers })

    const first = await resealSecrets(during.app)
    expect(first).toMatchObject({
      key: keyIdOf(newKey),
      resealed: {
        webhook_secrets: 1,
        webhook_headers: 1,
        identity_secrets: 1,
        classifier_secrets: 450,
        second_factors: 1,
      },
      damaged: 0,
      oldKeys: [{ key: keyIdOf(oldKey), secrets: 0, outcomesUntil: expect.any(Date), canBeRemoved: false }],
      missingKeys: [],
    })
    expect(openSecrets(after.app.settings, endpoint.id, await sealedOf(endpoint.id))).toEqual([
      { kid: endpoint.kid, secret: endpoint.secret },
    ])
    const own = await headersOf(endpoint.id)
    expect(openHeaders(after.app.settings, endpoint.id, own)).toEqual({ authorization: TOKEN })
    const [sealedFactor] = await before.app.db.query<{ accountId: string; sealed: Uint8Array }>(FACTORS)
    const { accountId = '', sealed: ofFactor = new Uint8Array() } = sealedFactor ?? {}
    expect(unseal(after.app.settings, ofFactor, secondFactorContext(accountId, 'totp'))).toBe(factor.secret)
    // With the old key alone they do not open: they were sealed again.
    const oldAlone = { ENCRYPTION_KEY: oldKey, ENCRYPTION_KEYS: [] }
    expect(openHeaders(oldAlone, endpoint.id, own)).toBeNull()
    await before.app.db.query(EXPIRE_OUTCOMES)
    const again = await resealSecrets(during.app)
    expect(again).toMatchObject({
      resealed: { webhook_secrets: 0, identity_secrets: 0, classifier_secrets: 0 },
      oldKeys: [{ secrets: 0, outcomes: 0, outcomesUntil: null, canBeRemoved: true }],
    })
  })

  test('a process with only the new key then serves, and one with the old key still does', async () => {
    const third = await startProcess(newKey, [])
    expect((await commentOn(third, 'resealed')).status).toBe(201)
    expect((await commentOn(asProcess(before), 'resealed')).status).toBe(201)
  })

  test('secrets that are replaced or deleted meanwhile are left alone', async () => {
    const [replaced, deleted] = [await newEndpoint(), await newEndpoint()]
    const { query } = during.app.db
    const byOther = 'UPDATE webhook_secrets SET sealed = $2 WHERE endpoint_id = $1'
    const other = seal(during.app.settings, 'whs_other', signingSecretContext(replaced.id, replaced.kid))
    // Between reading a batch and writing it.
    const interfering: Sql = async (text, params) => {
      const rows = await query(text, params)
      if (text.name === 'select_sealed_webhook_secrets') {
        await query(unnamed(byOther), [replaced.id, other])
        await before.call('DELETE', `/webhooks/${deleted.id}`)
      }
      return rows
    }
    const { resealed } = await resealSecrets({ ...during.app, db: { ...during.app.db, query: interfering } })
    expect(resealed.webhook_secrets).toBe(0)
    expect(openSecrets(during.app.settings, replaced.id, await sealedOf(replaced.id))).toEqual([
      { kid: replaced.kid, secret: 'whs_other' },
    ])
  })

  test('continues after an interruption', async () => {
    const endpoints = await Promise.all(Array.from({ length: 3 }, newEndpoint))
    let left = 2
    const failing: Sql = async (text, params) => {
      if (text.name === 'replace_sealed_webhook_secrets' && left-- === 0) throw new Error('cut off')
      return during.app.db.query(text, params)
    }
    await expect(resealSecrets({ ...during.app, db: { ...during.app.db, query: failing } })).rejects.toThrow('cut off')
    expect((await resealSecrets(during.app)).resealed.webhook_secrets).toBe(1)
    for (const { id, kid, secret } of endpoints) {
      expect(openSecrets(after.app.settings, id, await sealedOf(id))).toEqual([{ kid, secret }])
    }
  })

  test('reports missing keys and damaged values, and leaves both alone', async () => {
    const [missing, damaged] = [await newEndpoint(), await newEndpoint()]
    const strangeKey = randomBytes(32)
    const strange = { ENCRYPTION_KEY: strangeKey, ENCRYPTION_KEYS: [] }
    const put = unnamed('UPDATE webhook_secrets SET sealed = $2 WHERE endpoint_id = $1')
    await before.app.db.query(put, [missing.id, seal(strange, 'x', signingSecretContext(missing.id, missing.kid))])
    await before.app.db.query(put, [damaged.id, seal(before.app.settings, 'x', 'of another context')])
    const rows = [await sealedOf(missing.id), await sealedOf(damaged.id)]
    const result = await resealSecrets(during.app)
    expect(result).toMatchObject({
      damaged: 1,
      oldKeys: [{ secrets: 1, canBeRemoved: false }],
      missingKeys: [{ key: keyIdOf(strangeKey), secrets: 1 }],
    })
    expect([await sealedOf(missing.id), await sealedOf(damaged.id)]).toEqual(rows)
    expect(await findMissingKeys(before.app.db.query, before.app.settings)).toEqual(result.missingKeys)
    expect(JSON.stringify(await findKeyUse(before.app.db.query, during.app.settings))).not.toContain(
      newKey.toString('base64'),
    )
    const open = () => unseal(during.app.settings, Buffer.from(rows[0]?.[0]?.sealed ?? '', 'base64'), 'x')
    expect(open).toThrow(/does not have the key/)
    // The log names the key, and the answer, which may go to anybody, does not.
    const logged: unknown[] = []
    const log = { error: (about: { err: Error }) => logged.push(about.err.message) } as unknown as Logger
    const refusal = toServiceError(errorOf(open), log, { requestId: 'r' })
    expect(logged).toEqual([expect.stringContaining(keyIdOf(strangeKey))])
    expect(JSON.stringify(problemOf(refusal, 'r'))).not.toContain(keyIdOf(strangeKey))
  })
})

function errorOf(run: () => unknown): unknown {
  try {
    run()
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}
