import type { SiteGuests } from '../../generated/prisma/enums.ts'
import { builder } from '../../graphql/builder.ts'
import { addEnum } from '../../graphql/enum.ts'
import { addMutation } from '../../graphql/mutation.ts'
import { NodeRef } from '../../graphql/node.ts'
import { createSite, deleteSite, getSite, listSites, siteChange, siteFields, updateSite } from './sites.ts'

const SiteGuestsEnum = addEnum<SiteGuests>(
  'SiteGuests',
  'Whether people without a sign-in can write on the pages of a site.',
  {
    off: 'Only readers of the issuer of the tenant write.',
    email: 'Also those who confirm an e-mail address. It needs the setting guests.mailUrl and a mail secret.',
  },
)

export const SiteRef = builder.prismaObject('Site', {
  description: 'Pages that show comments without a backend of their own: they ask the service by a public key.',
  interfaces: [NodeRef],
  fields: (t) => ({
    id: t.exposeID('id', { description: 'The id of the site. It is not its public key.' }),
    name: t.exposeString('name', { description: 'What the site is called in the console.' }),
    origins: t.exposeStringList('origins', { description: 'The origins of its pages.' }),
    publicKey: t.exposeString('publicKey', {
      description: 'The key that its pages name: `pk_` and 64 hex characters. It is no secret, and no API key.',
    }),
    posting: t.exposeBoolean('posting', { description: 'Whether readers can write on its pages.' }),
    guests: t.expose('guests', {
      type: SiteGuestsEnum,
      description: 'Whether people without a sign-in can write on its pages.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
  }),
})

const SITE_ID = 'The id of the site.'

const FIELDS = {
  name: 'What the site is called: 1 to 80 characters.',
  origins: 'The origins of its pages, 1 to 20, such as `https://www.example.com`.',
  posting: 'Whether readers can write on its pages.',
  guests: 'Whether people without a sign-in can write on its pages.',
} as const

builder.queryField('site', (t) =>
  t.prismaField({
    type: SiteRef,
    access: 'manage_settings',
    description: 'Returns a site.',
    args: { id: t.arg.id({ required: true, description: SITE_ID }) },
    resolve: (_query, _root, args, ctx) => getSite(ctx, args),
  }),
)

builder.queryField('sites', (t) =>
  t.prismaPage({
    type: SiteRef,
    list: 'sites',
    access: 'manage_settings',
    description: "Returns the tenant's sites, newest first.",
    resolve: (query, ctx) => listSites(ctx, query),
  }),
)

addMutation('createSite', {
  takes: 'The site to create.',
  shape: siteFields,
  input: (t) => ({
    name: t.string({ required: true, description: FIELDS.name }),
    origins: t.stringList({ required: true, description: FIELDS.origins }),
    posting: t.boolean({ description: `${FIELDS.posting} The default is true.` }),
    guests: t.field({ type: SiteGuestsEnum, description: `${FIELDS.guests} The default is off.` }),
  }),
  access: 'manage_settings',
  throws: ['site_budget_exhausted'],
  description: 'Creates a site.',
  resolve: async (input, ctx) => ({ site: await createSite(ctx, input) }),
  answers: 'The new site.',
  output: (t) => ({
    site: t.field({ type: SiteRef, description: 'The site.', resolve: ({ site }) => site }),
  }),
})

addMutation('updateSite', {
  takes: 'The fields of a site to change.',
  shape: siteChange,
  input: (t) => ({
    id: t.id({ required: true, description: SITE_ID }),
    name: t.string({ description: FIELDS.name }),
    origins: t.stringList({ description: FIELDS.origins }),
    posting: t.boolean({ description: FIELDS.posting }),
    guests: t.field({ type: SiteGuestsEnum, description: FIELDS.guests }),
  }),
  access: 'manage_settings',
  description: 'Changes the given fields of a site. Every process knows them within a second.',
  resolve: async (input, ctx) => ({ site: await updateSite(ctx, input) }),
  answers: 'The changed site.',
  output: (t) => ({
    site: t.field({ type: SiteRef, description: 'The site.', resolve: ({ site }) => site }),
  }),
})

addMutation('deleteSite', {
  takes: 'A site to delete.',
  input: (t) => ({ id: t.id({ required: true, description: SITE_ID }) }),
  access: 'manage_settings',
  description: 'Deletes a site: its public key is unknown from then on. Its discussions stay.',
  resolve: async (input, ctx) => ({ site: await deleteSite(ctx, input) }),
  answers: 'The deleted site.',
  output: (t) => ({
    site: t.field({ type: SiteRef, description: 'The site as it was.', resolve: ({ site }) => site }),
    deletedSiteId: t.id({ description: 'The id of the site.', resolve: ({ site }) => site.id }),
  }),
})
