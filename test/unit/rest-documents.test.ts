import { print } from 'graphql'
import { expect, test } from 'vitest'

import { schema } from '../../src/api/execution/schema.ts'
import { RestDocuments } from '../../src/api/rest/document.ts'

const documents = new RestDocuments(schema, ['fragment ViewerFields on Reader { ...ReaderFields ban { until } }'])

const route = { route: 'GET /', summary: 'A route' } as const
const textOf = (definition: Parameters<RestDocuments['routeOf']>[0]): string =>
  print(documents.routeOf(definition).document).replaceAll(/\s+/g, ' ')

/** The fragment with all that REST shows of a type. */
const shownOf = (type: string): string => {
  const [fragment] = documents.fragmentsFor(`{ ...${type}Fields }`)
  return fragment === undefined ? '' : print(fragment).replaceAll(/\s+/g, ' ')
}

test('a route has the arguments of its field as variables, and a page of a list', () => {
  expect(textOf({ ...route, field: 'apiKeys' })).toMatch(
    /^query ApiKeys\(\$first: Int, \$after: String\) \{ apiKeys\(first: \$first, after: \$after\) \{ \.\.\.ApiKeyConnectionFields \} \}/,
  )
  expect(shownOf('ApiKeyConnection')).toContain('{ nodes { ...ApiKeyFields } pageInfo { ...PageInfoFields } }')
})

test('REST shows the fields of a type that cost no query and that all callers see', () => {
  expect(shownOf('Reader')).toBe('fragment ReaderFields on Reader { id externalId name avatarUrl profileUrl badges }')
  expect(shownOf('Discussion')).not.toMatch(/presence|comments/)
  expect(shownOf('Delivery')).not.toMatch(/body|headers/)
  expect(shownOf('Comment')).toContain('author { ...ReaderFields }')
})

test('a field may have another name in REST', () => {
  expect(shownOf('AuditActor')).toContain('id: actorId')
})

test('an answer without a body selects nothing', () => {
  expect(textOf({ ...route, field: 'deleteComment', status: 204 })).toContain('{ __typename }')
})

test('a fragment that is written by hand comes with those that it uses', () => {
  expect(textOf({ ...route, field: 'viewer', select: '...ViewerFields' })).toMatch(
    /fragment ViewerFields .*fragment ReaderFields /,
  )
})

test('a field, or a fragment, that does not exist is refused at the start', () => {
  expect(() => textOf({ ...route, field: 'nothing' })).toThrow('no query or mutation nothing')
  expect(() => textOf({ ...route, field: 'viewer', select: '...NothingFields' })).toThrow('no fragment NothingFields')
})
