import { isListType, isNonNullType } from 'graphql'
import { beforeAll, expect, test } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { countCpu } from '../harness/cpu.ts'
import { DOCUMENTS, VALUES } from '../harness/hostile-bodies.ts'
import { fieldsOf } from '../harness/root-fields.ts'
import { DESCRIBED_ROUTES } from '../harness/routes.ts'
import { useService } from '../harness/service.ts'

// What a request costs before it is refused must not depend on what it holds: each entry point gets
// requests that are as large as they may be, by callers who may do nothing.

const service = useService({
  env: { UNAUTHENTICATED_RATE_PER_SECOND: '10000', UNAUTHENTICATED_RATE_BURST: '10000' },
})
let callers: Record<string, Record<string, string>>

beforeAll(async () => {
  const rate = { perSecond: 10_000, burst: 10_000 }
  await service.ok('PATCH', '/settings', { rateLimit: rate, clientToken: rate })
  const weak = await service.newKey()
  const { json: browser } = await service.call('POST', '/client-tokens', { body: {} })
  callers = {
    'no credentials': {},
    'a key without capabilities': weak.headers,
    'a client token': { authorization: `Bearer ${browser.token}` },
  }
})

interface Hostile {
  title: string
  method: string
  path: string
  body: string
}

const isOfList = (type: unknown): boolean => (isNonNullType(type) ? isOfList(type.ofType) : isListType(type))

const BY_VARIABLES: Hostile[] = (['Query', 'Mutation'] as const).flatMap((root) =>
  fieldsOf(root).flatMap(({ name, args }) =>
    args
      .filter(({ type }) => isOfList(type) || String(type).includes('Input'))
      .flatMap((arg) =>
        Object.entries(VALUES).map(([kind, value]) => {
          const others = args.filter((each) => each !== arg && isNonNullType(each.type))
          const declared = [arg, ...others].map((each) => `$${each.name}: ${String(each.type)}`).join(', ')
          const given = [arg, ...others].map((each) => `${each.name}: $${each.name}`).join(', ')
          const query = `${root.toLowerCase()} (${declared}) { ${name}(${given}) { __typename } }`
          return {
            title: `${kind} for ${root}.${name}`,
            method: 'POST',
            path: '/graphql',
            body: `{"query":${JSON.stringify(query)},"variables":{"${arg.name}":${value}}}`,
          }
        }),
      ),
  ),
)

const BY_DOCUMENTS: Hostile[] = Object.entries(DOCUMENTS).map(([title, query]) => ({
  title,
  method: 'POST',
  path: '/graphql',
  body: JSON.stringify({ query, operationName: 'Q0' }),
}))

const BY_REST: Hostile[] = DESCRIBED_ROUTES.filter(({ route }) => route.method !== 'GET').flatMap(({ route, slots }) =>
  ['wrong entries', 'right entries', 'unknown fields'].map((kind) => {
    const name = slots.find((slot) => slot.isList && slot.in === 'body')?.name
    const value = VALUES[kind] ?? ''
    return {
      title: `${kind} for ${route.method} ${route.path}`,
      method: route.method,
      path: `/api/v1${route.path.replaceAll(/:\w+/g, newId())}`,
      body: name === undefined ? value : `{"${name}":${value}}`,
    }
  }),
)

async function costOf({ method, path, body }: Hostile, headers: Record<string, string>): Promise<number> {
  const cpu = countCpu()
  const response = await fetch(service.url + path, {
    method,
    headers: { 'content-type': 'application/json', accept: 'application/json', ...headers },
    body,
  })
  await response.text()
  const cost = cpu()
  // Else the limits of rates would hide what it costs.
  expect(response.status).not.toBe(429)
  return cost
}

/** The least of several: other work of this process does not count. */
async function leastOf(times: number, hostile: Hostile, headers: Record<string, string>, enough = 0): Promise<number> {
  let least = Infinity
  for (let n = 0; n < times && least > enough; n++) least = Math.min(least, await costOf(hostile, headers))
  return least
}

test.each(['no credentials', 'a key without capabilities', 'a client token'])(
  'by %s no request costs 50 times an ordinary refused one, nor 50 ms',
  async (name) => {
    const headers = callers[name] ?? {}
    const ordinary = { title: 'ordinary', method: 'POST', path: '/api/v1/comments/bulk', body: '{"ids":[]}' }
    await leastOf(50, ordinary, headers)
    const most = Math.min(50_000, 50 * (await leastOf(50, ordinary, headers)))
    const rest = name === 'a client token' ? [] : BY_REST
    const dear: string[] = []
    for (const hostile of [...BY_DOCUMENTS, ...BY_VARIABLES, ...rest]) {
      const cost = await leastOf(10, hostile, headers, most)
      if (cost > most) dear.push(`${hostile.title}: ${Math.round(cost / 1000)} ms of ${Math.round(most / 1000)}`)
    }
    expect(dear).toEqual([])
  },
  600_000,
)
