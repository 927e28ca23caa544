import { newId } from '../../src/core/ids.ts'
import type { TestResponse, TestService } from './service.ts'
import { unnamed } from './sql.ts'

export type Headers = Record<string, string>

/** Where an upload goes, and as whom. */
export interface Uploading {
  service: {
    url: string
    call(method: string, path: string, how?: { headers?: Headers; body?: unknown }): Promise<TestResponse>
  }
  headers: Headers
}

/** Puts a part. */
export const put = (
  { service, headers }: Uploading,
  id: string,
  n: number | string,
  bytes: Uint8Array,
  more: Headers = {},
): Promise<Response> =>
  fetch(`${service.url}/api/v1/import-uploads/${id}/parts/${n}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/octet-stream', ...headers, ...more },
    body: new Uint8Array(bytes),
  })

export const begin = async (to: Uploading, body: object): Promise<TestResponse> =>
  to.service.call('POST', '/import-uploads', { headers: to.headers, body })

/** Uploads a whole file and completes it. Returns the upload. */
export async function upload(
  to: Uploading,
  { content, ...input }: { source: string; fileName: string; content: Buffer } & Record<string, unknown>,
): Promise<{ id: string; state: string }> {
  const { json: begun } = await begin(to, { ...input, bytes: content.length })
  for (const n of begun.missingParts as number[]) {
    const part = content.subarray(n * begun.partBytes, (n + 1) * begun.partBytes)
    const answer = await put(to, begun.id, n, part)
    if (answer.status !== 204) throw new Error(await answer.text())
  }
  return (await to.service.call('POST', `/import-uploads/${begun.id}/complete`, { headers: to.headers })).json
}

const ADD = unnamed(
  `WITH added AS (
     INSERT INTO import_uploads (tenant_id, id, source, file_name, bytes, completed_at, rehearsed_at, started_at, ended_at, expires_at)
     VALUES ($1, $2, 'jsonl', $3, 5, CASE WHEN $4 THEN now() END, CASE WHEN $4 THEN now() END, CASE WHEN $5 THEN now() END,
       CASE WHEN $5 THEN now() END, now() + interval '1 day')
     RETURNING tenant_id, id
   )
   INSERT INTO import_upload_parts (tenant_id, upload_id, n, bytes) SELECT tenant_id, id, 0, '12345' FROM added`,
)

/** One in this state, beside those that the tenant has, with its only part. */
export async function addUpload(
  { app }: Pick<TestService, 'app'>,
  tenantId: string,
  state: 'uploading' | 'rehearsed' | 'imported',
  fileName = 'items.jsonl',
): Promise<string> {
  const id = newId()
  await app.db.query(ADD, [tenantId, id, fileName, state !== 'uploading', state === 'imported'])
  return id
}
