import { execFile } from 'node:child_process'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { verifyWebhook } from '../../src/clients/receiver/verify.ts'
import { curlOf } from '../../src/console/pages/webhooks/curl.ts'
import { lastingHeaders, signatureOf, standardSignatureOf } from '../../src/core/delivery/request.ts'
import { newSigningSecret } from '../../src/core/secrets/signing-secrets.ts'

const received: { url: string; headers: IncomingHttpHeaders; raw: Buffer }[] = []
const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    received.push({ url: request.url ?? '', headers: request.headers, raw: Buffer.concat(chunks) })
    response.end('taken')
  })
})
beforeAll(() => new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve)))
afterAll(() => new Promise((resolve) => void server.close(resolve)))

interface Outcome {
  code: number
  stdout: string
  stderr: string
}

const run = (shell: string, script: string, env: Record<string, string>): Promise<Outcome> =>
  new Promise((resolve) => {
    const child = execFile(shell, { env: { PATH: process.env.PATH, ...env } }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : 1, stdout, stderr }),
    )
    child.stdin?.end(script)
  })

const { kid, secret } = newSigningSecret()
const deliveryId = '01900000-0000-7000-8000-000000000001'
const eventId = '01900000-0000-7000-8000-000000000002'
const about = {
  prefix: 'X-Service-',
  event: 'comment_created',
  deliveryId,
  idempotencyKey: `comment_created:${eventId}`,
}

function commandFor(body: string, { path = '/hooks', prefix = about.prefix, own = {} } = {}): string {
  const { port } = server.address() as AddressInfo
  const headers = { ...own, ...lastingHeaders({ ...about, prefix }) }
  return curlOf({ url: `http://127.0.0.1:${port}${path}`, deliveryId, kid, headers, body })
}

async function send(shell: string, body: string, options: Parameters<typeof commandFor>[1] = {}) {
  received.length = 0
  const { code, stdout, stderr } = await run(shell, commandFor(body, options), { SECRET: secret })
  expect(code, stderr).toBe(0)
  expect(stdout).toContain('taken')
  const [request] = received
  if (request === undefined) throw new Error('nothing arrived')
  return request
}

function genuine(raw: Buffer, headers: IncomingHttpHeaders, by: string): boolean {
  const at = headers['x-service-timestamp'] ?? ''
  expect(Math.abs(Date.now() - Date.parse(String(at)))).toBeLessThan(60_000)
  const given = /v1=([0-9a-f]+)/.exec(String(headers['x-service-signature']))?.[1]
  return signatureOf({ kid, secret: by }, new Date(String(at)), raw.toString()).includes(`v1=${given},`)
}

const lowerCased = (headers: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))

const AWKWARD = {
  'quotes of both kinds': `it's "quoted", ''twice'', '`,
  'line breaks and a tab': 'first\nsecond\r\n\tthird\n\n',
  'letters of the world': 'Zoë · 日本語 · 👩‍👩‍👧 · \u2028',
  "a shell's own signs": '$SECRET ${HOME} $(touch x) `touch y` !! \\ \\n %s %% * ~ ; & | > #',
  'an end of its own lines': "'\n)\nEOF\nrm -rf x\n",
  'more than an argument may have': 'x'.repeat(200_000),
}

for (const shell of ['bash', 'sh']) {
  test.each(Object.entries(AWKWARD))(`${shell} sends a genuine request with %s`, async (_name, text) => {
    // As JSON the service escapes a line break. A raw one must arrive, too.
    for (const body of [JSON.stringify({ id: eventId, type: 'comment_created', text }), `"${text}`]) {
      const { raw, headers } = await send(shell, body)
      expect(raw.toString()).toBe(body)
      expect(headers).toMatchObject({
        ...lowerCased(lastingHeaders(about)),
        'x-service-signature': expect.stringMatching(
          new RegExp(`^t=${String(headers['webhook-timestamp'])},v1=.*,kid=${kid}$`),
        ),
      })
      expect(genuine(raw, headers, secret)).toBe(true)
      expect(genuine(raw, headers, newSigningSecret().secret)).toBe(false)
      const at = new Date(Number(headers['webhook-timestamp']) * 1000)
      const standard = standardSignatureOf([{ kid, secret }], about.idempotencyKey, at, body)
      expect(headers['webhook-signature']).toBe(standard)
    }
  })
}

test('verifyWebhook takes the request', async () => {
  const body = JSON.stringify({ id: eventId, type: 'comment_created', data: "it's" })
  const { raw, headers } = await send('bash', body)
  expect(verifyWebhook(headers, raw, secret)).toEqual(JSON.parse(body))
})

test('an address and a prefix of any form arrive as they are, and own headers are left out', async () => {
  const path = "/hooks/{a,b}/[1-3]?to=it's&x=$(id)"
  const { url, headers } = await send('bash', '{}', { path, prefix: 'X-Acme-', own: { 'x-own': '[redacted]' } })
  expect(url).toBe(path)
  expect(headers['x-acme-signature']).toMatch(/^t=\d+,v1=[0-9a-f]{64},kid=/)
  expect(headers).not.toHaveProperty('x-own')
})

test('without a secret nothing is sent, and the shell goes on', async () => {
  received.length = 0
  const { stdout, stderr } = await run('bash', `${commandFor('{}')}\necho still here`, {})
  expect(stderr).toContain('Set SECRET to the secret of the endpoint')
  expect(stdout).toBe('still here\n')
  expect(received).toEqual([])
})
