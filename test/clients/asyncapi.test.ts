import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

import { Ajv } from 'ajv'
import addFormats from 'ajv-formats'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'

import { EVENT_TYPES, type EventType, WEBHOOK_EVENT_TYPES } from '../../src/core/events.ts'
import type { Schema } from '../../src/api/reference/json-schema.ts'
import { makeEveryEvent } from '../harness/events.ts'
import { type Checker, createChecker } from '../harness/openapi.ts'
import { listen, type SourceListener } from '../harness/sse.ts'
import { useReceiver } from '../harness/webhooks.ts'

interface AsyncApi {
  channels: Record<string, { messages: Record<string, { $ref: string }> }>
  components: { messages: Record<string, { payload: Schema; headers?: Schema; examples?: { payload: unknown }[] }> }
}

const { receiver, service, whenVerified } = useReceiver()
let stream: SourceListener
let document: AsyncApi
let checker: Checker

beforeAll(async () => {
  document = (await service.call('GET', '/asyncapi.json', { headers: { 'x-api-key': '' } })).json as AsyncApi
  checker = createChecker(document)
  const hook = await service.ok('POST', '/webhooks', { url: receiver.url })
  await whenVerified(hook.id)
  const discussionId = await makeEveryEvent(service, service)
  stream = await listen(`${service.url}/api/v1/stream/${discussionId}?lastEventId=0`, { 'x-api-key': service.apiKey })
})
afterAll(() => stream?.close())

const messageOf = (name: string) => {
  const message = document.components.messages[name]
  if (message === undefined) throw new Error(`${name} is not in the document`)
  return message
}

test("the document is valid by AsyncAPI 3's own schema", () => {
  const require = createRequire(import.meta.url)
  const file = require.resolve('@asyncapi/specs/schemas/3.0.0-without-$id.json')
  const ajv = new Ajv({ strict: false, allErrors: true, validateSchema: false })
  addFormats.default(ajv)
  const validate = ajv.compile(JSON.parse(readFileSync(file, 'utf8')) as object)
  validate(document)
  expect(validate.errors ?? []).toEqual([])
})

test('every reference has a target', () => {
  const refs = [...JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(([, path]) => path ?? '')
  expect(refs.length).toBeGreaterThan(30)
  for (const path of refs) {
    const found = path
      .split('/')
      .reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key], document)
    expect(found, path).toBeDefined()
  }
})

test('the stream describes every event and its framing events, the webhook those that it carries', () => {
  const names = (channel: string) => Object.keys(document.channels[channel]?.messages ?? {})
  expect(names('stream')).toEqual([...EVENT_TYPES, 'connected', 'connection-timeout'])
  expect(names('streamOfSeveral')).toEqual([...names('stream'), 'discussion-gone'])
  expect(names('webhook')).toEqual([...WEBHOOK_EVENT_TYPES, 'verification'])
})

test('every example is valid under its schema', () => {
  for (const [name, { payload, examples = [] }] of Object.entries(document.components.messages)) {
    for (const example of examples) expect(checker.errorsOf(payload, example.payload), name).toBeNull()
  }
})

test('every event of a stream is as documented', async () => {
  await vi.waitFor(() => expect(new Set(stream.received.map(({ type }) => type))).toEqual(new Set(EVENT_TYPES)))
  for (const { type, data } of stream.received) {
    expect(checker.errorsOf(messageOf(type).payload, JSON.parse(data)), data).toBeNull()
  }
  const [connected] = stream.framing
  expect(
    checker.errorsOf(messageOf('connected').payload, JSON.parse(connected?.data ?? '')),
    connected?.data,
  ).toBeNull()
})

test('every delivery is as documented, headers included', async () => {
  const typeOf = ({ headers }: { headers: Record<string, unknown> }) => String(headers['x-service-event'])
  const seen = () => new Set(receiver.requests.map(typeOf))
  await vi.waitFor(() => expect(seen()).toEqual(new Set([...WEBHOOK_EVENT_TYPES, 'verification'])))
  for (const request of receiver.requests) {
    const type = typeOf(request)
    const { payload, headers = {} } = messageOf(type === 'verification' ? type : `delivery_${type as EventType}`)
    expect(checker.errorsOf(payload, request.body), type).toBeNull()
    // Beside the documented ones a delivery has those of every HTTP request.
    const names = Object.keys(headers.properties ?? {})
    const given = Object.fromEntries(
      names.flatMap((name) => {
        const value = request.headers[name.toLowerCase()]
        return value === undefined ? [] : [[name, value]]
      }),
    )
    expect(checker.errorsOf(headers, given), type).toBeNull()
  }
})
