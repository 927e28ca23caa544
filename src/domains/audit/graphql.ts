import { AUDIT_ACTIONS } from '../../core/audit.ts'
import { builder } from '../../schema/builder.ts'
import { shapedBy } from '../../schema/shape.ts'
import { actionSchema, type AuditActor, type AuditEntry, listAuditEntries } from './audit.ts'

const ACTIONS = Object.entries(AUDIT_ACTIONS)
  .map(([kind, verbs]) => verbs.map((verb) => `\`${kind}.${verb}\``).join(', '))
  .join(', ')

const AuditActorKindEnum = builder.enumType('AuditActorKind', {
  description: 'Who writes beside readers.',
  values: {
    key: { description: "The tenant's backend, by an API key." },
    admin: { description: 'A person, by an admin token.' },
    system: { description: 'The service itself.' },
  },
})

const AuditActorRef = builder.objectRef<AuditActor>('AuditActor').implement({
  description: 'Who did something.',
  fields: (t) => ({
    kind: t.expose('kind', { type: AuditActorKindEnum, description: 'What they are.' }),
    id: t.exposeID('id', { nullable: true, description: 'The id of the key or admin; null for the service itself.' }),
    label: t.exposeString('label', { nullable: true, description: 'The label of the key.' }),
    email: t.exposeString('email', { nullable: true, description: 'The e-mail address of the admin.' }),
  }),
})

const AuditEntryRef = builder.objectRef<AuditEntry>('AuditEntry').implement({
  description: 'One write by a key, an admin or the service itself. What is written for a reader is not in here.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'The id of the entry; the list is in its order.' }),
    action: t.exposeString('action', { description: 'What was done: `<target type>.<verb>`, as `api_key.create`.' }),
    actor: t.expose('actor', { type: AuditActorRef, description: 'Who did it.' }),
    targetType: t.exposeString('targetType', { description: 'What kind of thing it was done to.' }),
    targetId: t.exposeString('targetId', { nullable: true, description: 'The id of that thing.' }),
    before: t.expose('before', {
      type: 'JSON',
      nullable: true,
      description: 'The thing before, or what of it was changed, without secrets; null where there was none.',
    }),
    after: t.expose('after', { type: 'JSON', nullable: true, description: 'The same after it.' }),
    at: t.expose('at', { type: 'DateTime', description: 'When it was done.' }),
  }),
})

builder.queryField('auditLog', (t) =>
  t.connection({
    type: AuditEntryRef,
    access: 'manage_settings',
    description: 'What keys and admins of the tenant have done, newest first.',
    args: {
      action: t.arg.string({ description: `Only this action: ${ACTIONS}.`, extensions: shapedBy(actionSchema) }),
      actor: t.arg.string({ description: 'Only by this key or admin, by its id, or by this kind of actor.' }),
      from: t.arg({ type: 'DateTime', description: 'Only from this instant on.' }),
      to: t.arg({ type: 'DateTime', description: 'Only before this instant.' }),
    },
    resolve: (_root, args, ctx) => listAuditEntries(ctx, args),
  }),
)
