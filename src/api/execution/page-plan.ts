import {
  type DocumentNode,
  type FieldNode,
  Kind,
  OperationTypeNode,
  TypeInfo,
  type ValueNode,
  valueFromASTUntyped,
  visit,
  visitWithTypeInfo,
} from 'graphql'

import type { Ctx } from '../../core/context.ts'
import { inLowerCase } from '../../core/ids.ts'
import { sha256 } from '../../core/secrets/crypto.ts'
import { SHOWN_COLUMNS } from '../../domains/comments/fields.ts'
import { PROFILE } from '../../domains/readers/fields.ts'
import { changeOfAll } from '../../graphql/ids-in-any-case.ts'
import { variableTypes } from './input.ts'
import { readDocument } from './read-document.ts'
import { schema } from './schema.ts'

/**
 * A document that asks for one discussion, and for nothing but what its events and the profiles of
 * its authors change: then its answer is valid for one version of the discussion's pages.
 */
export interface PagePlan {
  /** Stands for the document. */
  form: string
  /** Whether it also shows the tenant's reaction types. */
  hasTypes: boolean
  /** Names the discussion. */
  by: ValueNode
  /** The variables that it has. */
  variables: readonly string[]
  /** Variables with ids in lower case, as the answer has them. */
  inLowerCase: (variables: Variables) => Variables
}

type Variables = Readonly<Record<string, unknown>>

/** The discussion of a request. One of both is null. */
export interface PageName {
  id: string | null
  externalId: string | null
}

/**
 * What such a document may select. The title, the address and the external id of a discussion are
 * changed without an event, and `parentId` has another rule for moderators.
 */
const FIELDS: Readonly<Record<string, ReadonlySet<string>>> = {
  Query: new Set(['discussion']),
  Discussion: new Set(['id', 'state', 'commentCount', 'lastEventId', 'createdAt', 'lastCommentedAt', 'comments']),
  CommentConnection: new Set(['edges', 'nodes', 'pageInfo', 'totalCount']),
  CommentEdge: new Set(['cursor', 'node']),
  PageInfo: new Set(['hasNextPage', 'hasPreviousPage', 'startCursor', 'endCursor']),
  Comment: new Set([...SHOWN_COLUMNS, 'author', 'reactionGroups', 'viewerReaction', 'authorMuted', 'replies']),
  ReactionGroup: new Set(['type', 'count', 'viewerHasReacted']),
  Reader: new Set(PROFILE),
}

const plans = new WeakMap<DocumentNode, PagePlan | null>()

/** The plan of a document that asks for a page; null if it asks for anything else, or is wrong. */
export function pagePlanOf(ctx: Ctx, query: string): PagePlan | null {
  const { document, errors } = readDocument(ctx, query)
  if (document === null || errors.length > 0) return null
  const known = plans.get(document)
  if (known !== undefined) return known
  const plan = planOf(document, query)
  plans.set(document, plan)
  return plan
}

function planOf(document: DocumentNode, query: string): PagePlan | null {
  const operations = document.definitions.filter((definition) => definition.kind === Kind.OPERATION_DEFINITION)
  if (operations.length !== 1 || operations[0]?.operation !== OperationTypeNode.QUERY) return null
  const types = new TypeInfo(schema)
  const named: (ValueNode | undefined)[] = []
  let isPage = true
  let hasTypes = false
  const visitor = {
    Field: ({ name: { value: name }, arguments: given = [] }: FieldNode): void => {
      const type = types.getParentType()?.name ?? ''
      if (name === '__typename') return
      if (type === 'Query') named.push(given.find((argument) => argument.name.value === 'by')?.value)
      isPage &&= FIELDS[type]?.has(name) === true && given.every((argument) => argument.name.value !== 'parentId')
      hasTypes ||= name === 'reactionGroups'
    },
  }
  visit(document, visitWithTypeInfo(types, visitor))
  const [by] = named
  if (!isPage || by === undefined || named.length > 1) return null
  const variables = variableTypes(schema, operations[0].variableDefinitions ?? [])
  return {
    form: sha256(query).toString('base64url'),
    hasTypes,
    by,
    variables: [...variables.keys()],
    inLowerCase: changeOfAll(variables) ?? ((given) => given),
  }
}

/** The discussion that a request names; null where it does not do so properly. */
export function pageNameOf({ by }: PagePlan, variables: Variables): PageName | null {
  const given = Object.entries((valueFromASTUntyped(by, variables) ?? {}) as Variables)
  const [name, value] = given[0] ?? []
  if (given.length !== 1 || typeof value !== 'string') return null
  return { id: name === 'id' ? inLowerCase(value) : null, externalId: name === 'externalId' ? value : null }
}
