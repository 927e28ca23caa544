import { isCapability, ROLES, type Role } from '../../core/capabilities.ts'
import { builder } from '../../graphql/builder.ts'
import { addEnum } from '../../graphql/enum.ts'
import { NodeRef } from '../../graphql/node.ts'
import { CapabilityRef } from '../api-keys/graphql-types.ts'
import { stateOf } from './membership.ts'

export const RoleRef = addEnum<Role>('Role', 'What a member may do.', {
  owner: 'All, also to make, change and remove owners.',
  admin: 'All, but to make, change and remove owners.',
  editor: 'To moderate, to change settings, and to read the analytics.',
  moderator: 'To moderate.',
  developer: 'To manage API keys and webhooks, and to read the analytics.',
  analyst: 'To read the analytics.',
})

const StateRef = addEnum('MemberState', 'Whether a member can sign in.', {
  invited: 'They have not accepted the invitation yet.',
  active: 'They can sign in.',
  disabled: 'They cannot sign in.',
})

export const MemberRef = builder.prismaObject('Member', {
  description: 'A person who may sign in to the console.',
  interfaces: [NodeRef],
  fields: (t) => ({
    id: t.exposeID('id', { description: 'The id of the member.' }),
    email: t.exposeString('email', { description: 'The e-mail address of the login, in lower case.' }),
    name: t.exposeString('name', { nullable: true, description: 'The name. Null if none was given.' }),
    role: t.expose('role', { type: RoleRef, description: 'The role.' }),
    capabilities: t.field({
      type: [CapabilityRef],
      description: 'The capabilities of the role.',
      resolve: ({ role }) => (ROLES[role] ?? []).filter(isCapability),
    }),
    twoFactor: t.boolean({
      description: 'Whether they have a second factor.',
      select: {
        account: { select: { secondFactors: { select: { kind: true }, where: { confirmedAt: { not: null } } } } },
      },
      resolve: ({ account }) => (account?.secondFactors.length ?? 0) > 0,
    }),
    state: t.field({ type: StateRef, description: 'Whether they can sign in.', resolve: stateOf }),
    lastSeenAt: t.expose('lastSeenAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When they were last seen, up to a minute late. Null if they never were.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When they were invited.' }),
  }),
})
