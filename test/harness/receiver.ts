import { createHmac, timingSafeEqual } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { makeCertificates } from './certificates.ts'

/** A request as the receiver's owner sees it. */
export interface Received {
  path: string
  headers: Record<string, string>
  /** The body to the byte. */
  raw: Buffer
  body: { id?: string; type?: string; challenge?: string; timestamp?: string; [name: string]: unknown }
  /** The port that it came from: the same on one connection. */
  port: number
  at: number
}

/**
 * What a test makes of a request; returning nothing leaves it to the default: handshakes are
 * answered, the rest gets 204.
 */
export type Behaviour = (request: Received, response: ServerResponse) => unknown

export interface Receiver {
  /** `https://127.0.0.1:<port>`. */
  url: string
  /** The certificate of the CA that vouches for the receiver, as a file, for WEBHOOK_CA_FILE. */
  caFile: string
  requests: Received[]
  /** Without the handshakes. */
  deliveries(path?: string): Received[]
  handshakes(path?: string): Received[]
  /** What it does with requests to a path from now on. */
  on(path: string, behaviour: Behaviour | null): void
  /** Answers no request to a path; the result answers the last one. */
  hold(path: string, status: number): () => void
  /** Ends those that are idle, as a receiver that restarts does. */
  dropConnections(): Promise<void>
  close(): Promise<void>
}

/** An HTTPS receiver of webhooks with a CA of its own. It knows nothing of the service's code. */
export async function startReceiver(names: readonly string[] = ['127.0.0.1', 'localhost']): Promise<Receiver> {
  const certificates = makeCertificates(names)
  const folder = mkdtempSync(join(tmpdir(), 'receiver-'))
  const caFile = join(folder, 'ca.pem')
  writeFileSync(caFile, certificates.ca)
  const requests: Received[] = []
  const behaviours = new Map<string, Behaviour>()
  const server = createServer({ key: certificates.key, cert: certificates.cert }, (incoming, response) => {
    void read(incoming).then((request) => {
      if (request === null) return
      requests.push(request)
      if (behaviours.get(request.path)?.(request, response) === undefined) answer(request, response)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const at = (list: Received[], path: string | undefined) =>
    list.filter((request) => path === undefined || request.path === path)
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    caFile,
    requests,
    deliveries: (path) => at(requests, path).filter(({ headers }) => headers['x-service-event'] !== 'verification'),
    handshakes: (path) => at(requests, path).filter(({ headers }) => headers['x-service-event'] === 'verification'),
    on: (path, behaviour) => void (behaviour === null ? behaviours.delete(path) : behaviours.set(path, behaviour)),
    hold: (path, status) => {
      let held: ServerResponse | undefined
      behaviours.set(path, (_request, response) => {
        held = response
        return true
      })
      return () => void (held && reply(held, status))
    },
    dropConnections: async () => {
      server.closeIdleConnections()
      const open = (): Promise<number> =>
        new Promise((resolve) => server.getConnections((_error, count) => resolve(count)))
      while ((await open()) > 0) await new Promise(setImmediate)
    },
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Answers, and tells that it did. */
export function reply(response: ServerResponse, status: number, body = '', headers: Record<string, string> = {}): true {
  response.writeHead(status, headers).end(body)
  return true
}

/** The behaviour of a receiver that takes requests and never answers. */
export const hang: Behaviour = () => true

/**
 * The receiver's check of a signature, written from docs/guides/webhook-signatures.md alone: the
 * timestamp header, a dot and the raw body, under the secret that `kid` names. Refuses a request
 * that is more than five minutes old.
 */
export function isGenuine(
  { headers, raw }: Received,
  secrets: Readonly<Record<string, string>>,
  header = 'signature',
): boolean {
  const timestamp = headers['x-service-timestamp'] ?? ''
  const parts = Object.fromEntries((headers[`x-service-${header}`] ?? '').split(',').map((part) => part.split('=')))
  const secret = secrets[parts.kid ?? '']
  if (secret === undefined || !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(timestamp)) return false
  if (Math.abs(Date.now() - Date.parse(timestamp)) > 300_000) return false
  if (String(Math.floor(Date.parse(timestamp) / 1000)) !== parts.t) return false
  const expected = createHmac('sha256', secret)
    .update(Buffer.concat([Buffer.from(`${timestamp}.`), raw]))
    .digest()
  const given = Buffer.from(parts.v1 ?? '', 'hex')
  return given.length === expected.length && timingSafeEqual(given, expected)
}

/** Null where its sender was gone before its end. */
async function read(incoming: IncomingMessage): Promise<Received | null> {
  const chunks: Buffer[] = []
  try {
    for await (const chunk of incoming) chunks.push(chunk as Buffer)
  } catch {
    return null
  }
  const raw = Buffer.concat(chunks)
  return {
    path: incoming.url ?? '',
    headers: Object.fromEntries(Object.entries(incoming.headers).map(([name, value]) => [name, String(value)])),
    raw,
    body: JSON.parse(raw.toString('utf8') || '{}') as Received['body'],
    port: incoming.socket.remotePort ?? 0,
    at: Date.now(),
  }
}

function answer({ body, headers }: Received, response: ServerResponse): void {
  if (headers['x-service-event'] === 'verification') {
    reply(response, 200, JSON.stringify({ challenge: body.challenge }), { 'content-type': 'application/json' })
  } else reply(response, 204)
}
