import {
  buildSchema,
  type DocumentNode,
  execute,
  type ExecutionResult,
  type GraphQLSchema,
  isObjectType,
  parse,
} from 'graphql'
import { expect, test } from 'vitest'

import { createExecutor, type Operation } from '../../src/api/execution/jit.ts'
import { randomOf } from '../harness/random.ts'

const schema = buildSchema(
  'type Query { comment: Comment byId(id: ID!): Comment } type Comment { id: ID replies: [Comment] }',
)

/** A document that doubles with each fragment. */
function doubling(fragments: number): DocumentNode {
  const others = Array.from(
    { length: fragments },
    (_, n) => `fragment f${n + 1} on Comment { a: replies { ...f${n} } b: replies { ...f${n} } }`,
  )
  return parse(`{ comment { ...f${fragments} } } fragment f0 on Comment { id } ${others.join(' ')}`)
}

const caller = {} as NonNullable<Operation['contextValue']['caller']>

/** Executes operations with one cache, and tells of each whether it was compiled. */
function executor(of: GraphQLSchema) {
  let interpreted = 0
  const run = createExecutor(of, {
    interpret: (operation) => {
      interpreted++
      return execute(operation)
    },
  })
  return async (operation: Omit<Operation, 'schema'>): Promise<{ isCompiled: boolean; answer: ExecutionResult }> => {
    interpreted = 0
    const answer = await run({ schema: of, ...operation })
    return { isCompiled: interpreted === 0, answer }
  }
}

/** Which of the executions of one document were compiled. */
async function executions(document: DocumentNode, contextValue: Operation['contextValue'], times = 4) {
  const run = executor(schema)
  const all: boolean[] = []
  for (let n = 0; n < times; n++) all.push((await run({ document, contextValue })).isCompiled)
  return all
}

test('compiles a document at its third use', async () => {
  expect(await executions(parse('{ comment { id } }'), { caller })).toEqual([false, false, true, true])
})

test('does not compile for a caller without credentials', async () => {
  expect(await executions(parse('{ comment { id } }'), { caller: null })).toEqual([false, false, false, false])
})

test('never compiles a document whose expanded fragments have thousands of fields', async () => {
  expect(await executions(doubling(6), { caller })).toContain(true)
  expect(await executions(doubling(10), { caller })).not.toContain(true)
  // It would take all memory there is.
  expect(await executions(doubling(60), { caller })).not.toContain(true)
})

test('wrong variables get the same error, compiled or not', async () => {
  const document = parse('query ($id: ID!) { byId(id: $id) { id } }')
  const answers: ExecutionResult[] = []
  const run = executor(schema)
  for (let n = 0; n < 4; n++) {
    answers.push((await run({ document, contextValue: { caller }, variableValues: { id: { a: 1 } } })).answer)
  }
  expect(answers.map((answer) => JSON.stringify(answer))).toEqual(Array(4).fill(JSON.stringify(answers[0])))
  expect(answers[0]?.errors?.[0]?.locations).toEqual([{ line: 1, column: 8 }])
})

interface Thing {
  __typename: string
  name: string
  n: number
  depth: number
}

/** A schema with an interface, lists, and fields that answer at once or later. */
const things = buildSchema(`
  type Query { item: Item named: Named names: [Named] n: Int }
  type Mutation { item(n: Int! = 1): Item named: Named }
  interface Named { name: String n: Int item: Item named: Named names: [Named] }
  type Item implements Named { name: String n: Int item: Item named: Named names: [Named] own: Int }
  type Other implements Named { name: String n: Int item: Item named: Named names: [Named] other: Int }
`)
const thing = (__typename: string, depth: number): Thing => ({
  __typename,
  name: `${__typename}${depth}`,
  n: depth,
  depth,
})
for (const name of ['Query', 'Mutation', 'Item', 'Other']) {
  const type = things.getType(name)
  if (!isObjectType(type)) throw new Error(`${name} is no type of objects`)
  const fields = type.getFields()
  const below = (parent: unknown): number => ((parent as Thing | undefined)?.depth ?? 0) + 1
  if (fields.item !== undefined) {
    fields.item.resolve = async (parent) => {
      await new Promise((resolve) => setImmediate(resolve))
      return thing('Item', below(parent))
    }
  }
  if (fields.named !== undefined) fields.named.resolve = (parent) => thing('Other', below(parent))
  if (fields.names !== undefined) {
    fields.names.resolve = (parent) => [thing('Other', below(parent)), thing('Item', below(parent))]
  }
}

/** A random document whose fragments spread only later ones, and random variables for it. */
function randomRequest(random: () => number): { source: string; variables: Record<string, boolean> } {
  const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T
  const condition = (): string => {
    if (random() < 0.6) return ''
    const value = (): string => pick(['$a', '$b', '$c', 'true', 'false'])
    if (random() < 0.1) return ` @skip(if: ${value()}) @include(if: ${value()})`
    return ` @${pick(['skip', 'include'])}(if: ${value()})`
  }
  const leaves: Readonly<Record<string, readonly string[]>> = {
    Query: ['n'],
    Named: ['name', 'n'],
    Item: ['name', 'n', 'own'],
    Other: ['name', 'n', 'other'],
  }
  const within: Readonly<Record<string, readonly string[]>> = {
    Query: ['Query'],
    Named: ['Named', 'Item', 'Other'],
    Item: ['Named', 'Item'],
    Other: ['Named', 'Other'],
  }
  const objects: Readonly<Record<string, string>> = { item: 'Item', named: 'Named', names: 'Named' }
  const fragments = ['Query', 'Named', 'Item', 'Other', 'Named'].map((on, n) => ({ name: `f${n}`, on, n }))
  const selection = (type: string, depth: number, from: number): string => {
    const kind = random()
    const spreadable = fragments.filter(({ on, n }) => n >= from && within[type]?.includes(on))
    if (kind < 0.25 && spreadable.length > 0) return `...${pick(spreadable).name}${condition()}`
    if (kind < 0.4 && depth > 0) {
      const on = pick(within[type] ?? [])
      return `...${pick([` on ${on}`, on === type ? '' : ` on ${on}`])}${condition()} ${set(on, depth - 1, from)}`
    }
    if (kind < 0.65 && depth > 0) {
      const name = pick(Object.keys(objects))
      return `${pick(['', `x_${name}: `])}${name}${condition()} ${set(objects[name] ?? '', depth - 1, from)}`
    }
    const name = pick(['__typename', ...(leaves[type] ?? [])])
    return `${pick(['', '', `x_${name}: `, `y_${name}: `])}${name}${condition()}`
  }
  const set = (type: string, depth: number, from: number): string =>
    `{ ${Array.from({ length: 1 + Math.floor(random() * 5) }, () => selection(type, depth, from)).join(' ')} }`
  const defined = fragments.map(({ name, on, n }) => `fragment ${name} on ${on} ${set(on, 2, n + 1)}`)
  const source = `query ($a: Boolean!, $b: Boolean = true, $c: Boolean!) ${set('Query', 4, 0)} ${defined.join(' ')}`
  const variables = { a: random() < 0.5, c: random() < 0.5, ...(random() < 0.5 ? { b: random() < 0.5 } : {}) }
  return { source, variables }
}

/** The answer to the use of a document that is compiled. */
async function compiledAnswer(of: GraphQLSchema, document: DocumentNode, variableValues: Record<string, unknown> = {}) {
  const run = executor(of)
  const use = () => run({ document, contextValue: { caller }, variableValues })
  await use()
  await use()
  return use()
}

test('compiled documents answer their fields in the order of graphql-js', async () => {
  let compiled = 0
  for (let seed = 1; seed <= 200; seed++) {
    const { source, variables } = randomRequest(randomOf(seed))
    const document = parse(source)
    const expected = await execute({ schema: things, document, variableValues: variables })
    const { isCompiled, answer } = await compiledAnswer(things, document, variables)
    if (isCompiled) compiled++
    expect(JSON.stringify(answer), `seed ${seed}: ${source} with ${JSON.stringify(variables)}`).toBe(
      JSON.stringify(expected),
    )
  }
  expect(compiled).toBeGreaterThan(100)
})

const ORDERED: readonly [name: string, source: string, variables: Record<string, unknown>, answer: string][] = [
  [
    'a field after the one that its first, left-out selection stood before',
    '{ n @include(if: false) __typename n }',
    {},
    '{"__typename":"Query","n":null}',
  ],
  [
    'a fragment at its second spread, if the first is left out',
    'query ($a: Boolean!) { ...f @include(if: $a) x: __typename ...f } fragment f on Query { n }',
    { a: false },
    '{"x":"Query","n":null}',
  ],
  [
    'a fragment wherever it is spread, whatever is left out elsewhere',
    'query ($a: Boolean!) { named { ...f @skip(if: $a) } item { ...f } } fragment f on Named { n }',
    { a: true },
    '{"named":{},"item":{"n":1}}',
  ],
  [
    'a name that is special in JavaScript',
    '{ __proto__: n constructor: n }',
    {},
    '{"__proto__":null,"constructor":null}',
  ],
]

test.each(ORDERED)('answers %s', async (_name, source, variables, answer) => {
  const document = parse(source)
  expect(JSON.stringify(await execute({ schema: things, document, variableValues: variables }))).toBe(
    `{"data":${answer}}`,
  )
  expect(JSON.stringify((await compiledAnswer(things, document, variables)).answer)).toBe(`{"data":${answer}}`)
})

test('compiles a document again for other outcomes of its conditions', async () => {
  const run = executor(schema)
  const document = parse('query ($a: Boolean!) { comment { id @include(if: $a) } }')
  const compiled: boolean[] = []
  for (const a of [true, true, false, true, false, false]) {
    compiled.push((await run({ document, contextValue: { caller }, variableValues: { a } })).isCompiled)
  }
  expect(compiled).toEqual([false, false, false, true, false, true])
})

test('the fields of a mutation run one after the other, also after one with a refused argument', async () => {
  const document = parse('mutation ($n: Int = 1) { named { n } item(n: $n) { n } last: named { name } }')
  const { answer } = await compiledAnswer(things, document, { n: null })
  expect(answer.data).toEqual({ named: { n: 1 }, item: null, last: { name: 'Other1' } })
  expect(answer.errors?.map(({ path }) => path)).toEqual([['item']])
})
