import { type GraphQLField, type GraphQLObjectType, getNamedType, isLeafType, isObjectType } from 'graphql'

import { isConnectionName, isMeasured } from './plan.ts'
import { isShownToSome } from './shown-with.ts'

const REST_EXTENSION = 'rest'

/** The extension of a field that REST shows only where a route names it, as it costs a query. */
export const ONLY_WHERE_NAMED = { [REST_EXTENSION]: false }

/** The extension of a field that has another name in REST. */
export const namedInRest = (name: string) => ({ [REST_EXTENSION]: name })

/** The name of the fragment with all that REST shows of a type. */
export const fragmentName = (type: string): string => `${type}Fields`

/**
 * The fragment with what REST shows of a type: every field, in their order, that takes no argument,
 * costs no query and is shown to all callers alike. Of a list it has one page.
 */
export function restFragment(type: GraphQLObjectType): string {
  const fields = Object.values(type.getFields())
  const shown = isConnectionName(type.name)
    ? `${shownField(type.getFields().nodes)} pageInfo { ...PageInfoFields }`
    : fields.filter(isShown).map(shownField).join(' ')
  return `fragment ${fragmentName(type.name)} on ${type.name} { ${shown} }`
}

type Field = GraphQLField<unknown, unknown>

const isShown = ({ args, extensions }: Field): boolean =>
  args.length === 0 && extensions[REST_EXTENSION] !== false && !isMeasured(extensions) && !isShownToSome(extensions)

function shownField(field: Field | undefined): string {
  if (field === undefined) return ''
  const name = field.extensions[REST_EXTENSION]
  const text = typeof name === 'string' ? `${name}: ${field.name}` : field.name
  const of = getNamedType(field.type)
  if (isLeafType(of)) return text
  if (!isObjectType(of)) throw new Error(`${field.name}: REST has no form for what is one of several types`)
  return `${text} { ...${fragmentName(of.name)} }`
}
