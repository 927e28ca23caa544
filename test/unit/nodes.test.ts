import { isObjectType } from 'graphql'
import { expect, test } from 'vitest'

import { schema } from '../../src/api/execution/schema.ts'
import { NODE_TYPES } from '../../src/domains/nodes/nodes.ts'

const objects = Object.values(schema.getTypeMap()).filter(isObjectType)

/** Types with an id by which nothing is found. */
const NOT_FOUND_BY_ID: Readonly<Record<string, string>> = {
  Badge: 'a badge is part of the settings, where the tenant has chosen its id',
  DiscussionEvent: 'an event is found by its discussion and number',
}

test('every type with an id is a Node; what only names another object by its id calls it otherwise', () => {
  const withId = objects.filter((type) => type.getFields().id !== undefined).map(({ name }) => name)
  const nodes = objects.filter((type) => type.getInterfaces().some(({ name }) => name === 'Node'))
  expect(withId.toSorted()).toEqual([...nodes.map(({ name }) => name), ...Object.keys(NOT_FOUND_BY_ID)].toSorted())
  for (const node of nodes) expect(String(node.getFields().id?.type), node.name).toBe('ID!')
})

test('node finds every type that is a Node', () => {
  const nodes = objects.filter((type) => type.getInterfaces().some(({ name }) => name === 'Node'))
  expect([...NODE_TYPES].toSorted()).toEqual(nodes.map(({ name }) => name).toSorted())
})
