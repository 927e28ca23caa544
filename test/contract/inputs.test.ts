import { getNamedType, isInputObjectType, print } from 'graphql'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { variableTypes } from '../../src/api/execution/input.ts'
import { schema } from '../../src/api/execution/schema.ts'
import { type Input, inputsOf, inputSchema } from '../../src/api/reference/inputs.ts'
import { operationOf } from '../../src/api/rest/handler.ts'
import { createComponents, type Schema, withoutNull } from '../../src/api/reference/json-schema.ts'
import { expectDetailOf } from '../harness/assertions.ts'
import { effort } from '../harness/effort.ts'
import { callerFor, furnish, READER, resourceOf, type Side } from '../harness/resources.ts'
import { type DescribedRoute, DESCRIBED_ROUTES, requestOf, sampleOf } from '../harness/routes.ts'
import { startService, type TestService } from '../harness/service.ts'

let service: TestService
let side: Side

beforeAll(async () => {
  service = await startService({ worker: false })
  side = await furnish(service, service, 'furnished')
})
afterAll(() => service.close())

/** One thing that is wrong with a request. */
interface Wrong {
  title: string
  described: DescribedRoute
  input: Input
  /** Undefined to leave it out. */
  value: unknown
  /** What may be said of it. */
  code: string
}

const components = createComponents()

function schemaOf({ type, shape }: Input): Schema {
  const told = withoutNull(inputSchema(type, components, shape)).shape
  const { $ref } = told
  return typeof $ref === 'string' ? (components.schemas[$ref.split('/').at(-1) ?? ''] ?? {}) : told
}

const BODY_FIELDS = DESCRIBED_ROUTES.flatMap((described) =>
  inputsOf(schema, described.route).flatMap((input) => (input.in === 'body' ? [{ described, input }] : [])),
)
const titleOf = ({ title }: DescribedRoute, { name }: Input): string => `${title} ${name}`

const MISSING: Wrong[] = BODY_FIELDS.filter(({ input }) => input.isRequired).map(({ described, input }) => ({
  title: titleOf(described, input),
  described,
  input,
  value: undefined,
  code: 'required',
}))

const NULL: Wrong[] = MISSING.map((wrong) => ({ ...wrong, value: null, code: 'wrong_type' }))

const WRONG_TYPE: Wrong[] = BODY_FIELDS.map(({ described, input }) => {
  const { type, enum: values } = schemaOf(input)
  const value = type === 'object' ? 'a text' : { surprise: 1 }
  return {
    title: titleOf(described, input),
    described,
    input,
    value,
    code: values === undefined ? 'wrong_type' : 'not_allowed',
  }
})

interface Item {
  type?: string
  $ref?: string
}

/** Entries of lists differ. The only objects in lists are headers and badges of the settings. */
function entryOf(item: Item | undefined, list: string, n: number): unknown {
  if (item?.type === 'integer') return n + 1
  if (item?.type !== 'object' && item?.$ref === undefined) return `entry-${n}`
  return list === 'badges' ? { id: `b${n}`, label: 'A badge' } : { name: `X-${n}`, value: 'v' }
}

const OUT_OF_BOUNDS: Wrong[] = BODY_FIELDS.flatMap(({ described, input }) => {
  const { items, ...bounds } = schemaOf(input) as { items?: Item }
  const { maxLength, maximum, minimum, maxItems, minItems } = bounds as Record<string, number | undefined>
  const wrong = (what: string, value: unknown, code: string): Wrong => ({
    title: `${titleOf(described, input)}: ${what}`,
    described,
    input,
    value,
    code,
  })
  return [
    ...(maxLength === undefined ? [] : [wrong('too long', 'a'.repeat(maxLength + 1), 'too_long')]),
    ...(maximum === undefined ? [] : [wrong('too large', maximum + 1, 'too_large')]),
    ...(minimum === undefined ? [] : [wrong('too small', minimum - 1, 'too_small')]),
    ...(maxItems === undefined
      ? []
      : [
          wrong(
            'too many',
            Array.from({ length: maxItems + 1 }, (_, n) => entryOf(items, input.name, n)),
            'too_long',
          ),
        ]),
    ...(minItems === undefined || minItems === 0 ? [] : [wrong('too few', [], 'too_short')]),
  ]
})

async function headersOf(described: DescribedRoute): Promise<Record<string, string>> {
  const { access, route } = described
  if (access === 'public') return { 'x-api-key': '' }
  const caller = await callerFor(service, side, described)
  return route.path.startsWith('/admin/') ? caller : { ...caller, ...(await side.as(READER)) }
}

/** Whether the body must have exactly one of its fields. */
function takesOneOf({ route }: DescribedRoute): boolean {
  const type = variableTypes(schema, operationOf(route).variableDefinitions ?? []).get('input')
  const named = getNamedType(type)
  return isInputObjectType(named) && named.isOneOf
}

/** The route's request, right but for the one thing. */
function requestWith({ described, input, value }: Wrong): { path: string; body: Record<string, unknown> } {
  const { path, body } = requestOf(described, (slot) =>
    slot.isId ? side.ids[resourceOf(described, slot)] : sampleOf(slot),
  )
  const { [input.name]: _, ...others } = body ?? {}
  const rest = takesOneOf(described) ? {} : others
  return { path, body: value === undefined ? rest : { ...rest, [input.name]: value } }
}

async function expectRefused(wrong: Wrong): Promise<void> {
  const { described, input, code } = wrong
  const { path, body } = requestWith(wrong)
  const answer = await service.call(described.route.method, path, { body, headers: await headersOf(described) })
  expect(answer.json, answer.text).toMatchObject({ status: 422, code: 'validation_failed' })
  const pointers = (answer.json.errors as { pointer: string; code: string }[]).map((error) => [
    error.pointer.split('/')[1],
    error.code,
  ])
  expect(pointers, answer.text).toContainEqual([input.name, code])
  expect(new Set(pointers.map(([name]) => name))).toEqual(new Set([input.name]))
  expectDetailOf(answer)
}

/** The same in the variables of the route's own operation. */
async function expectRefusedByGraphQL(wrong: Wrong): Promise<void> {
  const { described } = wrong
  const query = print(described.route.document)
  const { path, body } = requestWith(wrong)
  const template = described.route.path.split('/')
  const inPath = path
    .split('/')
    .flatMap((part, index) => (template[index]?.startsWith(':') ? [[template[index].slice(1), part]] : []))
  const given = { ...(Object.fromEntries(inPath) as object), ...body }
  const variables = query.includes('$input') ? { input: given } : given
  const answer = await service.call('POST', '/../../graphql', {
    body: { query, variables },
    headers: await headersOf(described),
  })
  const [error] = (answer.json.errors ?? []) as { extensions: object }[]
  expect(error?.extensions, answer.text).toMatchObject({ code: 'validation_failed', status: 422 })
}

const named = (wrongs: readonly Wrong[]) => wrongs.map((wrong) => [wrong.title, wrong] as const)

describe.each([
  ['a required field that is missing: 422 with its pointer', MISSING],
  ['a required field that is null: 422 with its pointer', NULL],
  ['a field of the wrong type: 422 with its pointer', WRONG_TYPE],
  ['a value out of its bounds: 422 with its pointer', OUT_OF_BOUNDS],
])('%s', (_title, wrongs) => {
  test.each(named(wrongs))('%s', async (_name, wrong) => {
    await expectRefused(wrong)
    // On the embedded defaults a third of them.
    if (wrongs.indexOf(wrong) % effort(1, 3) === 0) await expectRefusedByGraphQL(wrong)
  })
})

describe('a query parameter that is wrong: 422 with its pointer', () => {
  const lists = DESCRIBED_ROUTES.filter(({ isPaged }) => isPaged)
  test.each(lists.map((described) => [described.title, described] as const))('%s', async (_title, described) => {
    const { path } = requestOf(described, (slot) =>
      slot.isId ? side.ids[resourceOf(described, slot)] : sampleOf(slot),
    )
    const enums = inputsOf(schema, described.route).filter(
      (input) => input.in === 'query' && schemaOf(input).enum !== undefined,
    )
    const wrongs = [
      ['limit', '0', 'too_small'],
      ['limit', '101', 'too_large'],
      ['limit', 'ten', 'wrong_type'],
      ['limit', '1.5', 'wrong_type'],
      ['cursor', 'made-up', 'invalid'],
      ...enums.map(({ name }) => [name, 'surprise', 'not_allowed'] as const),
    ] as const
    for (const [name, value, code] of wrongs) {
      const url = `${path.split('?')[0]}?${name}=${value}`
      const answer = await service.call('GET', url, { headers: await headersOf(described) })
      expectDetailOf(answer)
      expect(answer.json, url).toMatchObject({
        status: 422,
        code: 'validation_failed',
        errors: [{ pointer: `/${name}`, code }],
      })
    }
  })
})

test.each<readonly [what: string, method: string, path: string, body: object | undefined]>([
  ['an unknown field', 'POST', '/discussions', { externalId: 'x', color: 'red' }],
  ['a body that is a list', 'POST', '/discussions', []],
  ['a body where none is taken', 'DELETE', `/webhooks/${newId()}`, []],
  ['an unknown parameter', 'GET', '/discussions?color=red', undefined],
  ['an unknown parameter of a stream', 'GET', `/stream/${newId()}?color=red`, undefined],
  ['neither of two', 'POST', '/stream/ticket', {}],
  ['an external id that is too long', 'GET', `/discussions/by-external/${'x'.repeat(513)}`, undefined],
  ['a policy out of its bounds', 'POST', '/webhooks', { url: 'https://a.example', policy: { maxAttempts: 99 } }],
  ['a setting out of its bounds', 'PATCH', '/settings', { stream: { replayHours: 0 }, maxLinks: -1 }],
  ['a span of analytics', 'GET', '/analytics/summary?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z', undefined],
])('the detail names the error and its place: %s', async (_what, method, path, body) => {
  const answer = await service.call(method, path, body === undefined ? {} : { body })
  expect(answer.json).toMatchObject({ status: 422, code: 'validation_failed' })
  expectDetailOf(answer)
})

// PostgreSQL refuses NUL in any text.
const WITH_TEXTS = DESCRIBED_ROUTES.filter(({ slots }) => slots.length > 0)
test.each(WITH_TEXTS.map((described) => [described.title, described] as const))(
  'NUL in a text fails nothing: %s',
  async (_title, described) => {
    const { route, slots } = described
    const headers = await headersOf(described)
    for (const wrong of slots.filter(({ isId, isList }) => isId || !isList)) {
      const { path, body } = requestOf(described, (slot) => {
        if (slot === wrong) return 'a\0b'
        return slot.isId ? side.ids[resourceOf(described, slot)] : sampleOf(slot)
      })
      const answer = await service.call(route.method, path, { headers, ...(body && { body }) })
      expect(answer.status, `${wrong.name}: ${answer.text}`).toBeLessThan(500)
      // Lists of ids are answered id by id.
      if (!wrong.isList) expect(answer.status, `${wrong.name}: ${answer.text}`).toBeGreaterThanOrEqual(400)
    }
  },
)

test('there are such parameters and fields', () => {
  const counts = [MISSING, NULL, WRONG_TYPE, OUT_OF_BOUNDS].map(({ length }) => length)
  expect(Math.min(...counts)).toBeGreaterThan(15)
})
