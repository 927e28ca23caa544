import { execFileSync } from 'node:child_process'

import { expect, test } from 'vitest'

import { importFile } from '../../src/transfer/import/import.ts'
import { workOnUploads } from '../../src/transfer/uploads/work.ts'
import { useService } from '../harness/service.ts'
import { fixture } from '../harness/sources.ts'
import { upload, type Uploading } from '../harness/uploads.ts'

const service = useService()

/** A folder as an archive of tar. */
const archiveOf = (folder: string): Buffer => execFileSync('tar', ['-cf', '-', '-C', folder, '.'])

/** Uploads a file of Coral to a new tenant. */
async function uploadTo(slug: string, content: Buffer): Promise<{ to: Uploading; id: string }> {
  const { admin } = await service.addTenant(slug)
  const login = await service.call('POST', '/admin/auth/login', { headers: { 'x-api-key': '' }, body: admin })
  const to = { service, headers: { authorization: `Bearer ${login.json.token}` } }
  return { to, id: (await upload(to, { source: 'coral', fileName: 'file', content })).id }
}

const read = async ({ headers }: Uploading, id: string) =>
  (await service.call('GET', `/import-uploads/${id}`, { headers })).json
const run = ({ headers }: Uploading, id: string) => service.call('POST', `/import-uploads/${id}/run`, { headers })
const work = () => workOnUploads(service.app, new AbortController().signal)

test('an uploaded archive of a folder is imported as the folder by the command line', async () => {
  const { tenant } = await service.addTenant('by-command')
  const report = await importFile(service.app, tenant.id, { source: 'coral', path: fixture('coral') })
  const { counts, already, refused, changed } = report
  expect(counts.comments).toBeGreaterThan(0)
  const content = archiveOf(fixture('coral'))
  const { to, id } = await uploadTo('by-upload', content)
  expect(await work()).toBe(true)
  const rehearsed = await read(to, id)
  expect(rehearsed).toMatchObject({ state: 'rehearsed', error: null, report: null })
  expect((await run(to, id)).status).toBe(202)
  expect(await work()).toBe(true)
  const imported = await read(to, id)
  expect(imported).toMatchObject({ state: 'imported', error: null, bytesRead: content.length })
  expect(imported.report).toMatchObject({ counts, already, refused, changed })
  expect(rehearsed.rehearsal).toMatchObject({ counts, refused })
})

test('an archive that is cut off cannot be imported, and fails with the reason', async () => {
  const { to, id } = await uploadTo('cut-off', archiveOf(fixture('coral')).subarray(0, 1600))
  await work()
  const { state, error, rehearsal } = await read(to, id)
  expect({ state, error, rehearsal }).toEqual({
    state: 'failed',
    error: expect.stringMatching(/cut off|damaged/),
    rehearsal: null,
  })
  expect((await run(to, id)).json.code).toBe('invalid_transition')
})
