import type { RouteDefinition } from '../../graphql/route.ts'

/** What more moderators see of a reader, and what more readers see of themselves. */
export const fragments = [
  'fragment ReaderRecordFields on Reader { ...ReaderFields kind ban { ...BanFields } assignedBadges claimedBadges trust createdAt }',
  'fragment ViewerFields on Reader { ...ReaderFields kind ban { ...ViewerBanFields } }',
  'fragment ViewerBanFields on Ban { until }',
]

export const routes: readonly RouteDefinition[] = [
  { route: 'POST /identity-secrets', summary: 'Create an identity secret', field: 'createIdentitySecret', status: 201 },
  { route: 'GET /identity-secrets', summary: 'List identity secrets', field: 'identitySecrets' },
  {
    route: 'DELETE /identity-secrets/:kid',
    summary: 'End an identity secret',
    field: 'revokeIdentitySecret',
    status: 204,
  },
  { route: 'GET /identity-key-set', summary: 'Retrieve the identity key set', field: 'identityKeySet' },
  {
    route: 'GET /readers',
    summary: 'List readers',
    field: 'readers',
    select: 'nodes { ...ReaderRecordFields } pageInfo { ...PageInfoFields }',
  },
  { route: 'GET /readers/me', summary: 'Retrieve the asserted reader', field: 'viewer', select: '...ViewerFields' },
  { route: 'GET /readers/:id', summary: 'Retrieve a reader', field: 'reader', select: '...ReaderRecordFields' },
  {
    route: 'POST /readers/:readerId/ban',
    summary: 'Ban a reader',
    field: 'banReader',
    select: 'reader { ...ReaderRecordFields }',
  },
  {
    route: 'POST /readers/:readerId/unban',
    summary: 'Unban a reader',
    field: 'unbanReader',
    select: 'reader { ...ReaderRecordFields }',
  },
]
