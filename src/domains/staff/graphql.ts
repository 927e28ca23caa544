import { builder } from '../../graphql/builder.ts'
import { addEnum } from '../../graphql/enum.ts'
import { addMutation } from '../../graphql/mutation.ts'
import { SHOWN_ONCE, shownOnce } from '../../graphql/shown-once.ts'
import { MemberRef, RoleRef } from './graphql-types.ts'
import {
  changeSchema,
  deleteMember,
  inviteMember,
  inviteSchema,
  listMembers,
  renewInvitation,
  updateMember,
} from './members.ts'
import type { Invitation } from './membership.ts'

builder.queryField('members', (t) =>
  t.prismaPage({
    type: MemberRef,
    list: 'members',
    access: 'admin',
    description: 'Returns the people who may sign in to the console, newest first.',
    resolve: (query, ctx) => listMembers(ctx, query),
  }),
)

const InvitationRef = builder.objectRef<Invitation>('Invitation').implement({
  description: 'A link with which an invited member signs in for the first time. It works once.',
  fields: (t) => ({
    url: t.string({ ...shownOnce('url'), description: `The link, to send to the member. ${SHOWN_ONCE}` }),
    expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'When it expires: 72 h after it was made.' }),
  }),
})

const StateRef = addEnum('NewMemberState', 'Whether a member can sign in from now on.', {
  active: 'They can.',
  disabled: 'They cannot.',
})

addMutation('inviteMember', {
  takes: 'The person to invite.',
  shape: inviteSchema,
  input: (t) => ({
    email: t.string({ required: true, description: 'The e-mail address, in any case.' }),
    role: t.field({ type: RoleRef, required: true, description: 'The role.' }),
    name: t.string({ description: 'The name, of at most 80 characters. The member can give another one.' }),
  }),
  access: 'admin',
  description: 'Invites a person by a link. The service sends no mail. Only an owner can invite an owner.',
  resolve: (input, ctx) => inviteMember(ctx, input),
  answers: 'The new member.',
  output: (t) => ({
    member: t.field({ type: MemberRef, description: 'The invited member.', resolve: ({ member }) => member }),
    invitation: t.field({ type: InvitationRef, description: 'The link.', resolve: ({ invitation }) => invitation }),
  }),
})

addMutation('renewInvitation', {
  takes: 'An invited member.',
  input: (t) => ({ id: t.id({ required: true, description: 'The id of the member.' }) }),
  access: 'admin',
  throws: ['invalid_transition'],
  description: 'Makes a new link for a member who has not accepted the invitation. The link before ends.',
  resolve: (input, ctx) => renewInvitation(ctx, input),
  answers: 'The new invitation.',
  output: (t) => ({
    member: t.field({ type: MemberRef, description: 'The invited member.', resolve: ({ member }) => member }),
    invitation: t.field({ type: InvitationRef, description: 'The link.', resolve: ({ invitation }) => invitation }),
  }),
})

addMutation('updateMember', {
  takes: 'What to change of a member.',
  shape: changeSchema,
  input: (t) => ({
    id: t.id({ required: true, description: 'The id of the member.' }),
    role: t.field({ type: RoleRef, description: 'The role.' }),
    name: t.string({ description: 'The name, of at most 80 characters; null for none.' }),
    state: t.field({ type: StateRef, description: 'Whether they can sign in.' }),
  }),
  access: 'admin',
  throws: ['last_owner', 'invalid_transition'],
  description:
    'Changes a member. A new role or state ends their sign-ins, and what they have open. Only an owner can make or change an owner.',
  resolve: async (input, ctx) => ({ member: await updateMember(ctx, input as never) }),
  answers: 'The changed member.',
  output: (t) => ({
    member: t.field({ type: MemberRef, description: 'The member.', resolve: ({ member }) => member }),
  }),
})

addMutation('deleteMember', {
  takes: 'A member to remove.',
  input: (t) => ({ id: t.id({ required: true, description: 'The id of the member.' }) }),
  access: 'admin',
  throws: ['last_owner'],
  description: 'Removes a member, and ends their sign-ins. Only an owner can remove an owner.',
  resolve: async (input, ctx) => ({ deletedMemberId: (await deleteMember(ctx, input)).id }),
  answers: 'The removed member.',
  output: (t) => ({
    deletedMemberId: t.exposeID('deletedMemberId', { description: 'The id of the member.' }),
  }),
})
