import { Client, createRequest, type OperationResult } from '@urql/core'
import { cacheExchange } from '@urql/exchange-graphcache'
import {
  buildSchema,
  execute,
  getNullableType,
  getOperationAST,
  type GraphQLFieldResolver,
  type GraphQLOutputType,
  isAbstractType,
  isEnumType,
  isListType,
  isObjectType,
  isScalarType,
  parse,
  printSchema,
} from 'graphql'
import { afterEach, describe, expect, test, vi } from 'vitest'

import { schema } from '../../src/api/execution/schema.ts'
import * as documents from '../../src/clients/graphql/documents.ts'
import type { GraphqlClient, GraphqlRequest, GraphqlSink } from '../../src/clients/graphql/types.ts'
import { cacheConfig, engagementExchange } from '../../src/clients/graphql/urql.ts'

afterEach(() => vi.restoreAllMocks())

/** The service's schema, which answers with an example of each type. */
const examples = buildSchema(printSchema(schema))

let count = 0
function exampleOf(type: GraphQLOutputType): unknown {
  const named = getNullableType(type)
  if (isListType(named)) return [exampleOf(named.ofType)]
  if (isEnumType(named)) return named.getValues()[0]?.value
  if (isObjectType(named) || isAbstractType(named)) return {}
  if (!isScalarType(named)) return null
  return { Int: 1, Float: 1, Boolean: true, ID: `id-${++count}` }[named.name] ?? 'text'
}

const fieldResolver: GraphQLFieldResolver<unknown, unknown> = (_source, _args, _ctx, { returnType }) =>
  exampleOf(returnType)

/** Answers a request with examples; of an interface or a union, the objects are of the type `n`. */
const answerWith =
  (n: number) =>
  ({ query = '', variables = {} }: GraphqlRequest) =>
    execute({
      schema: examples,
      document: parse(query),
      variableValues: variables,
      fieldResolver,
      typeResolver: (_value, _ctx, _info, type) => {
        const possible = examples.getPossibleTypes(type).map(({ name }) => name)
        return possible[n % possible.length]
      },
    })

const DOCUMENTS = Object.entries(documents).flatMap(([name, document]) =>
  typeof document === 'object' ? [{ name, document }] : [],
)

/** A client whose requests are answered with examples of the type `n`, and what it is sent. */
function exampleClient(n = 0) {
  const sent: GraphqlRequest[] = []
  const query = async (request: GraphqlRequest) => {
    sent.push(request)
    return (await answerWith(n)(request)) as never
  }
  const follow = (request: GraphqlRequest, sink: GraphqlSink) => {
    void query(request).then((result) => {
      sink.next(result)
      sink.complete()
    })
    return () => undefined
  }
  const client = { fetch, query, subscribe: follow } as unknown as GraphqlClient
  return { sent, client }
}

const urqlWith = (client: GraphqlClient) =>
  new Client({
    url: 'http://localhost/graphql',
    preferGetMethod: false,
    exchanges: [cacheExchange(cacheConfig), engagementExchange(client)],
  })

const id = 'a'
const VARIABLES = { externalId: 'a', id, discussionId: id, lastEventId: '0' }
const INPUTS: Record<string, object> = {
  CreateComment: { discussion: { externalId: 'a' }, body: 'Text' },
  UpdateComment: { commentId: id, body: 'Text' },
  DeleteComment: { commentId: id },
  ToggleReaction: { commentId: id, type: 'like' },
  ReportComment: { commentId: id, reason: 'spam' },
}

describe("graphcache with the library's own documents", () => {
  const OPERATIONS = DOCUMENTS.filter(({ document }) => getOperationAST(document) != null)

  test('there are at least 10 of these', () => expect(OPERATIONS.length).toBeGreaterThanOrEqual(10))

  test.each(OPERATIONS)('$name writes no warnings', async ({ name, document }) => {
    const logged = (['debug', 'warn', 'error'] as const).map((level) => vi.spyOn(console, level).mockReturnValue())
    for (let n = 0; n < 5; n++) {
      const urql = urqlWith(exampleClient(n).client)
      const kind = getOperationAST(document)?.operation ?? 'query'
      const request = createRequest(document, { ...VARIABLES, input: INPUTS[name] })
      const results = urql.executeRequestOperation(urql.createRequestOperation(kind, request))
      const { data, error } = await new Promise<OperationResult>((resolve) => results.subscribe(resolve))
      expect(error).toBeUndefined()
      expect(Object.keys(data as object).length).toBeGreaterThan(0)
    }
    expect(logged.flatMap(({ mock }) => mock.calls).map(String)).toEqual([])
  })

  test('still tells of a field that an answer lacks', async () => {
    const warn = vi.spyOn(console, 'warn').mockReturnValue()
    const { client } = exampleClient()
    const lacking = { ...client, query: async () => ({ data: { publicSettings: { __typename: 'PublicSettings' } } }) }
    await urqlWith(lacking as never)
      .query(documents.PageSettings, {})
      .toPromise()
    expect(warn.mock.calls.map(String)).toEqual(
      expect.arrayContaining([expect.stringContaining('The field at `maxDepth` is `undefined`')]),
    )
  })
})

describe('the headers of an operation', () => {
  const headers = { 'Idempotency-Key': 'once' }

  test.each<[string, RequestInit | (() => RequestInit)]>([
    ['an object', { headers }],
    ['a list', { headers: Object.entries(headers) }],
    ['Headers', { headers: new Headers(headers) }],
    ['a function', () => ({ headers })],
  ])('as %s reach the request', async (_name, fetchOptions) => {
    const { sent, client } = exampleClient()
    const urql = urqlWith(client)
    await urql.mutation(documents.DeleteComment, { input: { commentId: id } }, { fetchOptions }).toPromise()
    expect(sent.map((request) => request.headers)).toEqual([{ 'idempotency-key': 'once' }])
  })

  test('are none where none are given', async () => {
    const { sent, client } = exampleClient()
    await urqlWith(client).query(documents.PageSettings, {}).toPromise()
    expect(sent.map((request) => request.headers)).toEqual([undefined])
  })
})
