import { afterAll, beforeAll, expect, test, vi } from 'vitest'

import { EVENT_TYPES } from '../../src/core/events.ts'
import { makeEveryEvent } from '../harness/events.ts'
import { useService } from '../harness/service.ts'
import { listen, type SourceListener } from '../harness/sse.ts'
import { typeErrorsOf } from '../harness/type-check.ts'

const service = useService()
let stream: SourceListener

beforeAll(async () => {
  const discussionId = await makeEveryEvent(service, service)
  stream = await listen(`${service.url}/api/v1/stream/${discussionId}?lastEventId=0`, { 'x-api-key': service.apiKey })
})
afterAll(async () => {
  stream?.close()
})

test('every event of a stream has the type that the clients declare', async () => {
  await vi.waitFor(() => expect(new Set(stream.received.map(({ type }) => type))).toEqual(new Set(EVENT_TYPES)))
  // As literals, so that the compiler also refuses a member that the type does not have.
  const program = (json: string): string =>
    `import type { StreamEvent } from 'engagement-service/client'\nexport const event: StreamEvent = ${json}\n`
  const files = stream.received.map(({ type, data }, n) => [`${n}-${type}.ts`, program(data)] as const)
  const [[name, text] = ['', '']] = files
  const wrong = {
    'missing.ts': text.replace('"depth"', '"deep"'),
    'more.ts': text.replace('"depth"', '"more":1,"depth"'),
  }
  const errors = typeErrorsOf({ ...Object.fromEntries(files), ...wrong })
  expect(name).toContain('comment_created')
  expect(errors.map((error) => error.split('(')[0])).toEqual(Object.keys(wrong))
})
