import {
  type DocumentNode,
  getNamedType,
  getOperationAST,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
} from 'graphql'

import { type AnyField, folding, type Selecting } from '../../graphql/documents/fold.ts'
import { schema } from './schema.ts'

/** These name a reader, and have no id of their own. */
const WITHOUT_ID: ReadonlySet<string> = new Set(['HeldReaction', 'ReceivedReport'])
const WITH_ID: ReadonlySet<string> = new Set(['Comment', 'Reader'])

const isPayload = ({ name }: { name: string }): boolean => name.endsWith('Payload')

/**
 * The fields that lead to readers or their content. What a mutation itself answers is named by the
 * ids in the request, but for the parent of its comment; the author of a comment is named by the
 * comment's id.
 */
const PERSONAL: ReadonlySet<AnyField> = new Set(
  Object.values(schema.getTypeMap())
    .filter(isObjectType)
    .flatMap((of) => Object.values(of.getFields()).filter(({ name }) => name === 'parent' || !isPayload(of)))
    .filter(({ name, type }) => {
      const { name: of } = getNamedType(type)
      return name !== 'author' && (WITH_ID.has(of) || WITHOUT_ID.has(of))
    }),
)

/** What a selection has: the id of its object, or readers or their content without an id. */
type Found = 'id' | 'unnamed' | null

function foundIn(node: Selecting, inside: readonly Found[], field: AnyField | undefined): Found {
  if (inside.includes('unnamed')) return 'unnamed'
  // A field that may be left out names nothing.
  const isSure = node.directives === undefined || node.directives.length === 0
  if (node.kind !== Kind.FIELD) return isSure && inside.includes('id') ? 'id' : null
  if (node.name.value === 'id') return isSure ? 'id' : null
  if (field === undefined || !PERSONAL.has(field)) return null
  return WITHOUT_ID.has(getNamedType(field.type).name) || !inside.includes('id') ? 'unnamed' : null
}

const known = new WeakMap<OperationDefinitionNode, boolean>()

/**
 * Whether the answer to a valid mutation shows readers or their content without an id: beside what
 * it changes, such as the page that it selects.
 */
export function showsUnnamed(document: DocumentNode, operationName: string | null | undefined): boolean {
  const operation = getOperationAST(document, operationName || null)
  if (operation == null) return false
  const before = known.get(operation)
  if (before !== undefined) return before
  const shows = folding<Found>(schema, document, foundIn)(operation) === 'unnamed'
  known.set(operation, shows)
  return shows
}
