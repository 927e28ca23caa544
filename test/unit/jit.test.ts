import { buildSchema, type DocumentNode, execute, type ExecutionArgs, type ExecutionResult, parse } from 'graphql'
import { expect, test } from 'vitest'

import { useCompiledQueries } from '../../src/api/graphql/jit.ts'

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

const caller = {}

/** Which of the executions of one document were compiled. */
function executions(document: DocumentNode, contextValue: object, times = 4): boolean[] {
  const plugin = useCompiledQueries(schema)
  return Array.from({ length: times }, () => {
    let compiled = false
    const args = { schema, document, contextValue }
    void plugin.onExecute?.({ args, setExecuteFn: () => void (compiled = true) } as never)
    return compiled
  })
}

test('compiles a document at its third use', () => {
  expect(executions(parse('{ comment { id } }'), { caller })).toEqual([false, false, true, true])
})

test('does not compile for a caller without credentials', () => {
  expect(executions(parse('{ comment { id } }'), { caller: null })).toEqual([false, false, false, false])
})

test('never compiles a document whose expanded fragments have thousands of fields', () => {
  expect(executions(doubling(6), { caller })).toContain(true)
  expect(executions(doubling(10), { caller })).not.toContain(true)
  // It would take all memory there is.
  expect(executions(doubling(60), { caller })).not.toContain(true)
})

test('wrong variables get the same error, compiled or not', async () => {
  const document = parse('query ($id: ID!) { byId(id: $id) { id } }')
  const args = { schema, document, contextValue: { caller }, variableValues: { id: { a: 1 } } }
  const answers: ExecutionResult[] = []
  const plugin = useCompiledQueries(schema)
  for (let n = 0; n < 4; n++) {
    let run: (args: ExecutionArgs) => unknown = execute
    void plugin.onExecute?.({
      args,
      executeFn: execute,
      setExecuteFn: (other: typeof run) => void (run = other),
    } as never)
    answers.push((await run(args)) as ExecutionResult)
  }
  expect(answers.map((answer) => JSON.stringify(answer))).toEqual(Array(4).fill(JSON.stringify(answers[0])))
  expect(answers[0]?.errors?.[0]?.locations).toEqual([{ line: 1, column: 8 }])
})
