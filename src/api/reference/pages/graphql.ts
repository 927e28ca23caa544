import {
  astFromValue,
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLNamedType,
  type GraphQLObjectType,
  type GraphQLSchema,
  type GraphQLType,
  getNamedType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isIntrospectionType,
  isObjectType,
  isScalarType,
  isSpecifiedScalarType,
  isUnionType,
  lexicographicSortSchema,
  print,
} from 'graphql'

import type { Access } from '../../../core/access.ts'
import { ACCESS_EXTENSION, CLIENT_EXTENSION, THROWS_EXTENSION } from '../../../graphql/access.ts'
import { code, page } from './markdown.ts'
import { accessText } from '../operations.ts'

/**
 * `docs/reference/graphql.md`: the whole schema on one page, so that a browser's search finds each
 * name and word of it. Lists instead of tables: a changed line leaves the lines around it alone.
 */
export function graphqlPage(schema: GraphQLSchema): string {
  const sections = sectionsOf(lexicographicSortSchema(schema))
  return page('GraphQL schema', 'the GraphQL schema', [
    'Every field, argument, input and value of [`schema.graphql`](../../schema.graphql), with links between types: search it with the search of your browser. The [guides](../guides/graphql/README.md) tell how to use it. An argument without a default is optional unless its type ends with `!`. Each query and mutation lists the [errors](errors.md) of its own; any can also get `not_found` for what it names, and the errors of credentials, rates and wrong values.',
    ...sections.map(
      ([title, , found]) =>
        `**${title}:** ${found.map(([name]) => `[${name.split(' ').at(-1)}](#${anchor(name)})`).join(', ')}`,
    ),
    ...sections.flatMap(([title, introduction, found]) => [
      `## ${title}`,
      ...introduction,
      ...found.flatMap(([name, texts]) => [`### ${code(name)}`, ...texts.filter((text) => text !== '')]),
    ]),
  ])
}

function sectionsOf(schema: GraphQLSchema): readonly Section[] {
  const roots: readonly GraphQLNamedType[] = rootsOf(schema)
  const types = Object.values(schema.getTypeMap()).filter(
    (type) => !isIntrospectionType(type) && !isSpecifiedScalarType(type) && !roots.includes(type),
  )
  const parts = shownWithTheirMutation(schema)
  const lists = types.filter(isConnection)
  const edges = new Map(lists.map((list) => [nodeTypeOf(list, 'edges').name, list.name]))
  const link: Linker = (type) => {
    const named = getNamedType(type)
    const target = parts.get(named.name) ?? edges.get(named.name) ?? named.name
    const text = code(String(type))
    return isSpecifiedScalarType(named) ? text : `[${text}](#${anchor(target)})`
  }
  const rest = types.filter(
    (type) => !parts.has(type.name) && !edges.has(type.name) && !lists.some((it) => it === type),
  )
  return [
    ...rootsOf(schema).map((root): Section => {
      const kind = root.name.toLowerCase()
      const fields = Object.values(root.getFields()).map((field): Entry => [
        `${kind} ${field.name}`,
        rootField(field, { link, isMutation: root === schema.getMutationType() }),
      ])
      return [{ query: 'Queries', mutation: 'Mutations', subscription: 'Subscriptions' }[kind] ?? root.name, [], fields]
    }),
    ['Objects', [], entries(rest.filter(isObjectType), (type) => objectParts(type, link))],
    [
      'Interfaces and unions',
      [],
      entries(
        rest.filter((type) => isInterfaceType(type) || isUnionType(type)),
        (type) => [
          describe(type),
          `One of ${schema.getPossibleTypes(type).map(link).join(', ')}.`,
          isInterfaceType(type) ? fieldList(Object.values(type.getFields()), link) : '',
        ],
      ),
    ],
    ['Lists', [LISTS], entries(lists, (type) => listParts(type, link))],
    [
      'Inputs',
      ['An input of one mutation stands with that.'],
      entries(rest.filter(isInputObjectType), (type) => [
        describe(type),
        type.isOneOf ? 'Give exactly one of these, and not null:' : '',
        inputList(Object.values(type.getFields()), link),
      ]),
    ],
    [
      'Enums',
      [],
      entries(rest.filter(isEnumType), (type) => [
        describe(type),
        list(type.getValues().map((value) => [code(value.name), [value.description, deprecation(value)]])),
      ]),
    ],
    ['Scalars', [], entries(rest.filter(isScalarType), (type) => [describe(type)])],
  ]
}

type Section = readonly [title: string, introduction: readonly string[], entries: readonly Entry[]]
type Entry = readonly [name: string, texts: readonly string[]]
type Linker = (type: GraphQLType) => string
type Item = readonly [name: string, texts: readonly (string | null | undefined)[], below?: string]

const LISTS =
  'Every list is a connection: `nodes` (the entries), `edges` (the entries with their cursors) and `pageInfo`. It takes `first`, 0 to 100 and 20 by default, and `after`, the `pageInfo.endCursor` of the previous page. Lists go forwards only: `last` and `before` are refused.'
const PAGING: ReadonlySet<string> = new Set(['first', 'after', 'last', 'before'])

const rootsOf = (schema: GraphQLSchema): GraphQLObjectType[] =>
  [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()].filter((type) => type != null)

/** GitHub's anchor of a heading that has only a name, or a kind and a name. */
const anchor = (name: string): string => name.toLowerCase().replace(' ', '-')

const entries = <T extends GraphQLNamedType>(types: readonly T[], of: (type: T) => string[]): Entry[] =>
  types.map((type) => [type.name, of(type)])

const describe = ({ description }: GraphQLNamedType): string => description ?? ''

const isConnection = (type: GraphQLNamedType): type is GraphQLObjectType =>
  isObjectType(type) && type.name.endsWith('Connection')

const nodeTypeOf = (type: GraphQLObjectType, field: string): GraphQLNamedType =>
  getNamedType(type.getFields()[field]?.type) ?? type

/** The inputs and answers of mutations, which stand with their mutation, and its heading. */
function shownWithTheirMutation(schema: GraphQLSchema): ReadonlyMap<string, string> {
  const fields = Object.values(schema.getMutationType()?.getFields() ?? {})
  return new Map(
    fields.flatMap(({ name, type, args }) =>
      [type, ...args.map((arg) => arg.type)].map((each) => [getNamedType(each).name, `mutation ${name}`] as const),
    ),
  )
}

function rootField(
  field: GraphQLField<unknown, unknown>,
  { link, isMutation }: { link: Linker; isMutation: boolean },
): string[] {
  const { description, type, args, extensions } = field
  const access = extensions[ACCESS_EXTENSION] as Access
  const client = access === 'reader' ? 'Also a client token with a reader.' : 'Also a client token.'
  const throws = (extensions[THROWS_EXTENSION] ?? []) as readonly string[]
  const head = [
    description ?? '',
    [accessText(access), ...(extensions[CLIENT_EXTENSION] === true ? [client] : [])].join(' '),
    throws.length === 0 ? '' : `Errors: ${throws.map((name) => `[${code(name)}](errors.md#${name})`).join(', ')}.`,
    deprecation(field),
  ]
  const answer = getNamedType(type)
  if (!isMutation || !isObjectType(answer)) {
    return [...head, `Answers ${link(type)}.`, argumentList(field, link)]
  }
  const input = args.map((arg) => getNamedType(arg.type)).find(isInputObjectType)
  return [
    ...head,
    ...(input === undefined
      ? []
      : [`Its ${code('input')}, ${code(`${input.name}!`)}:`, inputList(Object.values(input.getFields()), link)]),
    `Answers ${code(answer.name)}:`,
    fieldList(Object.values(answer.getFields()), link),
  ]
}

const objectParts = (type: GraphQLObjectType, link: Linker): string[] => [
  [describe(type), ...type.getInterfaces().map((each) => `A ${link(each)}.`)].join(' ').trim(),
  fieldList(Object.values(type.getFields()), link),
]

function listParts(type: GraphQLObjectType, link: Linker): string[] {
  const others = Object.values(type.getFields()).filter(({ name }) => !['edges', 'nodes', 'pageInfo'].includes(name))
  const edge = nodeTypeOf(type, 'edges')
  return [`Of ${link(nodeTypeOf(type, 'nodes'))}, with edges ${code(edge.name)}.`, fieldList(others, link)]
}

const fieldList = (fields: readonly GraphQLField<unknown, unknown>[], link: Linker): string =>
  list(
    fields.map((field) => [
      `${code(field.name)} ${link(field.type)}`,
      [field.description, deprecation(field)],
      argumentList(field, link),
    ]),
  )

/** The arguments of a field; those of every list are told once. */
function argumentList({ args }: GraphQLField<unknown, unknown>, link: Linker): string {
  const isList = [...PAGING].every((name) => args.some((arg) => arg.name === name))
  const own = isList ? args.filter(({ name }) => !PAGING.has(name)) : args
  const paging = `${code('first')}, ${code('after')}: [as in every list](#lists)`
  return [...(isList ? [`- ${paging}`] : []), inputList(own, link)].filter((text) => text !== '').join('\n')
}

const inputList = (inputs: readonly (GraphQLArgument | GraphQLInputField)[], link: Linker): string =>
  list(
    inputs.map((input) => {
      const given = input.defaultValue === undefined ? undefined : astFromValue(input.defaultValue, input.type)
      const standard = given == null ? '' : ` = ${code(print(given))}`
      return [`${code(input.name)} ${link(input.type)}${standard}`, [input.description, deprecation(input)]]
    }),
  )

const deprecation = ({ deprecationReason }: { deprecationReason?: string | null | undefined }): string =>
  deprecationReason == null ? '' : `**Deprecated:** ${deprecationReason}`

const list = (items: readonly Item[]): string =>
  items
    .map(([name, texts, below = '']) => {
      const text = texts.filter((each) => each != null && each !== '').join(' ')
      const line = `- ${name}${text === '' ? '' : `: ${text}`}`
      return below === '' ? line : `${line}\n${below.replace(/^/gm, '  ')}`
    })
    .join('\n')
