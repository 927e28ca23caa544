import { spawn } from 'node:child_process'

import { expect, test, vi } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { useReaders, useService } from '../harness/service.ts'

const service = useService({ env: { STREAM_HEARTBEAT_SECONDS: '0.5' } })
const { ann } = useReaders(service, 'ann')

test('curl --compressed gets events of a stream one by one, and finds the checksum valid at the end', async () => {
  const { id } = (await service.call('POST', '/discussions', { body: { externalId: newId() } })).json
  const key = (await service.call('POST', '/keys', { body: { label: 'of a stream', capabilities: [] } })).json
  const curl = spawn('curl', [
    '-sSN',
    '--compressed',
    '-H',
    `X-API-Key: ${key.key}`,
    `${service.url}/api/v1/stream/${id}`,
  ])
  let text = ''
  curl.stdout.setEncoding('utf8').on('data', (part: string) => (text += part))
  const exited = new Promise((resolve) => curl.once('exit', resolve))
  await vi.waitFor(() => expect(text).toContain('event: connected'))
  for (let n = 1; n <= 3; n++) {
    const options = { body: { body: `Comment ${n}` }, headers: ann }
    expect((await service.call('POST', `/discussions/${id}/comments`, options)).status).toBe(201)
    await vi.waitFor(() => expect(text).toContain(`"seq":${n},`))
  }
  await service.call('DELETE', `/keys/${key.id}`)
  expect(await exited).toBe(0)
  expect(text).toContain('event: connection-timeout')
})
