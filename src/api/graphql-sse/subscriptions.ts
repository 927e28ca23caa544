import { type DocumentNode, type FieldNode, print, TypeInfo, visit, visitWithTypeInfo } from 'graphql'

import { requireCaller } from '../../core/access.ts'
import { perApp } from '../../core/app.ts'
import type { Actor, Caller } from '../../core/caller.ts'
import type { Ctx } from '../../core/context.ts'
import { sha256 } from '../../core/secrets/crypto.ts'
import type { Payload } from '../../live/streams/batch.ts'
import type { SourceStream } from '../../live/source-stream.ts'
import { schema } from '../execution/schema.ts'
import type { SharedOperation } from '../yoga/operations.ts'
import { Subscription } from './subscription.ts'
import { PROFILE } from '../../domains/readers/fields.ts'

/**
 * The argument of a root field that says where a subscriber resumes. It does not change answers.
 */
const POSITION = 'lastEventId'

interface Shared {
  readonly subscription: Subscription
  /** The number of its subscribers. */
  members: number
}

/** The subscriptions of a process, each kept while it has subscribers. */
export class Subscriptions {
  readonly #shared = new Map<string, Shared>()

  /** The number of different subscriptions. */
  get size(): number {
    return this.#shared.size
  }

  /** The number of their subscribers. */
  get subscribers(): number {
    return [...this.#shared.values()].reduce((sum, { members }) => sum + members, 0)
  }

  /** Joins the subscription of an operation, until its source is left. */
  join(ctx: Ctx, operation: SharedOperation, source: SourceStream<Payload>): Subscription {
    const key = sharingKey(requireCaller(ctx), operation)
    const shared = this.#shared.get(key) ?? { subscription: new Subscription(operation, ctx), members: 0 }
    this.#shared.set(key, shared)
    shared.members++
    shared.subscription.ctx = ctx
    const stopPaying = shared.subscription.payers.add(ctx)
    source.onLeave(() => {
      stopPaying()
      if (--shared.members === 0) this.#shared.delete(key)
    })
    return shared.subscription
  }
}

export const subscriptionsOf = perApp(() => new Subscriptions())

/** Everything that answers depend on: the operation, its variables, and the caller's rights. */
function sharingKey(
  { tenant, actor, identity }: Caller,
  { document, operationName, variableValues }: SharedOperation,
): string {
  // Readers who see the same in each event share its execution.
  const viewer = isAlike(document) ? null : (identity?.externalId ?? null)
  const rights = rightsOf(actor, isAlike(document))
  // A missing variable differs from null: it gets the default.
  const given = variablesOf(document).filter((name) => variableValues?.[name] !== undefined)
  const variables = given.map((name) => [name, variableValues?.[name]])
  const text = document.loc?.source.body ?? print(document)
  return digest(JSON.stringify([tenant.id, rights, viewer, operationName, variables, text]))
}

function rightsOf(actor: Actor, isOfAnyReader: boolean): unknown {
  if (actor.kind === 'key') return [...actor.capabilities].sort()
  if (actor.kind === 'admin') return actor.role
  // Its key tells whose events a reader gets; all see the same pages.
  if (actor.kind === 'site') return { siteId: actor.id }
  return { readerId: isOfAnyReader ? null : actor.readerId, discussions: actor.discussions }
}

/**
 * What of an event is the same for every reader: all fields of these types, or those named. The
 * text of a comment is not, because its author reads it before others do.
 */
const ALIKE: Readonly<Record<string, ReadonlySet<string> | 'all'>> = {
  Subscription: new Set(['discussionEvents']),
  DiscussionEvent: 'all',
  EventActor: 'all',
  CommentEventData: 'all',
  ReactionEventData: 'all',
  ReplyNotificationData: 'all',
  DiscussionEventData: 'all',
  EventRecipient: 'all',
  Comment: new Set(['id', 'discussionId', 'parentId', 'depth', 'createdAt']),
  Discussion: new Set(['id', 'externalId', 'title', 'url', 'state', 'createdAt', 'lastEventId']),
  Reader: new Set(PROFILE),
}

const alike = new WeakMap<DocumentNode, boolean>()

/** Whether the answers of a document are the same for every reader. */
function isAlike(document: DocumentNode): boolean {
  const existing = alike.get(document)
  if (existing !== undefined) return existing
  const types = new TypeInfo(schema)
  let isSame = true
  const visitor = {
    Field: ({ name }: FieldNode): void => {
      const fields = ALIKE[types.getParentType()?.name ?? '']
      if (name.value !== '__typename' && fields !== 'all' && fields?.has(name.value) !== true) isSame = false
    },
  }
  visit(document, visitWithTypeInfo(types, visitor))
  alike.set(document, isSame)
  return isSame
}

/** A long text would stay in memory as long as the subscription. */
const digest = (text: string): string => sha256(text).toString('base64')

const known = new WeakMap<DocumentNode, readonly string[]>()

/** The variables of a document that its answers can depend on. */
function variablesOf(document: DocumentNode): readonly string[] {
  const existing = known.get(document)
  if (existing !== undefined) return existing
  const used = new Set<string>()
  const types = new TypeInfo(schema)
  visit(
    document,
    visitWithTypeInfo(types, {
      // A declaration alone is no use of a variable.
      VariableDefinition: () => false,
      Argument: ({ name }) =>
        name.value === POSITION && types.getParentType() === schema.getSubscriptionType() ? false : undefined,
      Variable: ({ name }) => void used.add(name.value),
    }),
  )
  const names = [...used].sort()
  known.set(document, names)
  return names
}
