import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { beforeAll, describe, expect, test, vi } from 'vitest'

import { withDatabase } from '../../src/app.ts'
import { readSettings } from '../../src/core/settings/settings.ts'
import { createLog } from '../../src/core/telemetry/log.ts'
import { embeddedSecrets } from '../../src/data/embedded/secrets.ts'
import { openServer } from '../../src/data/server/server.ts'
import { createTenant } from '../../src/domains/bootstrap/bootstrap.ts'
import { importFile } from '../../src/transfer/import/import.ts'
import { onServer } from '../harness/database.ts'
import { useFolder } from '../harness/folders.ts'
import { first } from '../harness/processes.ts'
import { useProcesses } from '../harness/service-processes.ts'
import { unnamed } from '../harness/sql.ts'
import { comment, dumpImported, findWrongCounts, page, reader } from '../harness/transfer.ts'
import { type Headers, upload } from '../harness/uploads.ts'

const COMMENTS = 12_000
const PASSWORD = 'a password of the tests'

const TENANT = unnamed('SELECT id FROM tenants WHERE slug = $1')

describe.skipIf(!onServer)('kill -9 of the worker (skipped: needs DATABASE_URL)', () => {
  const service = useProcesses({ env: { BOOTSTRAP_ADMIN_PASSWORD: PASSWORD } })
  const folder = useFolder()
  let headers: Headers

  beforeAll(async () => {
    const body = { email: 'admin@example.com', password: PASSWORD }
    const login = await service.call('POST', '/admin/auth/login', { headers: { 'x-api-key': '' }, body })
    headers = { authorization: `Bearer ${login.json.token}`, 'x-api-key': '' }
  })

  test('in the rehearsal and in the import: the result is that of the command line', async () => {
    const replies = (n: number) => (n % 3 === 0 && n > 9 ? { parentId: `c${n - 3}` } : {})
    const items = [
      reader('ann'),
      page('p'),
      ...Array.from({ length: COMMENTS }, (_, n) => comment(`c${n}`, n, replies(n))),
    ]
    const content = Buffer.from(items.map((item) => `${JSON.stringify(item)}\n`).join(''))
    const to = { service: { ...service, url: first(service.apis).url }, headers }
    const { id } = await upload(to, { source: 'jsonl', fileName: 'items.jsonl', content })
    const read = async () => (await service.call('GET', `/import-uploads/${id}`, { headers })).json
    const worker = first(service.workers)
    const killAt = async (state: string, from: number): Promise<void> => {
      const isThere = async () => {
        const now = await read()
        expect([now.state, now.bytesRead >= from]).toEqual([state, true])
      }
      await vi.waitFor(isThere, { timeout: 60_000, interval: 20 })
      await worker.kill()
      expect((await read()).state).toBe(state)
      await worker.start()
    }
    await killAt('rehearsing', 1)
    await vi.waitFor(async () => expect((await read()).state).toBe('rehearsed'), { timeout: 120_000, interval: 100 })
    await service.ok('POST', `/import-uploads/${id}/run`, undefined, headers)
    for (const from of [1, 1]) await killAt('importing', from)
    await vi.waitFor(async () => expect((await read()).state).toBe('imported'), { timeout: 120_000, interval: 100 })
    expect(await read()).toMatchObject({ report: { counts: { comments: COMMENTS }, refused: { total: 0 } } })

    const path = join(folder, 'items.jsonl')
    writeFileSync(path, content)
    const secrets = {
      ADMIN_JWT_SECRET: randomBytes(32).toString('hex'),
      ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    }
    const settings = readSettings({ DATABASE_URL: service.databaseUrl ?? '', ...secrets }, embeddedSecrets)
    const database = await openServer({ url: service.databaseUrl ?? '', size: 4, onError: () => undefined })
    const { app, close } = withDatabase(settings, createLog('silent'), database)
    try {
      const { tenant: whole } = await createTenant(app, { slug: 'whole' })
      await importFile(app, whole.id, { source: 'jsonl', path })
      const [mine] = await app.db.query<{ id: string }>(TENANT, ['demo'])
      expect(await findWrongCounts(app.db, mine?.id ?? '')).toEqual([])
      const expected = await dumpImported(app.db, whole.id, ['imports'])
      expect(expected.length).toBeGreaterThan(COMMENTS)
      expect(await dumpImported(app.db, mine?.id ?? '', ['imports'])).toEqual(expected)
    } finally {
      await close()
    }
  })
})
