import { builder, type ObjectFields } from '../../graphql/builder.ts'
import { NodeRef } from '../../graphql/node.ts'
import { shapedBy } from '../../graphql/shape.ts'
import { allShownOnce, SHOWN_ONCE, shownOnce } from '../../graphql/shown-once.ts'
import { acceptInvitation, acceptSchema } from './accept.ts'
import { MemberRef } from './graphql-types.ts'
import { login, loginSchema, switchSchema, switchTenant } from './login.ts'
import { changePassword, findMe, logout, logoutEverywhere, type Me, memberOf, passwordSchema, tenantsOf } from './me.ts'
import { beginTotp, confirmSchema, confirmTotp, removeTotp } from './second-factor.ts'
import { handOver } from './sign-ins.ts'

const TenantRef = builder.objectRef<Me['tenant']>('Tenant').implement({
  description: 'A publisher: the owner of discussions, keys, webhooks and settings.',
  interfaces: [NodeRef],
  fields: (t) => ({
    id: t.exposeID('id', { description: 'The id of the tenant.' }),
    slug: t.exposeString('slug', { description: 'The short name; the audience (`aud`) of identity assertions.' }),
  }),
})

const ChoiceRef = builder.objectRef<{ slug: string; name: string }>('TenantChoice').implement({
  description: 'A tenant where a member can sign in.',
  fields: (t) => ({
    slug: t.exposeString('slug', { description: 'The short name, which login takes as `tenant`.' }),
    name: t.exposeString('name', { description: 'The name to show, which is the short name as yet.' }),
  }),
})

const MeRef = builder.objectRef<Me>('CurrentSignIn').implement({
  description: 'The sign-in of a member.',
  fields: (t) => ({
    member: t.field({ type: MemberRef, description: 'The member.', resolve: (me, _args, ctx) => memberOf(ctx, me) }),
    tenant: t.field({
      type: TenantRef,
      description: 'The tenant that the member works for.',
      resolve: (me) => me.tenant,
    }),
    tenants: t.field({
      type: [ChoiceRef],
      description: 'The tenants where the member can sign in with the same password, this one included.',
      resolve: (me, _args, ctx) => tenantsOf(ctx, me),
    }),
    signedOn: t.boolean({
      description: "Whether the member has signed in at the tenant's identity provider.",
      resolve: ({ accountId }) => accountId === null,
    }),
    expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'When the token of this request ends.' }),
  }),
})

builder.queryField('me', (t) =>
  t.field({
    type: MeRef,
    access: 'member',
    description: 'Returns the sign-in of the token.',
    resolve: (_root, _args, ctx) => findMe(ctx),
  }),
)

const CODE = 'The code that the app of the second factor shows, or a recovery code. Only where the account has one.'

/** The fields of each payload with a token. */
const tokenFields = (t: ObjectFields<{ token: string | null; expiresAt: Date }>) => ({
  token: t.string({
    ...shownOnce('token', { orNull: true }),
    description: `The token. Send it as \`Authorization: Bearer\`. Null for the console, which gets it as a cookie. ${SHOWN_ONCE}`,
  }),
  expiresAt: t.expose('expiresAt', {
    type: 'DateTime',
    description: 'When it expires: after `staff.signInHours` of the tenant settings.',
  }),
})

builder.relayMutationField(
  'login',
  {
    description: 'The login of a member.',
    extensions: shapedBy(loginSchema),
    inputFields: (t) => ({
      email: t.string({ required: true, description: 'The e-mail address, in any case.' }),
      password: t.string({ required: true, description: 'The password.' }),
      code: t.string({ description: CODE }),
      tenant: t.string({ description: 'The slug of the tenant, for a member of several.' }),
    }),
  },
  {
    access: 'public',
    throws: [
      'invalid_admin_token',
      'second_factor_required',
      'invalid_second_factor',
      'tenant_required',
      'sign_on_required',
    ],
    description: 'Returns an admin token for an e-mail address and a password.',
    resolve: async (_root, { input }, ctx) => handOver(ctx, await login(ctx, input)),
  },
  { description: 'An admin token.', outputFields: tokenFields },
)

builder.relayMutationField(
  'acceptInvitation',
  {
    description: 'An invitation, and how the member will sign in.',
    extensions: shapedBy(acceptSchema),
    inputFields: (t) => ({
      token: t.string({ required: true, description: 'The token: what follows `#` in the link.' }),
      name: t.string({
        description:
          'The name, of at most 80 characters. Required where neither the invitation nor an account has one.',
      }),
      password: t.string({
        required: true,
        description: 'A password of at least 8 characters; the present one where the address has an account already.',
      }),
      code: t.string({ description: CODE }),
    }),
  },
  {
    access: 'public',
    throws: ['not_found', 'invalid_admin_token', 'second_factor_required', 'invalid_second_factor', 'sign_on_required'],
    description:
      'Accepts an invitation, and returns an admin token. Nothing changes of an account that there is already.',
    resolve: async (_root, { input }, ctx) => handOver(ctx, await acceptInvitation(ctx, input)),
  },
  { description: 'An admin token.', outputFields: tokenFields },
)

builder.relayMutationField(
  'changePassword',
  {
    description: 'A new password.',
    extensions: shapedBy(passwordSchema),
    inputFields: (t) => ({
      current: t.string({ required: true, description: 'The present password.' }),
      new: t.string({ required: true, description: 'The new password, of at least 8 characters.' }),
    }),
  },
  {
    access: 'member',
    throws: ['password_required', 'second_factor_setup_required'],
    description:
      "Changes the password of the token's member, in every tenant of theirs, and ends all their sign-ins. Returns the token of a new one.",
    resolve: async (_root, { input }, ctx) => handOver(ctx, await changePassword(ctx, input)),
  },
  { description: 'An admin token.', outputFields: tokenFields },
)

builder.relayMutationField(
  'switchTenant',
  {
    description: 'Another tenant of the same member.',
    extensions: shapedBy(switchSchema),
    inputFields: (t) => ({ tenant: t.string({ required: true, description: 'The slug of the tenant.' }) }),
  },
  {
    access: 'member',
    throws: [
      'not_found',
      'invalid_admin_token',
      'password_required',
      'sign_on_required',
      'second_factor_setup_required',
    ],
    description: 'Returns a token of another tenant where the member can sign in. The present token stays valid.',
    resolve: async (_root, { input }, ctx) => handOver(ctx, await switchTenant(ctx, input)),
  },
  { description: 'An admin token.', outputFields: tokenFields },
)

builder.relayMutationField(
  'beginTotp',
  null,
  {
    access: 'member',
    throws: ['invalid_transition', 'password_required'],
    description:
      "Makes the secret of an app that shows codes, as the second factor of the token's member. It counts once it is confirmed.",
    resolve: (_root, _args, ctx) => beginTotp(ctx),
  },
  {
    description: 'The secret for the app.',
    outputFields: (t) => ({
      secret: t.string({ ...shownOnce('secret'), description: `The secret, in Base32. ${SHOWN_ONCE}` }),
      otpauthUrl: t.string({
        ...shownOnce('otpauthUrl'),
        description: `The same as an address, which apps read as a QR code. ${SHOWN_ONCE}`,
      }),
    }),
  },
)

builder.relayMutationField(
  'confirmTotp',
  {
    description: 'The first code of the app.',
    extensions: shapedBy(confirmSchema),
    inputFields: (t) => ({ code: t.string({ required: true, description: 'The code that the app shows.' }) }),
  },
  {
    access: 'member',
    throws: ['invalid_second_factor', 'invalid_transition', 'password_required'],
    description:
      'Confirms the second factor by a first code, and ends all sign-ins of the member. Returns the token of a new one, and ten recovery codes, each of which signs in once without the app.',
    resolve: async (_root, { input }, ctx) => handOver(ctx, await confirmTotp(ctx, input)),
  },
  {
    description: 'The recovery codes, and a new token.',
    outputFields: (t) => ({
      recoveryCodes: t.stringList({
        ...allShownOnce('recoveryCodes'),
        description: `Ten codes, to keep in a safe place. ${SHOWN_ONCE}`,
      }),
      ...tokenFields(t),
    }),
  },
)

for (const [name, end, description] of [
  ['removeTotp', removeTotp, "Removes the second factor of the token's member, and ends all their sign-ins."],
  ['logout', logout, 'Ends the sign-in of the token, and what it has open.'],
  ['logoutEverywhere', logoutEverywhere, "Ends all sign-ins of the token's member, in every tenant of theirs."],
] as const) {
  builder.relayMutationField(
    name,
    null,
    {
      access: 'member',
      throws: name === 'removeTotp' ? ['password_required'] : [],
      description,
      resolve: async (_root, _args, ctx) => {
        const { memberId } = findMe(ctx)
        await end(ctx)
        ctx.setCookie?.(null)
        return { memberId }
      },
    },
    {
      description: 'The member.',
      outputFields: (t) => ({ memberId: t.exposeID('memberId', { description: 'The id of the member.' }) }),
    },
  )
}
