import { builder } from '../../graphql/builder.ts'
import { NodeRef } from '../../graphql/node.ts'
import { shapedBy } from '../../graphql/shape.ts'
import { findMe, type SignedInAdmin } from './admins.ts'
import { login, loginSchema } from './login.ts'

const TenantRef = builder.objectRef<SignedInAdmin['tenant']>('Tenant').implement({
  description: 'A publisher: the owner of discussions, keys, webhooks and settings.',
  interfaces: [NodeRef],
  fields: (t) => ({
    id: t.exposeID('id', { description: 'The id of the tenant.' }),
    slug: t.exposeString('slug', { description: 'The short name; the audience (`aud`) of identity assertions.' }),
  }),
})

const AdminRef = builder.objectRef<SignedInAdmin>('Admin').implement({
  description: 'A person who signs in to the console.',
  interfaces: [NodeRef],
  fields: (t) => ({
    id: t.exposeID('id', { description: 'The id of the admin.' }),
    email: t.exposeString('email', { description: 'The e-mail address of the login, in lower case.' }),
    tenant: t.field({
      type: TenantRef,
      description: 'The tenant that the admin works for.',
      resolve: (me) => me.tenant,
    }),
    expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'When the token of this request ends.' }),
  }),
})

builder.queryField('me', (t) =>
  t.field({
    type: AdminRef,
    access: 'admin',
    description: 'Returns the admin of the token.',
    resolve: (_root, _args, ctx) => findMe(ctx),
  }),
)

builder.relayMutationField(
  'login',
  {
    description: 'The login of an admin.',
    extensions: shapedBy(loginSchema),
    inputFields: (t) => ({
      email: t.string({ required: true, description: 'The e-mail address, in any case.' }),
      password: t.string({ required: true, description: 'The password.' }),
    }),
  },
  {
    access: 'public',
    throws: ['invalid_admin_token'],
    description: 'Returns an admin token for an e-mail address and a password.',
    resolve: (_root, { input }, ctx) => login(ctx, input),
  },
  {
    description: 'An admin token.',
    outputFields: (t) => ({
      token: t.exposeString('token', { description: 'The token. Send it as `Authorization: Bearer`.' }),
      expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'When it expires: 12 h from now.' }),
    }),
  },
)
