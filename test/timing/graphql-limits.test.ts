import { describe, expect, test } from 'vitest'

import { refusalIn } from '../harness/refusal.ts'
import { useService } from '../harness/service.ts'

const service = useService()

const PATHS = ['/graphql', '/graphql/stream'] as const

async function send(path: string, query: string): Promise<{ json: unknown; text: string; ms: number }> {
  const started = performance.now()
  const response = await fetch(service.url + path, {
    method: 'POST',
    headers: {
      'x-api-key': service.apiKey,
      'content-type': 'application/json',
      accept: path === '/graphql' ? 'application/json' : 'text/event-stream',
    },
    body: JSON.stringify({ query }),
  })
  const text = await response.text()
  const ms = performance.now() - started
  return { json: JSON.parse(/^event: next\ndata: (.*)$/m.exec(text)?.[1] ?? text), text, ms }
}

const many = (count: number, make: (n: number) => string): string =>
  Array.from({ length: count }, (_, n) => make(n)).join(' ')

describe.each(PATHS)('%s refuses with 422 validation_failed a document', (path) => {
  test.each([
    ['of fragments that go round', `{ ...A } fragment A on Query { ...B } fragment B on Query { ...A }`],
    [
      'of fragments that spread one another twice',
      `{ ...F0 } ${many(60, (n) => `fragment F${n} on Query { ...F${n + 1} ...F${n + 1} }`)} fragment F60 on Query { nothing }`,
    ],
    ['of hundreds of equal fields', `{ ${many(450, () => 'discussions { __typename }')} nothing }`],
    ['of hundreds of unknown fields', `{ ${many(1900, (n) => `a${n}`)} }`],
    ['that does not parse', '{ a(b: "'],
  ])('%s, in bounded work', async (_name, query) => {
    const refused = await send(path, query)
    expect(refusalIn(refused.json), refused.text.slice(0, 500)).toMatchObject({
      status: 422,
      code: 'validation_failed',
    })
    expect(refused.text.length).toBeLessThan(20_000)
    // Exponential work would take hours. The bound is wide, for a machine that others use as well.
    expect(refused.ms).toBeLessThan(5000)
  })
})
