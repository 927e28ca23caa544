import { useOpenTelemetry } from '@envelop/opentelemetry'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { GraphQLError, parse, type ValidationRule } from 'graphql'
import { createClient } from 'graphql-sse'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'

import type { ServerPlugin } from '../../src/api/yoga/plugin.ts'
import { PLUGINS } from '../../src/api/yoga/server.ts'
import { ServiceError } from '../../src/core/errors.ts'
import { hubOf } from '../../src/live/hub.ts'
import { ROOT } from '../../src/core/process/root.ts'
import { newId } from '../../src/core/ids.ts'
import { startService, type TestService } from '../harness/service.ts'

// A plugin of the ecosystem is in the list, and sees every operation.

let service: TestService
const exporter = new InMemorySpanExporter()
const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
const spans = (): string[] => exporter.getFinishedSpans().map(({ name }) => name)

/** A rule of documents, as plugins of the ecosystem add them. */
const noState: ValidationRule = (context) => ({
  Field: ({ name }) => {
    if (name.value === 'state') context.reportError(new GraphQLError('no state here'))
  },
})

beforeAll(async () => {
  // The plugin's own types are those of another version.
  PLUGINS.push(
    () => useOpenTelemetry({}, provider) as unknown as ServerPlugin,
    () => ({ onValidate: ({ addValidationRule }) => addValidationRule(noState) }),
  )
  service = await startService({ worker: false })
})
afterAll(async () => {
  PLUGINS.splice(-2)
  await service.close()
})
beforeEach(() => exporter.reset())

const post = async (id: string): Promise<void> => {
  await service.ok('POST', `/discussions/${id}/comments`, { body: `Hello ${newId()}` }, await service.as('ada'))
}

test('queries and mutations of clients, also refused ones, and as often as they are compiled', async () => {
  for (let n = 0; n < 4; n++) await service.graphql('query Ask { discussion(by: { externalId: "x" }) { id } }')
  await service.graphql('mutation Change { logout { memberId } }')
  expect(spans()).toEqual(['query.Ask', 'query.Ask', 'query.Ask', 'query.Ask', 'mutation.Change'])
})

test('a rule that a plugin adds refuses documents, also those that are kept', async () => {
  const query = '{ discussion(by: { externalId: "x" }) { state } }'
  for (let n = 0; n < 2; n++) {
    const { json } = await service.graphql(query)
    expect(json.errors[0]).toMatchObject({ message: 'no state here', extensions: { code: 'validation_failed' } })
  }
  const other = await service.graphql('{ discussion(by: { externalId: "x" }) { id } }')
  expect(other.json.errors[0].extensions.code).toBe('not_found')
})

test('operations of REST', async () => {
  const id = await service.newDiscussion()
  expect((await service.call('GET', `/discussions/${id}`)).status).toBe(200)
  expect(spans().map((name) => name.split('.')[0])).toEqual(['mutation', 'query'])
})

test.each([[false], [true]])(
  'subscriptions, each event of them, and their end (on one connection for all: %s)',
  async (singleConnection) => {
    const id = await service.newDiscussion()
    const client = createClient({
      url: `${service.url}/graphql/stream`,
      headers: { 'x-api-key': service.apiKey },
      singleConnection,
    })
    const got: unknown[] = []
    let posts = 0
    const stop = client.subscribe(
      {
        query: 'subscription Follow($id: ID!) { discussionEvents(discussionId: $id) { seq } }',
        variables: { id },
      },
      { next: (result) => got.push(result), error: () => undefined, complete: () => undefined },
    )
    // The plugin's span of a subscription ends with it.
    await vi.waitFor(async () => {
      await post(id)
      posts++
      expect(got.length).toBeGreaterThan(0)
    })
    // No event is still to come. Each post is one.
    await vi.waitFor(() => expect(got.at(-1)).toMatchObject({ data: { discussionEvents: { seq: posts } } }))
    const executed = () => spans().filter((name) => name === 'subscription.Follow').length
    expect(executed()).toBeGreaterThan(0)
    const before = executed()
    stop()
    client.dispose()
    await vi.waitFor(() => expect(executed()).toBe(before + 1))
  },
)

describe('a plugin that refuses or replaces', () => {
  /** What the plugin below does. */
  let does: 'nothing' | 'parses' | 'refuses' | 'fails' | 'refuses a subscription' = 'nothing'
  let other: TestService
  const refused = new GraphQLError('not now', { originalError: new ServiceError('rate_limited') })

  const plugin: ServerPlugin = {
    onParse: ({ setParseFn }) => {
      if (does === 'parses') setParseFn((source: string) => parse(source))
    },
    onExecute: ({ setResultAndStopExecution }) => {
      if (does === 'refuses') setResultAndStopExecution({ errors: [refused] })
      return {
        onExecuteDone: ({ setResult }) => {
          if (does === 'fails') setResult({ errors: [new GraphQLError('secret at 10.0.0.1', { path: ['a'] })] })
        },
      }
    },
    onSubscribe: () => ({
      onSubscribeResult: ({ setResult }) => {
        if (does === 'refuses a subscription') setResult({ errors: [refused] } as never)
      },
    }),
  }

  beforeAll(async () => {
    PLUGINS.push(() => plugin)
    other = await startService({ worker: false })
  })
  afterAll(async () => {
    PLUGINS.pop()
    await other.close()
  })
  beforeEach(() => void (does = 'nothing'))

  test('parses by itself, and the rules for documents hold', async () => {
    does = 'parses'
    const { json } = await other.graphql('{ nothingOfThis }')
    expect(json.errors[0].extensions.code).toBe('validation_failed')
  })

  test('refuses with the code of its ServiceError', async () => {
    does = 'refuses'
    const { json } = await other.graphql('{ discussion(by: { externalId: "x" }) { id } }')
    expect(json.errors[0].extensions.code).toBe('rate_limited')
    expect((await other.call('GET', `/discussions/${newId()}`)).status).toBe(429)
  })

  test('adds an error, which shows nothing of the inside', async () => {
    does = 'fails'
    const { json } = await other.graphql('{ discussion(by: { externalId: "x" }) { id } }')
    expect(json.errors[0].extensions.code).toBe('internal')
    expect(JSON.stringify(json)).not.toContain('secret')
  })

  const open = (query: string): Promise<Response> =>
    fetch(`${other.url}/graphql/stream`, {
      method: 'POST',
      headers: { 'x-api-key': other.apiKey, 'content-type': 'application/json', accept: 'text/event-stream' },
      body: JSON.stringify({ query }),
    })

  test('refuses a subscription, which then holds no stream', async () => {
    const id = await other.newDiscussion()
    does = 'refuses a subscription'
    const answer = await open(`subscription { discussionEvents(discussionId: "${id}") { seq } }`)
    expect(answer.status).toBe(429)
    await answer.text()
    expect(hubOf(other.app).counts()).toEqual([])
  })

  test('adds an error to an event, which shows nothing of the inside', async () => {
    const id = await other.newDiscussion()
    const stream = await open(`subscription { discussionEvents(discussionId: "${id}") { seq } }`)
    does = 'fails'
    const body = { body: 'Hello' }
    await other.call('POST', `/discussions/${id}/comments`, { body, headers: await other.as('ada') })
    const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader()
    let text = ''
    while (!text.includes('event: next')) text += (await reader?.read())?.value ?? ''
    expect(text).toContain('"code":"internal"')
    expect(text).not.toContain('secret')
    await reader?.cancel()
  })
})

test('nothing else in the service executes operations', () => {
  const executing = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.startsWith('generated/'))
    .filter((file) => {
      const text = readFileSync(join(ROOT, 'src', file), 'utf8')
      return /import \{[^}]*\b(execute|subscribe|createSourceEventStream|compileQuery)\b[^}]*\} from '(graphql|graphql-jit)'/.test(
        text,
      )
    })
  expect(executing.sort()).toEqual([
    'api/execution/jit.ts',
    'api/yoga/plugins/use-jit.ts',
    'api/yoga/plugins/use-sources.ts',
  ])
})
