import {
  type ConstDirectiveNode,
  type DefinitionNode,
  GraphQLSchema,
  Kind,
  lexicographicSortSchema,
  parse,
  print,
  printSchema,
} from 'graphql'

// Without a library: Apollo's own (2.15) needs Node 22, and the Pothos plugin needs Apollo's.

/** The oldest version with these directives, so that every gateway of Federation 2 knows it. */
const LINK = `extend schema @link(url: "https://specs.apollo.dev/federation/v2.0", import: ["@key", "@shareable"])`

/** Apollo's composition (2.14) knows it only where it is defined. */
const ONE_OF = 'directive @oneOf on INPUT_OBJECT'

/** The names of the fields by which a gateway names objects of a type, by the type's name. */
type Keys = Readonly<Record<string, readonly string[]>>

const known = new WeakMap<GraphQLSchema, string>()

/**
 * The schema as a subgraph of Federation 2: the entities, and what they lead to. It has no fields
 * of queries and mutations, whose names other subgraphs have too (`me`, `settings`, `search`).
 */
export function subgraphOf(schema: GraphQLSchema, keys: Keys): string {
  const existing = known.get(schema)
  if (existing !== undefined) return existing
  const entities = Object.keys(keys).flatMap((name) => schema.getType(name) ?? [])
  const served = new GraphQLSchema({ types: entities })
  const { definitions } = parse(printSchema(lexicographicSortSchema(served)))
  const shown = definitions.flatMap((definition) => inSubgraph(definition, keys)).map(print)
  const text = `${[LINK, ONE_OF, ...shown].join('\n\n')}\n`
  known.set(schema, text)
  return text
}

function inSubgraph(definition: DefinitionNode, keys: Keys): DefinitionNode[] {
  if (!('name' in definition) || definition.name === undefined) return [definition]
  const { value: name } = definition.name
  if (definition.kind !== Kind.OBJECT_TYPE_DEFINITION) return [definition]
  // Each subgraph with lists has PageInfo.
  const directives = name === 'PageInfo' ? ['@shareable'] : (keys[name] ?? []).map((key) => `@key(fields: "${key}")`)
  return [{ ...definition, directives: parseDirectives(directives.join(' ')) }]
}

function parseDirectives(text: string): readonly ConstDirectiveNode[] {
  const [type] = parse(`type T ${text}`).definitions
  return type?.kind === Kind.OBJECT_TYPE_DEFINITION ? (type.directives ?? []) : []
}
