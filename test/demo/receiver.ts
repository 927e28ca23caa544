import { createHmac, timingSafeEqual } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { IncomingHttpHeaders } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { z } from 'zod'

import { makeCertificates } from '../harness/certificates.ts'
import { type Event, eventSchema } from './stream.ts'

const challengeSchema = z.object({ type: z.literal('verification'), challenge: z.string().regex(/^[0-9a-f]{64}$/) })
const MAX_AGE_MS = 5 * 60_000

export interface Receiver {
  url: string
  /** The certificate of the CA that vouches for it. */
  caFile: string
  /** Each event once, however often it is sent. */
  events(): Event[]
  counts: { verified: number; refused: number; repeated: number; handshakes: number }
  /**
   * Tells it the secret that the registration answered. The handshake, which may be here before,
   * waits for it.
   */
  trust(secret: SigningSecret): void
  close(): Promise<void>
}

interface SigningSecret {
  kid: string
  secret: string
}

/**
 * The tenant's webhook receiver: all that one needs, with nothing of the service's code. `onEvent`
 * is told of each event the first time that it comes.
 */
export async function startReceiver(onEvent: (event: Event) => void): Promise<Receiver> {
  const { ca, cert, key } = makeCertificates(['127.0.0.1'])
  const folder = mkdtempSync(join(tmpdir(), 'engagement-receiver-'))
  const caFile = join(folder, 'ca.pem')
  writeFileSync(caFile, ca)
  let trust: (secret: SigningSecret) => void = () => undefined
  const trusted = new Promise<SigningSecret>((resolve) => (trust = resolve))
  // By idempotency key, which is the same at every attempt.
  const received = new Map<string, Event>()
  const counts = { verified: 0, refused: 0, repeated: 0, handshakes: 0 }

  async function take(headers: IncomingHttpHeaders, raw: Buffer): Promise<{ status: number; body?: object }> {
    if (!isGenuine(headers, raw, await trusted)) {
      counts.refused++
      return { status: 401 }
    }
    const body: unknown = JSON.parse(raw.toString('utf8'))
    if (headers['x-service-event'] === 'verification') {
      counts.handshakes++
      return { status: 200, body: { challenge: challengeSchema.parse(body).challenge } }
    }
    counts.verified++
    const once = String(headers['x-service-idempotency-key'])
    if (received.has(once)) counts.repeated++
    else {
      const event = eventSchema.parse(body)
      received.set(once, event)
      onEvent(event)
    }
    return { status: 204 }
  }

  const server = createServer({ key, cert }, (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      take(request.headers, Buffer.concat(chunks)).then(
        ({ status, body }) => {
          response.writeHead(status, { 'Content-Type': 'application/json' })
          response.end(body && JSON.stringify(body))
        },
        () => response.writeHead(400).end(),
      )
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`,
    caFile,
    events: () => [...received.values()],
    counts,
    trust,
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/**
 * The receiver's half of the signature: HMAC-SHA256 over the timestamp header, a dot and the body
 * to the byte.
 */
function isGenuine(headers: IncomingHttpHeaders, raw: Buffer, trusted: SigningSecret): boolean {
  const timestamp = String(headers['x-service-timestamp'])
  const signature = /^t=(\d+),v1=([0-9a-f]{64}),kid=([0-9a-f]{8})$/.exec(String(headers['x-service-signature']))
  if (signature === null) return false
  const [, seconds, v1 = '', kid = ''] = signature
  if (!(Math.abs(Date.now() - Date.parse(timestamp)) < MAX_AGE_MS)) return false
  if (Math.floor(Date.parse(timestamp) / 1000) !== Number(seconds)) return false
  if (kid !== trusted.kid) return false
  const expected = createHmac('sha256', trusted.secret).update(`${timestamp}.`).update(raw).digest()
  const given = Buffer.from(v1, 'hex')
  return given.length === expected.length && timingSafeEqual(given, expected)
}
