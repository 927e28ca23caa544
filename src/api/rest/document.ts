import {
  type DefinitionNode,
  type DocumentNode,
  type FragmentDefinitionNode,
  getNamedType,
  type GraphQLSchema,
  isObjectType,
  Kind,
  OperationTypeNode,
  parse,
} from 'graphql'

import { fragmentName, restFragment } from '../../graphql/in-rest.ts'
import type { Route, RouteDefinition } from '../../graphql/route.ts'

interface Fragment {
  definition: FragmentDefinitionNode
  /** The names of the fragments that it spreads. */
  spreads: readonly string[]
}

/** Makes documents of operations, with the fragments that they use. */
export class RestDocuments {
  readonly #schema: GraphQLSchema
  readonly #fragments = new Map<string, Fragment>()

  /** `fragments` are the texts of those that are written by hand. */
  constructor(schema: GraphQLSchema, fragments: readonly string[]) {
    this.#schema = schema
    fragments.forEach((text) => this.#add(text))
  }

  /** A route with its document. Throws if it does not fit the schema. */
  routeOf({ route, status = 200, field, select, operation, lighter, ...given }: RouteDefinition): Route {
    const [method, path] = route.split(' ') as [Route['method'], string]
    const text = operation ?? operationOn(this.#schema, field, select ?? (status === 204 ? '__typename' : null))
    const made = { ...given, method, path, status, document: this.documentOf(text) }
    if (lighter === undefined) return made
    return { ...made, lighter: { ...lighter, document: this.documentOf(lighter.document) } }
  }

  documentOf(operation: string): DocumentNode {
    return { kind: Kind.DOCUMENT, definitions: [...definitionsIn(operation), ...this.fragmentsFor(operation)] }
  }

  /** The fragments that a text uses, directly or not, but for those that it has itself. */
  fragmentsFor(text: string): FragmentDefinitionNode[] {
    const own = new Set([...text.matchAll(/\bfragment (\w+)/g)].map(([, name]) => name))
    const used = new Map<string, FragmentDefinitionNode>()
    const use = (name: string): void => {
      if (own.has(name) || used.has(name)) return
      const { definition, spreads } = this.#fragments.get(name) ?? this.#derive(name)
      used.set(name, definition)
      spreads.forEach(use)
    }
    spreadsIn(text).forEach(use)
    return [...used.values()]
  }

  #derive(name: string): Fragment {
    const type = this.#schema.getType(name.replace(/Fields$/, ''))
    if (!isObjectType(type) || fragmentName(type.name) !== name) throw new Error(`there is no fragment ${name}`)
    return this.#add(restFragment(type))
  }

  #add(text: string): Fragment {
    const [definition] = definitionsIn(text)
    if (definition?.kind !== Kind.FRAGMENT_DEFINITION) throw new Error(`${text} is no fragment`)
    const fragment = { definition, spreads: spreadsIn(text) }
    this.#fragments.set(definition.name.value, fragment)
    return fragment
  }
}

/** By their texts: to walk the trees of all routes took 50 ms of a start, this takes 5 ms. */
const spreadsIn = (text: string): string[] => [...text.matchAll(/\.\.\.(\w+)/g)].map(([, name = '']) => name)

const definitionsIn = (text: string): readonly DefinitionNode[] => parse(text, { noLocation: true }).definitions

/** The arguments of lists, which go forwards alone in REST. */
const PAGE = ['first', 'after']
const OF_LISTS: ReadonlySet<string> = new Set([...PAGE, 'last', 'before'])

/** The operation on one field, whose variables are the field's arguments. */
function operationOn(schema: GraphQLSchema, name: string, select: string | null): string {
  const isMutation = schema.getMutationType()?.getFields()[name] !== undefined
  const kind = isMutation ? OperationTypeNode.MUTATION : OperationTypeNode.QUERY
  const field = schema.getRootType(kind)?.getFields()[name]
  if (field === undefined) throw new Error(`there is no query or mutation ${name}`)
  const own = field.args.filter((argument) => !OF_LISTS.has(argument.name))
  const args = [...own, ...PAGE.flatMap((argument) => field.args.find((each) => each.name === argument) ?? [])]
  const variables = listed(args.map((argument) => `$${argument.name}: ${String(argument.type)}`))
  const given = listed(args.map((argument) => `${argument.name}: $${argument.name}`))
  const selection = select ?? `...${fragmentName(getNamedType(field.type).name)}`
  return `${kind} ${name.charAt(0).toUpperCase()}${name.slice(1)}${variables} { ${name}${given} { ${selection} } }`
}

const listed = (texts: readonly string[]): string => (texts.length === 0 ? '' : `(${texts.join(', ')})`)
