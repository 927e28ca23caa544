import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'

import { freePort } from '../harness/ports.ts'
import { signIdentity } from '../harness/identity.ts'
import { STAMP, stamp } from './listening.ts'
import { BODY } from './requests.ts'
import { childOf, cpuMsOf } from './proc.ts'
import { type BenchProcess, end, startBareStream } from './scripts.ts'
import { type BenchService, call, redisEnv, startBenchService } from './service.ts'
import { skip } from './size.ts'

/** A process that sends published events to every stream. */
export interface Peer extends BenchProcess {
  /** The request that opens a stream, whole. */
  head: string
  /** Publishes events at the same time. */
  publish(events: number): Promise<void>
}

const NCHAN = '/usr/lib/nginx/modules/ngx_nchan_module.so'
const NGINX = '/usr/sbin/nginx'
/** How long Nchan may take to answer: it falls behind. */
const PATIENCE_MS = 120_000

/** The request that opens a stream, whole. */
const headOf = (path: string, headers: Record<string, string> = {}): string =>
  [
    `GET ${path} HTTP/1.1`,
    'Host: 127.0.0.1',
    'Accept: text/event-stream',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    '\r\n',
  ].join('\r\n')

/** One discussion: its streams are on one process, its comments are posted at another. */
export interface Stage {
  service: BenchService
  writer: BenchService
  discussionId: string
  /** Gives the comment's id. */
  post(page?: string): Promise<string>
  /** A further process for streams, with settings of its own, or of another build. */
  beside(env: Record<string, string>, main?: string): Promise<BenchService>
  close(): Promise<void>
}

export async function startStage(env: Record<string, string> = {}): Promise<Stage> {
  const redis = redisEnv()
  const service = await startBenchService({ ...redis, ...env })
  const others = [await startBenchService(redis, service)] as [BenchService, ...BenchService[]]
  const discussionId = await followed(service)
  return {
    service,
    writer: others[0],
    discussionId,
    post: await postsTo({ ...service, port: others[0].port }),
    beside: async (settings, main) => {
      const other = await startBenchService({ ...redis, ...env, ...settings }, service, main)
      others.push(other)
      return other
    },
    close: async () => {
      for (const each of [...others.toReversed(), service]) await each.close()
    },
  }
}

/** Makes the discussion of an article, on which any number of streams may open. Returns its id. */
export async function followed(service: BenchService): Promise<string> {
  await call(service, 'PATCH', '/settings', {
    stream: { maxStreams: 1_000_000, maxStreamsPerTicket: 1_000_000, maxStreamsPerAddress: 1_000_000 },
    ticket: { connectSeconds: 3600 },
  })
  return (await call(service, 'POST', '/discussions', { externalId: 'page' })).id
}

/** Posts comments that tell when they were sent. */
export async function postsTo(service: BenchService): Promise<Stage['post']> {
  const identity = { 'x-service-identity': await signIdentity(service.signer, { sub: 'reader', name: 'Reader' }) }
  let n = 0
  return async (page = 'page') => {
    const body = { body: `${stamp()} ${BODY} (${n++})` }
    return (await call(service, 'POST', `/discussions/by-external/${page}/comments`, body, identity)).id
  }
}

const together = async (count: number, one: () => Promise<unknown>): Promise<void> =>
  void (await Promise.all(Array.from({ length: count }, () => one())))

type Followed = Pick<Stage, 'service' | 'discussionId' | 'post'>

/** The streams of the service, as browsers open them. */
export async function ssePeer(
  { service, discussionId, post }: Followed,
  headers: Record<string, string> = {},
): Promise<Peer> {
  const { ticket } = await call(service, 'POST', '/stream/ticket', { discussionId })
  const head = headOf(`/api/v1/stream/${discussionId}?ticket=${ticket}`, headers)
  return { ...service, head, publish: (events) => together(events, post) }
}

/** The bytes of one event, as a browser gets them. */
export async function oneEvent(peer: Peer): Promise<Buffer> {
  const path = peer.head.split(' ')[1] ?? ''
  return new Promise((resolve, reject) => {
    let text = ''
    const request = get({ port: peer.port, path }, (response) => {
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part
        const frame = /^id: .*\nevent: .*\ndata: .*\n\n/m.exec(text)?.[0]
        if (frame === undefined) return
        request.destroy()
        resolve(Buffer.from(frame))
      })
      peer.publish(1).catch(reject)
    })
    request.on('error', reject)
  })
}

const SUBSCRIPTION = `subscription ($id: ID!) { discussionEvents(discussionId: $id) { id type seq occurredAt
  actor { kind readerId externalId }
  data { ... on CommentEventData { comment { id body bodyHtml status createdAt replyCount reactionCounts
    author { id externalId name } } } } } }`

/**
 * The same as a GraphQL subscription of much the same fields, by the key or by the headers of
 * another caller.
 */
export function graphqlPeer({ service, discussionId, post }: Followed, headers?: Record<string, string>): Peer {
  const query = new URLSearchParams({ query: SUBSCRIPTION, variables: JSON.stringify({ id: discussionId }) })
  const head = headOf(`/graphql/stream?${query.toString()}`, headers ?? { 'X-API-Key': service.apiKey })
  return { ...service, head, publish: (events) => together(events, post) }
}

/**
 * Bare Node, which writes each event to each response. `event` is the bytes of one of the
 * service's.
 */
export async function barePeer(event: Buffer, env: Record<string, string> = {}): Promise<Peer> {
  const bare = await startBareStream(env)
  const publish = (): Promise<Response> =>
    fetch(`http://127.0.0.1:${bare.port}/`, { method: 'POST', body: event.toString() })
  return { ...bare, head: headOf('/'), publish: (events) => together(events, publish) }
}

/**
 * nginx with Nchan (Debian's `libnginx-mod-nchan`), where it is installed; null where it is not.
 */
export async function nchanPeer(event: Buffer): Promise<Peer | null> {
  if (!existsSync(NCHAN) || !existsSync(NGINX)) return skip('nginx with libnginx-mod-nchan')
  const port = await freePort()
  const folder = await mkdtemp(join(tmpdir(), 'bench-nchan-'))
  await writeFile(
    join(folder, 'nginx.conf'),
    `load_module ${NCHAN};
     user root; daemon off; worker_processes 1; worker_rlimit_nofile 20000; pid ${folder}/pid; error_log stderr crit;
     events { worker_connections 20000; }
     http {
       access_log off; client_body_temp_path ${folder}/body;
       server {
         listen 127.0.0.1:${port};
         location /pub { nchan_publisher; nchan_channel_id page; nchan_message_buffer_length 1000; }
         location /sub { nchan_subscriber eventsource; nchan_channel_id page; nchan_subscriber_first_message newest; }
       }
     }`,
  )
  const child = spawn(NGINX, ['-c', join(folder, 'nginx.conf'), '-p', folder], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  await setTimeout(500)
  // Nchan makes the lines of an event itself: it is given the JSON.
  const json = /data: (.*)/.exec(event.toString())?.[1] ?? ''
  const publish = (): Promise<Response> =>
    fetch(`http://127.0.0.1:${port}/pub`, {
      method: 'POST',
      body: json.replace(STAMP, `"body":"${stamp()}`),
      signal: AbortSignal.timeout(PATIENCE_MS),
    })
  // A stream begins with the newest message: without one it would begin with nothing.
  await publish()
  const pid = childOf(child)
  return {
    pid,
    cpuMs: () => cpuMsOf(pid),
    port,
    head: headOf('/sub'),
    publish: (events) => together(events, publish),
    close: async () => {
      await end(child)
      await rm(folder, { recursive: true })
    },
  }
}
