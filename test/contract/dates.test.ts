import * as fc from 'fast-check'
import { getNamedType, print } from 'graphql'
import { beforeAll, describe, expect, test } from 'vitest'

import { encodeCursor, instantOf } from '../../src/core/input/cursor.ts'
import { ServiceError } from '../../src/core/errors.ts'
import { schema } from '../../src/api/execution/schema.ts'
import { type Input, inputsOf } from '../../src/api/reference/inputs.ts'
import { effort } from '../harness/effort.ts'
import { furnish, keyOf, resourceOf, type Side } from '../harness/resources.ts'
import { asInput, type DescribedRoute, DESCRIBED_ROUTES, requestOf, sampleOf } from '../harness/routes.ts'
import { useService } from '../harness/service.ts'

const ID = '01980000-0000-7000-8000-000000000000'

const service = useService()
let side: Side

beforeAll(async () => {
  side = await furnish(service, service, 'dates')
})

/** Texts that name no instant from 1970 to 9999, and the code with which they are refused. */
const REFUSED: readonly (readonly [text: string, code: string])[] = [
  ['0000-01-01T00:00:00Z', 'too_small'],
  ['0001-01-01T00:00:00Z', 'too_small'],
  ['0001-01-01T00:00:00+14:00', 'too_small'],
  ['1969-12-31T23:59:59.999Z', 'too_small'],
  ['1970-01-01T00:00:00+00:01', 'too_small'],
  ['9999-12-31T23:59:59-00:01', 'too_large'],
  ['10000-01-01T00:00:00Z', 'wrong_type'],
  ['+275760-09-13T00:00:00Z', 'wrong_type'],
  ['-000001-01-01T00:00:00Z', 'wrong_type'],
  ['-271821-04-20T00:00:00Z', 'wrong_type'],
  ['2026-02-30T00:00:00Z', 'wrong_type'],
  ['2026-13-01T00:00:00Z', 'wrong_type'],
  ['2026-00-00T00:00:00Z', 'wrong_type'],
  ['2016-12-31T23:59:60Z', 'wrong_type'],
  ['2026-01-01T24:00:00Z', 'wrong_type'],
  ['2026-01-01T00:00:00+99:99', 'wrong_type'],
  ['2026-01-01T00:00:00', 'wrong_type'],
  ['2026-01-01', 'wrong_type'],
  ['4714-11-24 BC', 'wrong_type'],
  ['infinity', 'wrong_type'],
  ['-infinity', 'wrong_type'],
  ['Infinity', 'wrong_type'],
  ['NaN', 'wrong_type'],
  ['now', 'wrong_type'],
  ['0', 'wrong_type'],
  ['', 'wrong_type'],
]
/** JSON that is no text. */
const NO_TEXTS: readonly unknown[] = [0, -1, 1e300, 1_700_000_000_000, true, {}, ['2026-01-01T00:00:00Z', 'x']]

interface DateInput {
  described: DescribedRoute
  input: Input
}

const DATE_INPUTS: DateInput[] = DESCRIBED_ROUTES.flatMap((described) =>
  inputsOf(schema, described.route)
    .filter(({ type }) => getNamedType(type).name === 'DateTime')
    .map((input) => ({ described, input })),
)
const named = DATE_INPUTS.map((each) => [`${each.described.title} ${each.input.name}`, each] as const)

/** All of them, or on the embedded defaults a quarter: other ones for each input. */
const someOf = <T>(values: readonly T[], input: DateInput): T[] =>
  values.filter((_value, n) => (n + DATE_INPUTS.indexOf(input)) % effort(1, 4) === 0)

async function headersOf({ route: { path } }: DescribedRoute): Promise<Record<string, string>> {
  if (path.startsWith('/admin/')) return { authorization: `Bearer ${side.adminToken}` }
  return path.startsWith('/readers/me') ? { ...keyOf(side), ...(await service.as('ann')) } : keyOf(side)
}

async function ask({ described, input }: DateInput, value: unknown) {
  const { path, body } = requestOf(described, (slot) =>
    slot.isId ? side.ids[resourceOf(described, slot)] : sampleOf(slot),
  )
  const headers = await headersOf(described)
  if (input.in === 'body') {
    return service.call(described.route.method, path, { headers, body: { ...body, [input.name]: value } })
  }
  const query = `${path.includes('?') ? '&' : '?'}${input.name}=${encodeURIComponent(String(value))}`
  return service.call(described.route.method, `${path}${query}`, { headers })
}

/** The route's own operation, with the value as a variable. */
async function askGraphQL({ described, input }: DateInput, value: unknown) {
  const query = print(described.route.document)
  const { body, path } = requestOf(described, (slot) =>
    slot.isId ? side.ids[resourceOf(described, slot)] : sampleOf(slot),
  )
  const parts = path.split(/[/?]/)
  const inPath = described.route.path
    .split('/')
    .flatMap((part, n) => (part.startsWith(':') ? [[part.slice(1), parts[n]] as const] : []))
  const given = { ...(Object.fromEntries(inPath) as object), ...body }
  const headers = await headersOf(described)
  if (!query.includes('$input')) {
    const answer = await service.graphql(query, { ...given, [input.name]: value }, headers)
    return { answer, pointer: `/variables/${input.name}` }
  }
  // Of a choice, this one alone.
  const own = asInput(described, { [input.name]: value })
  const answer = await service.graphql(query, { input: { ...asInput(described, given), ...own } }, headers)
  const [place = ''] = Object.keys(own)
  return { answer, pointer: `/variables/input/${place}${place === input.name ? '' : `/${input.name}`}` }
}

describe('every date that a request can name', () => {
  test('is in this list', () => expect(DATE_INPUTS.length).toBeGreaterThan(9))

  test.each(named)('is refused out of range: 422 with its pointer: %s', async (_title, each) => {
    for (const [text, code] of someOf(REFUSED, each)) {
      const rest = await ask(each, text)
      expect(rest.json, text).toMatchObject({
        status: 422,
        code: 'validation_failed',
        errors: [{ pointer: `/${each.input.name}`, code }],
      })
      expect(rest.status).toBe(422)
      const { answer, pointer } = await askGraphQL(each, text)
      expect(answer.json.errors, text).toMatchObject([
        { extensions: { code: 'validation_failed', status: 422, errors: [{ pointer, code }] } },
      ])
      expect(answer.status).toBe(422)
    }
  })

  test.each(named)('is refused if it is not a text: %s', async (_title, each) => {
    for (const value of someOf(NO_TEXTS, each)) {
      if (each.input.in === 'body') expect((await ask(each, value)).status, JSON.stringify(value)).toBe(422)
      const { answer } = await askGraphQL(each, value)
      expect(answer.json.errors, JSON.stringify(value)).toMatchObject([{ extensions: { status: 422 } }])
    }
  })

  test.each(named)('may be the first or the last instant: %s', async (_title, each) => {
    for (const text of ['1970-01-01T00:00:00Z', '9999-12-31T23:59:59.999Z', '9999-12-31T00:00:00Z']) {
      expect((await ask(each, text)).status, text).toBeLessThan(500)
    }
  })
})

test.each([
  ['{ auditLog(from: "0001-01-01T00:00:00Z") { edges { cursor } } }'],
  ['{ auditLog(from: 1) { edges { cursor } } }'],
  ['mutation { banReader(input: { readerId: "x", until: "2026-02-30T00:00:00Z" }) { reader { id } } }'],
  ['query ($from: DateTime = "0000-01-01T00:00:00Z") { auditLog(from: $from) { edges { cursor } } }'],
])('a date in a document: 422 at /query: %s', async (query) => {
  const { status, json } = await service.graphql(query)
  expect(json.errors).toMatchObject([{ extensions: { status: 422, errors: [{ pointer: '/query' }] } }])
  expect(status).toBe(422)
})

describe('a date in a cursor', () => {
  test('is from 1970 to 9999, or refused', () => {
    const texts = fc.oneof(
      fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
      fc.constantFrom(...REFUSED.map(([text]) => text)),
      fc.string(),
    )
    fc.assert(
      fc.property(texts, (text) => {
        try {
          expect(instantOf(text)).toMatch(/^(19[7-9]\d|[2-9]\d{3})-/)
        } catch (error) {
          expect(error).toBeInstanceOf(ServiceError)
        }
      }),
    )
  })

  test.each([
    ['/discussions?sort=active', 'active', [ID]],
    ['/discussions/DISCUSSION/comments?sort=newest', 'newest', [ID]],
    ['/discussions/DISCUSSION/comments?sort=top', 'top', [ID, 0, 0]],
    ['/comments/COMMENT/reactions?', 'reactions', [ID]],
    ['/comments/COMMENT/reports?', 'reports', [ID]],
    ['/identity-secrets?', 'identity-secrets', ['abcdef01']],
  ] as const)('never fails the database: GET %s', async (path, sort, rest) => {
    for (const at of [...REFUSED.map(([text]) => text), '1e300', '253402300800000', '-1']) {
      const filled = path.replace('DISCUSSION', side.ids.discussion).replace('COMMENT', side.ids.comment)
      const cursor = encodeCursor(sort, at, ...rest)
      const { status, text } = await service.call('GET', `${filled}&cursor=${cursor}`, { headers: keyOf(side) })
      // An empty text is no date but the absence of a pin; a text of digits is milliseconds.
      expect([200, 422], `${at} ${text}`).toContain(status)
    }
  })
})
