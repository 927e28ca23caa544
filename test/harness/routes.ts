import {
  getNamedType,
  type GraphQLInputType,
  GraphQLNonNull,
  isInputObjectType,
  isListType,
  isNonNullType,
  getNullableType,
  Kind,
  type OperationDefinitionNode,
} from 'graphql'

import type { Access } from '../../src/core/access.ts'
import { schema } from '../../src/api/execution/schema.ts'
import { accessOfRoute, choicesIn, operationOf } from '../../src/api/rest/handler.ts'
import { variableTypes } from '../../src/api/execution/input.ts'
import type { Route } from '../../src/graphql/route.ts'
import { ROUTES } from '../../src/api/rest/routes.ts'

/** Something that a request must be given. */
export interface Slot {
  name: string
  in: 'path' | 'query' | 'body'
  /**
   * Names what is to be put in: the path's segment before it and its name (`comments/:id`), or a
   * field's name.
   */
  key: string
  /** Whether it is the id of something. Those are filled also where they may be left out. */
  isId: boolean
  isList: boolean
}

/** A route of the table, and what a request of it is made of. */
export interface DescribedRoute {
  title: string
  route: Route
  access: Access
  /** Whether it takes no API key, but a member's token. */
  needsToken: boolean
  /** The root field of GraphQL that it stands for. */
  field: string
  slots: readonly Slot[]
  /** Whether it is a list with `limit` and `cursor`. */
  isPaged: boolean
}

/** Fields of a capability that need a person. */
const OF_PERSONS: ReadonlySet<string> = new Set(['claimComments', 'releaseClaims'])

/** Every REST route as the tests that are made from the table see it. */
export const DESCRIBED_ROUTES: readonly DescribedRoute[] = ROUTES.map((route) => {
  const operation = route.document.definitions.find(
    (definition): definition is OperationDefinitionNode => definition.kind === Kind.OPERATION_DEFINITION,
  )
  const root = operation?.selectionSet.selections[0]
  if (operation === undefined || root?.kind !== Kind.FIELD) throw new Error(`${route.path} has no operation`)
  const types = variableTypes(schema, operation.variableDefinitions ?? [])
  const isPaged = types.has('first') && types.has('after')
  const access = accessOfRoute(schema, route)
  return {
    title: `${route.method} ${route.path}`,
    route,
    access,
    needsToken: access === 'admin' || access === 'member' || OF_PERSONS.has(root.name.value),
    field: root.name.value,
    slots: slotsOf(route, types),
    isPaged,
  }
})

function slotsOf(route: Route, types: ReadonlyMap<string, GraphQLInputType>): Slot[] {
  const fields = fieldsOf(types)
  const inPath = [...route.path.matchAll(/([^/]+)\/:(\w+)/g)].map(([, before = '', name = '']): Slot => {
    const type = fields.get(name)
    if (type === undefined) throw new Error(`${route.path}: the operation has no ${name}`)
    return { name, in: 'path', key: `${before}/:${name}`, ...kindOf(type) }
  })
  const taken = new Set(inPath.map(({ name }) => name))
  const where = route.method === 'GET' ? 'query' : 'body'
  const others = [...fields]
    .filter(([name, type]) => !taken.has(name) && (isNonNullType(type) || kindOf(type).isId))
    .map(([name, type]): Slot => ({ name, in: where, key: name, ...kindOf(type) }))
  return [...inPath, ...others]
}

/** The variables, or where they are one `input`, its fields. */
function fieldsOf(types: ReadonlyMap<string, GraphQLInputType>): Map<string, GraphQLInputType> {
  const input = types.get('input')
  const type = input === undefined ? undefined : getNamedType(input)
  if (type === undefined || !isInputObjectType(type)) return new Map(types)
  // Of an input that is a choice itself, the first field is chosen.
  const fields = Object.values(type.getFields()).slice(0, type.isOneOf ? 1 : undefined)
  return new Map(fields.map(({ name, type: of }) => firstChoice(of) ?? [name, of]))
}

/** The first field of a required `@oneOf` input: REST has it in the body itself. */
function firstChoice(type: GraphQLInputType): [string, GraphQLInputType] | undefined {
  const choice = getNullableType(type)
  if (!isNonNullType(type) || !isInputObjectType(choice) || !choice.isOneOf) return undefined
  const [first] = Object.values(choice.getFields())
  return first && [first.name, new GraphQLNonNull(getNullableType(first.type))]
}

function kindOf(type: GraphQLInputType): { isId: boolean; isList: boolean } {
  return { isId: getNamedType(type).name === 'ID', isList: isListType(getNullableType(type)) }
}

/** The fields of a body as the operation's input has them: a choice has a field of its own. */
export function asInput({ route }: DescribedRoute, body: object): object {
  const input = variableTypes(schema, operationOf(route).variableDefinitions ?? []).get('input')
  const [choice] = input === undefined ? [] : choicesIn(input)
  if (choice === undefined) return body
  const isChosen = ([name]: [string, unknown]): boolean => name in choice.type.getFields()
  const chosen = Object.entries(body).filter(isChosen)
  const left = Object.entries(body).filter((entry) => !isChosen(entry))
  return Object.fromEntries(chosen.length === 0 ? left : [...left, [choice.name, Object.fromEntries(chosen)]])
}

/** A request of a route, each slot filled by `fill`. */
export function requestOf(
  { route, slots }: DescribedRoute,
  fill: (slot: Slot) => unknown,
): { path: string; body: Record<string, unknown> | undefined } {
  const valueOf = (slot: Slot): unknown => (slot.isList && slot.isId ? [fill(slot)] : fill(slot))
  let { path } = route
  const query = new URLSearchParams()
  const body: Record<string, unknown> = {}
  for (const slot of slots) {
    if (slot.in === 'path') path = path.replace(`:${slot.name}`, encodeURIComponent(String(fill(slot))))
    else if (slot.in === 'query') query.set(slot.name, String(fill(slot)))
    else body[slot.name] = valueOf(slot)
  }
  const takesBody = route.method !== 'GET' && slots.some((slot) => slot.in === 'body')
  return { path: query.size > 0 ? `${path}?${query}` : path, body: takesBody ? body : undefined }
}

/** Required values other than ids, by name. Add new ones here. */
const SAMPLES: Readonly<Record<string, unknown>> = {
  body: 'A comment',
  type: 'like',
  trust: 'hold',
  badges: [],
  reason: 'spam',
  action: 'approve',
  externalId: 'shared-page',
  'by-external/:externalId': 'shared-page',
  externalIds: ['shared-page'],
  words: ['absent'],
  manifest: { sample: '{ __typename }' },
  label: 'A label',
  name: 'A name',
  origins: ['https://www.example.com'],
  text: 'A text',
  capabilities: [],
  url: 'https://127.0.0.1:9/hook',
  on: ['comment_waiting'],
  kind: 'slack',
  email: 'somebody@example.com',
  password: 'not the password',
  role: 'analyst',
  code: '123456',
  token: 'in_unknown',
  tenant: 'demo',
  current: 'not the password',
  new: 'another password',
  eventType: 'comment_created',
  from: '2026-01-01T00:00:00.000Z',
  source: 'jsonl',
  fileName: 'items.jsonl',
  bytes: 5,
}

/** A value for a slot that is no id. Throws for an unknown slot. */
export function sampleOf({ key }: Slot): unknown {
  if (!Object.hasOwn(SAMPLES, key)) throw new Error(`test/harness/routes.ts needs a sample value for ${key}`)
  return SAMPLES[key]
}
