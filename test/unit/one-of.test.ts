import { buildSchema, parse } from 'graphql'
import { describe, expect, test } from 'vitest'

import { documentErrors } from '../../src/graphql/documents/rules.ts'
import { checkInput } from '../../src/api/execution/input.ts'
import { variableErrors } from '../../src/api/execution/variables.ts'
import { schema as ours } from '../../src/api/execution/schema.ts'
import { ServiceError } from '../../src/core/errors.ts'

const schema = buildSchema(`
  input By @oneOf { id: ID name: String }
  input Deep { by: By! all: [By!] deep: Deep }
  type Query { one(by: By!): Int some(by: By): Int deep(deep: Deep!): Int all(by: [By!]!): Int }
`)

/** The errors of a document, or else of its variables, as `pointer code`. */
function errorsOf(source: string, variables: Readonly<Record<string, unknown>> = {}): string[] {
  const document = parse(source)
  const wrong = documentErrors(schema, document, { introspection: true })
  const errors = wrong.length > 0 ? wrong : variableErrors(schema, document, null, variables)
  return errors.flatMap(({ originalError }) =>
    originalError instanceof ServiceError
      ? (originalError.extras.errors ?? []).map(({ pointer, code }) => `${pointer} ${code}`)
      : ['without a code'],
  )
}

const LITERALS: readonly [value: string, isRight: boolean][] = [
  ['{ id: "a" }', true],
  ['{ name: "a" }', true],
  ['{ id: 1 }', true],
  ['{}', false],
  ['{ id: "a", name: "b" }', false],
  ['{ id: null }', false],
  ['{ id: "a", name: null }', false],
  ['{ id: null, name: null }', false],
  ['{ other: "a" }', false],
]

describe('a literal', () => {
  test.each(LITERALS)('%s', (value, isRight) => {
    const deep = `{ by: { id: "a" }, all: [{ id: "a" }], deep: { by: ${value} } }`
    const inList = `{ by: { id: "a" }, all: [{ id: "a" }, ${value}] }`
    for (const source of [
      `{ one(by: ${value}) }`,
      `{ some(by: ${value}) }`,
      `{ all(by: [{ id: "a" }, ${value}]) }`,
      `{ all(by: ${value}) }`,
      `{ deep(deep: ${deep}) }`,
      `{ deep(deep: ${inList}) }`,
      `query ($by: By! = ${value}) { one(by: $by) }`,
      `query ($by: By = ${value}) { some(by: $by) }`,
      `query ($all: [By!]! = [{ id: "a" }, ${value}]) { all(by: $all) }`,
      `query ($deep: Deep! = ${deep}) { deep(deep: $deep) }`,
    ]) {
      const errors = errorsOf(source)
      expect(errors.length === 0, source).toBe(isRight)
      expect(errors.filter((error) => error !== '/query invalid')).toEqual([])
    }
  })

  test('takes a variable for its field only where that cannot be null', () => {
    expect(errorsOf('query ($id: ID!) { one(by: { id: $id }) }', { id: 'a' })).toEqual([])
    expect(errorsOf('query ($id: ID) { one(by: { id: $id }) }', { id: 'a' })).toEqual(['/query invalid'])
    expect(errorsOf('query ($id: ID = "a") { one(by: { id: $id }) }')).toEqual(['/query invalid'])
    expect(errorsOf('query ($id: ID) { some(by: { id: $id }) }')).toEqual(['/query invalid'])
    expect(errorsOf('query ($id: ID) { all(by: [{ name: "a" }, { id: $id }]) }')).toEqual(['/query invalid'])
    const inFragment = 'query ($id: ID) { ...f } fragment f on Query { deep(deep: { by: { id: $id } }) }'
    expect(errorsOf(inFragment)).toEqual(['/query invalid'])
    const two = 'query ($id: ID!, $name: String!) { one(by: { id: $id, name: $name }) }'
    expect(errorsOf(two, { id: 'a', name: 'b' })).toEqual(['/query invalid'])
  })
})

const VALUES: readonly [value: unknown, codes: readonly string[]][] = [
  [{ id: 'a' }, []],
  [{ name: 'a' }, []],
  [{ id: 1 }, []],
  [{}, [' exactly_one']],
  [{ id: 'a', name: 'b' }, [' exactly_one']],
  [{ id: null }, [' exactly_one']],
  [{ id: 'a', name: null }, [' exactly_one']],
  [{ id: null, name: null }, [' exactly_one']],
  [{ other: 'a' }, ['/other unknown_field']],
  [{ id: 'a', other: 'b' }, ['/other unknown_field']],
  [{ id: {} }, ['/id wrong_type']],
  ['a', [' wrong_type']],
]

describe('a variable', () => {
  test.each(VALUES)('%j', (value, codes) => {
    const at = (place: string): string[] => codes.map((code) => place + code)
    const sorted = (errors: readonly string[]): string[] => [...errors].sort()
    const expectAt = (source: string, variables: Record<string, unknown>, place: string): void =>
      expect(sorted(errorsOf(source, variables)), source).toEqual(sorted(at(place)))
    expectAt('query ($by: By!) { one(by: $by) }', { by: value }, '/variables/by')
    expectAt('query ($by: By) { some(by: $by) }', { by: value }, '/variables/by')
    expectAt('query ($by: By! = { id: "a" }) { one(by: $by) }', { by: value }, '/variables/by')
    expectAt('query ($all: [By!]!) { all(by: $all) }', { all: [{ id: 'a' }, value] }, '/variables/all/1')
    const deep = { by: { id: 'a' }, all: [{ id: 'a' }], deep: { by: value } }
    expectAt('query ($deep: Deep!) { deep(deep: $deep) }', { deep }, '/variables/deep/deep/by')
    expectAt('query ($by: By!) { deep(deep: { by: $by, all: [$by] }) }', { by: value }, '/variables/by')
  })

  test('null is a value of a nullable one', () => {
    expect(errorsOf('query ($by: By) { some(by: $by) }', { by: null })).toEqual([])
    expect(errorsOf('query ($by: By!) { one(by: $by) }', { by: null })).toEqual(['/variables/by wrong_type'])
    expect(errorsOf('query ($by: By!) { one(by: $by) }')).toEqual(['/variables/by required'])
  })
})

test("null stands for an absent field in REST's JSON", () => {
  const type = schema.getType('By') as never
  expect(checkInput(type, { id: 'a', name: null })).toEqual([])
  expect(checkInput(type, { id: null, name: null })).toMatchObject([{ pointer: '', code: 'exactly_one' }])
})

test('the inputs of the schema that name a thing in one of two ways', () => {
  const names = Object.values(ours.getTypeMap()).flatMap((type) =>
    'isOneOf' in type && type.isOneOf ? [type.name] : [],
  )
  expect(names).toEqual(expect.arrayContaining(['CreateStreamTicketInput', 'DiscussionBy']))
})
