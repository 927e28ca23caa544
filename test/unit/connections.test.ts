import { getNamedType, type GraphQLObjectType, isObjectType } from 'graphql'
import { expect, test } from 'vitest'

import { schema } from '../../src/api/execution/schema.ts'

const objects = Object.values(schema.getTypeMap()).filter(isObjectType)
const connections = objects.filter(({ name }) => name.endsWith('Connection'))

const fieldsOf = (type: GraphQLObjectType): Record<string, string> =>
  Object.fromEntries(Object.values(type.getFields()).map(({ name, type: of }) => [name, String(of)]))

test('each type that is listed has one connection and one edge, named after it', () => {
  expect(connections.length).toBeGreaterThan(12)
  for (const connection of connections) {
    const node = connection.name.replace(/Connection$/, '')
    expect(isObjectType(schema.getType(node)), connection.name).toBe(true)
    expect(fieldsOf(connection)).toMatchObject({
      edges: `[${node}Edge!]!`,
      nodes: `[${node}!]!`,
      pageInfo: 'PageInfo!',
    })
    expect(fieldsOf(schema.getType(`${node}Edge`) as GraphQLObjectType)).toEqual({
      node: `${node}!`,
      cursor: 'String!',
    })
  }
})

test('every connection is used, and takes the arguments of paging', () => {
  const lists = objects.flatMap((type) =>
    Object.values(type.getFields()).filter((field) => connections.includes(getNamedType(field.type) as never)),
  )
  expect(new Set(lists.map(({ type }) => getNamedType(type)))).toEqual(new Set(connections))
  for (const { name, args } of lists) {
    expect(
      args.map((arg) => `${arg.name}: ${String(arg.type)}`),
      name,
    ).toEqual(expect.arrayContaining(['first: Int', 'after: String']))
  }
})
