import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'

import { createLog } from '../../src/core/telemetry/log.ts'
import { openTracing } from '../../src/data/tracing.ts'
import { exporterOf } from '../../src/data/tracing-variables.ts'
import { type Collector, type ExportedSpan, startCollector } from '../harness/otlp.ts'
import { freePort } from '../harness/ports.ts'
import { first, type Processes, startProcesses } from '../harness/processes.ts'
import { type Receiver, startReceiver } from '../harness/receiver.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const CALLER = '00f067aa0ba902b7'
const BODY = 'a text that no trace may show'
const INTERNAL = 1
const SERVER = 2

describe('traces at a collector', () => {
  let collector: Collector
  let receiver: Receiver
  let service: Processes
  let reader: Record<string, string>
  let discussionId: string

  beforeAll(async () => {
    collector = await startCollector()
    receiver = await startReceiver()
    service = await startProcesses({
      env: {
        LOG_LEVEL: 'debug',
        WEBHOOK_CA_FILE: receiver.caFile,
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
        OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
        OTEL_BSP_SCHEDULE_DELAY: '50',
      },
    })
    reader = await service.as('a-secret-reader')
    const { json } = await service.call('POST', '/discussions', { body: { externalId: 'traced' } })
    discussionId = json.id as string
    const hook = await service.call('POST', '/webhooks', { body: { url: `${receiver.url}/hook` } })
    await vi.waitFor(async () =>
      expect((await service.call('GET', `/webhooks/${hook.json.id}`)).json.state).toBe('verified'),
    )
  })
  afterAll(async () => {
    await service?.close()
    await receiver?.close()
    await collector?.close()
  })

  const named = (name: string): ExportedSpan[] => collector.spans.filter((span) => span.name === name)
  const ofTrace = (traceId: string): ExportedSpan[] => collector.spans.filter((span) => span.traceId === traceId)
  const childrenOf = ({ spanId }: ExportedSpan): string[] =>
    collector.spans.filter((span) => span.parentSpanId === spanId).map(({ name }) => name)
  const post = (headers: Record<string, string>, body = BODY) =>
    service.call('POST', `/discussions/${discussionId}/comments`, {
      body: { body },
      headers: { ...reader, ...headers },
    })
  const COMMENTS = 'POST /api/v1/discussions/:discussionId/comments'

  test('a request continues the trace of its caller, with its statements by name, and is in the log', async () => {
    const { status } = await post({ traceparent: `00-${TRACE}-${CALLER}-01`, tracestate: 'vendor=1' })
    expect(status).toBe(201)
    const request = await vi.waitFor(() => {
      const [found] = ofTrace(TRACE).filter(({ name }) => name === COMMENTS)
      if (found === undefined) throw new Error('not yet')
      return found
    })
    expect(request).toMatchObject({
      parentSpanId: CALLER,
      kind: SERVER,
      attributes: {
        'http.request.method': 'POST',
        'http.route': '/api/v1/discussions/:discussionId/comments',
        'http.response.status_code': 201,
        'url.scheme': 'http',
      },
      resource: { 'service.name': 'engagement-service', 'deployment.environment.name': 'test' },
    })
    await vi.waitFor(() => expect(childrenOf(request)).toContain('create_comment'))
    if (service.databaseUrl !== null) {
      await vi.waitFor(() =>
        expect(childrenOf(request)).toEqual(expect.arrayContaining(['publish discussion', 'publish work'])),
      )
    }
    const log = first(service.apis).run.stderr.split('\n')
    const line = log.find((each) => each.includes('"request"') && each.includes(TRACE))
    expect(JSON.parse(line ?? '{}')).toMatchObject({ traceId: TRACE, spanId: request.spanId, status: 201 })
  })

  test.each([
    ['a comment', {}],
    ['a comment with an Idempotency-Key', { 'idempotency-key': 'traced-once' }],
  ])('the deliveries of %s are linked to its trace, and have their own', async (_name, headers) => {
    const traceId = `${'ab'.repeat(15)}0${Object.keys(headers).length + 1}`
    const { json } = await post({ traceparent: `00-${traceId}-${CALLER}-01`, ...headers }, `${BODY} ${traceId}`)
    const attempt = await vi.waitFor(() => {
      const found = named('webhook attempt').find(({ links }) => links.some((link) => link.traceId === traceId))
      if (found === undefined) throw new Error('not yet')
      return found
    })
    const request = await vi.waitFor(() => {
      const [found] = ofTrace(traceId).filter(({ name }) => name === COMMENTS)
      if (found === undefined) throw new Error('not yet')
      return found
    })
    expect(attempt.links.map(({ spanId }) => spanId)).toEqual([request.spanId])
    expect(attempt.traceId).not.toBe(traceId)
    expect(attempt.parentSpanId).toBe('')
    expect(attempt.attributes).toMatchObject({
      'webhook.event.type': 'comment_created',
      'webhook.attempt': 1,
      'http.response.status_code': 204,
    })
    const delivered = receiver.deliveries('/hook').find(({ raw }) => raw.includes(json.id as string))
    expect(delivered?.headers.traceparent).toBe(`00-${attempt.traceId}-${attempt.spanId}-01`)
  })

  test.each([
    ['a reaction', 'PUT', (id: string) => `/comments/${id}/reaction`, { type: 'like' }],
    ['a moderation', 'POST', (id: string) => `/comments/${id}/pin`, undefined],
  ])('the deliveries of %s are linked too', async (_name, method, path, body) => {
    const { json } = await post({}, `${BODY} ${method}`)
    const traceId = `${'cd'.repeat(15)}${method === 'PUT' ? '01' : '02'}`
    const headers = { ...reader, traceparent: `00-${traceId}-${CALLER}-01` }
    await service.ok(method, path(json.id as string), body, headers)
    await vi.waitFor(() =>
      expect(named('webhook attempt').some(({ links }) => links.some((link) => link.traceId === traceId))).toBe(true),
    )
  })

  test('a GraphQL operation is a span of its request, with its kind and name, and its statements', async () => {
    const traceId = 'ef'.repeat(16)
    const query = `query Pages { discussions(first: 1) { edges { node { id comments(first: 2) { edges { node { body } } } } } } }`
    const response = await fetch(`${first(service.apis).url}/graphql`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-api-key': service.apiKey,
        traceparent: `00-${traceId}-${CALLER}-01`,
      },
      body: JSON.stringify({ query }),
    })
    expect(response.status).toBe(200)
    await response.text()
    const [operation, request] = await vi.waitFor(() => {
      const found = ['query', 'POST /graphql'].map((name) => ofTrace(traceId).find((span) => span.name === name))
      if (found.includes(undefined)) throw new Error('not yet')
      return found as [ExportedSpan, ExportedSpan]
    })
    expect(operation).toMatchObject({
      parentSpanId: request.spanId,
      kind: INTERNAL,
      attributes: { 'graphql.operation.type': 'query', 'graphql.operation.name': 'Pages' },
    })
    await vi.waitFor(() => expect(childrenOf(operation).length).toBeGreaterThan(0))
    expect(childrenOf(request)).toEqual(['query'])
  })

  test('an unsampled request is not traced, and its deliveries have no link', async () => {
    const traceId = '12'.repeat(16)
    const { json } = await post({ traceparent: `00-${traceId}-${CALLER}-00` }, `${BODY} unsampled`)
    await vi.waitFor(() =>
      expect(receiver.deliveries('/hook').some(({ raw }) => raw.includes(json.id as string))).toBe(true),
    )
    await post({ traceparent: `00-${TRACE}-${CALLER}-01` }, `${BODY} after`)
    await vi.waitFor(() => expect(ofTrace(TRACE).filter(({ name }) => name === COMMENTS).length).toBeGreaterThan(1))
    expect(ofTrace(traceId)).toEqual([])
    expect(collector.spans.flatMap(({ links }) => links).filter((link) => link.traceId === traceId)).toEqual([])
  })

  test('no span contains a text, a parameter, an address or a credential', () => {
    const told = JSON.stringify(collector.spans)
    for (const secret of [
      BODY,
      service.apiKey,
      service.identitySecret,
      'a-secret-reader',
      discussionId,
      receiver.url,
    ]) {
      expect(told).not.toContain(secret)
    }
    expect(told).not.toMatch(/SELECT|INSERT|discussions\(first/)
    const names = new Set(collector.spans.flatMap(({ attributes }) => Object.keys(attributes)))
    const known = ['error.type', 'db.system.name', 'url.scheme', /^http\./, /^graphql\.operation\./, /^webhook\./]
    expect([...names].filter((name) => !known.some((each) => name.match(each)))).toEqual([])
  })
})

/** The modules of the service that a process has loaded, by V8's own account. */
function modulesOf(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => {
    const { result } = JSON.parse(readFileSync(join(folder, name), 'utf8')) as { result: { url: string }[] }
    return result.map(({ url }) => url)
  })
}

test('an exporter that is down delays no request and no stop, and costs bounded memory; without one nothing is loaded', async () => {
  const port = await freePort()
  const folder = mkdtempSync(join(tmpdir(), 'modules-'))
  const queue = 64
  try {
    // One after the other: V8 writes its account within the 10 s that a stop may take.
    const off = await startProcesses({ worker: 0, env: { NODE_V8_COVERAGE: join(folder, 'off') } })
    await off.call('GET', '/discussions')
    await off.close()
    const away = await startProcesses({
      worker: 0,
      env: {
        LOG_LEVEL: 'warn',
        NODE_V8_COVERAGE: join(folder, 'on'),
        OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
        OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
        OTEL_BSP_SCHEDULE_DELAY: '20',
        OTEL_BSP_MAX_QUEUE_SIZE: String(queue),
        OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '16',
      },
    })
    for (let round = 0; round < 10; round++) {
      const answers = await Promise.all(
        Array.from({ length: 20 }, () => away.call('GET', '/discussions', { headers: { traceparent: '' } })),
      )
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    }
    // It is back for the last ones.
    const collector = await startCollector(port)
    await away.close()
    await collector.close()
    // Those in the queue, in flight, and recorded while the last batches are sent: far fewer than
    // the 200 requests.
    expect(collector.spans.length).toBeLessThanOrEqual(2 * queue)
    const isSdk = (url: string): boolean => /tracing-sdk|@opentelemetry\/(?!api\/)/.test(url)
    expect(modulesOf(join(folder, 'on')).filter(isSdk)).toHaveLength(1)
    expect(modulesOf(join(folder, 'off')).length).toBeGreaterThan(100)
    expect(modulesOf(join(folder, 'off')).filter(isSdk)).toEqual([])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

test('without a protocol traces are sent as protobuf, the rest at the end', async () => {
  const bodies: { type: string | undefined; body: string }[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      bodies.push({ type: request.headers['content-type'], body: Buffer.concat(chunks).toString('latin1') })
      response.end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', `http://127.0.0.1:${port}`)
  try {
    const tracing = await openTracing(process.env, createLog('silent'))
    tracing?.begin('a span of the test', { kind: 'server' })?.end()
    await tracing?.close(5000)
  } finally {
    vi.unstubAllEnvs()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  expect(bodies.map(({ type }) => type)).toEqual(['application/x-protobuf'])
  expect(bodies[0]?.body).toContain('a span of the test')
  expect(bodies[0]?.body).toContain('engagement-service')
})

test.each([
  [{}, null],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://localhost:4318' }, 'http/protobuf'],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://localhost:4318', OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' }, 'http/json'],
  [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://localhost:4318/v1/traces' }, 'http/protobuf'],
  [{ OTEL_TRACES_EXPORTER: 'otlp' }, 'http/protobuf'],
  [{ OTEL_TRACES_EXPORTER: 'console' }, 'console'],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://localhost:4318', OTEL_TRACES_EXPORTER: 'none' }, null],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://localhost:4318', OTEL_SDK_DISABLED: 'true' }, null],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: ' ' }, null],
])('%o: the exporter is %s', (env, expected) => {
  expect(exporterOf(env)).toBe(expected)
})

test.each([
  [{ OTEL_TRACES_EXPORTER: 'zipkin' }, 'OTEL_TRACES_EXPORTER: must be one of otlp, console, none'],
  [
    { OTEL_TRACES_EXPORTER: 'otlp', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' },
    'OTEL_EXPORTER_OTLP_PROTOCOL: must be one of http/protobuf, http/json',
  ],
])('%o is refused', (env, text) => {
  expect(() => exporterOf(env)).toThrow(text)
})
