import { type GraphQLSchema, isEnumType } from 'graphql'

/**
 * What callers get for a stored value that only a newer release knows: the nearest value of this
 * release that grants and promises nothing. Without it, the whole answer would be an error while
 * both releases run side by side.
 */
const NEAREST: Readonly<Record<string, string>> = {
  AuditActorKind: 'system',
  BadgeTone: 'neutral',
  BanComments: 'withhold',
  CommentStatus: 'pending',
  DecisionAction: 'reject',
  DecisionReason: 'other',
  DeliveryStatus: 'pending',
  DetailedRule: 'suspect_word',
  DiscussionState: 'locked',
  DocumentPolicy: 'known',
  EventActorKind: 'system',
  HoldReason: 'pre_moderation',
  NoticeCause: 'comment_waiting',
  NoticeKind: 'webhook',
  NotificationKind: 'reply',
  ReaderTrust: 'normal',
  ReportReason: 'other',
  ReaderKind: 'guest',
  Role: 'analyst',
  SignOnRole: 'analyst',
  SiteGuests: 'off',
  WebhookEndpointState: 'unverified',
  WebhookSchedule: 'short',
}

/**
 * Has the enums of a schema answer the nearest value for an unknown one. Input is checked as
 * before.
 */
export function showNearest(schema: GraphQLSchema): GraphQLSchema {
  for (const [name, nearest] of Object.entries(NEAREST)) {
    const type = schema.getType(name)
    if (!isEnumType(type) || type.getValue(nearest) == null) throw new Error(`${name} is no enum with ${nearest}`)
    const known = new Set<unknown>(type.getValues().map(({ value }) => value as unknown))
    const serialize = type.serialize.bind(type)
    type.serialize = (value) => serialize(known.has(value) ? value : nearest)
  }
  return schema
}
