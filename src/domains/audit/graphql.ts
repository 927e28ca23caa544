import { AUDIT_ACTIONS } from '../../core/audit.ts'
import { builder } from '../../graphql/builder.ts'
import { addEnum } from '../../graphql/enum.ts'
import { namedInRest } from '../../graphql/in-rest.ts'
import { NodeRef } from '../../graphql/node.ts'
import { shapedBy } from '../../graphql/shape.ts'
import type { AuditEntry } from '../../generated/prisma/client.ts'
import { actionSchema, emailOf, labelOf, listAuditEntries } from './audit.ts'
import type { AuditActorKind } from './sql.ts'

const ACTIONS = Object.entries(AUDIT_ACTIONS)
  .map(([kind, verbs]) =>
    Object.keys(verbs)
      .map((verb) => `\`${kind}.${verb}\``)
      .join(', '),
  )
  .join(', ')

export const AuditActorKindEnum = addEnum('AuditActorKind', 'Who writes, other than readers.', {
  key: "The tenant's backend, by an API key.",
  admin: 'A person, by an admin token.',
  system: 'The service itself.',
})

/** The columns that name who did something. */
type Acted = Pick<AuditEntry, 'actorKind' | 'actorId'>

export const AuditActorRef = builder.objectRef<Acted>('AuditActor').implement({
  description: 'Who did something.',
  fields: (t) => ({
    kind: t.field({
      type: AuditActorKindEnum,
      description: 'The kind of actor.',
      resolve: ({ actorKind }) => actorKind as AuditActorKind,
    }),
    actorId: t.exposeID('actorId', {
      nullable: true,
      description: 'The id of the key or admin; null for the service itself.',
      extensions: namedInRest('id'),
    }),
    label: t.string({
      nullable: true,
      description: 'The label of the key.',
      resolve: (entry, _args, ctx) => labelOf(ctx, entry),
    }),
    email: t.string({
      nullable: true,
      description: 'The e-mail address of the admin.',
      resolve: (entry, _args, ctx) => emailOf(ctx, entry),
    }),
  }),
})

export const AuditEntryRef = builder.prismaObject('AuditEntry', {
  description: 'One write by a key, an admin or the service itself. Writes on behalf of readers are not logged.',
  interfaces: [NodeRef],
  fields: (t) => ({
    id: t.exposeID('id', { description: 'The id of the entry. The list is sorted by it.' }),
    action: t.exposeString('action', {
      description: 'The action as `<target type>.<verb>`, for example `api_key.create`.',
    }),
    actor: t.field({ type: AuditActorRef, description: 'Who did it.', resolve: (entry) => entry }),
    targetType: t.exposeString('targetType', { description: 'The type of the target.' }),
    targetId: t.exposeString('targetId', { nullable: true, description: 'The id of the target.' }),
    before: t.expose('before', {
      type: 'JSON',
      nullable: true,
      description:
        'The state before the action, or the changed part of it, without secrets. Null where nothing was there before.',
    }),
    after: t.expose('after', { type: 'JSON', nullable: true, description: 'The state after the action.' }),
    at: t.expose('at', { type: 'DateTime', description: 'When it was done.' }),
    importId: t.exposeID('importId', {
      nullable: true,
      description:
        'The import that has brought the entry from a file, which may say anything, or that has itself done it. Null for all others.',
    }),
  }),
})

builder.queryField('auditLog', (t) =>
  t.connection({
    type: AuditEntryRef,
    access: 'manage_settings',
    description:
      "Returns the actions of the tenant's keys and admins, newest first. The last seconds may be missing where the service reads a replica.",
    args: {
      action: t.arg.string({
        description: `Only entries with this action: ${ACTIONS}.`,
        extensions: shapedBy(actionSchema),
      }),
      actor: t.arg.string({ description: 'Only entries of this actor: the id of a key or admin, or a kind of actor.' }),
      from: t.arg({ type: 'DateTime', description: 'Only entries from this instant on.' }),
      to: t.arg({ type: 'DateTime', description: 'Only entries before this instant.' }),
    },
    resolve: (_root, args, ctx) => listAuditEntries(ctx, args),
  }),
)
