import {
  BanReaderDocument,
  CreateIdentitySecretDocument,
  IdentityKeySetDocument,
  IdentitySecretsDocument,
  ReaderDocument,
  ReadersDocument,
  RevokeIdentitySecretDocument,
  UnbanReaderDocument,
  ViewerDocument,
} from '../../generated/documents.ts'
import { type Route, route } from '../../schema/route.ts'

export const routes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/identity-secrets',
    summary: 'Create an identity secret',
    document: CreateIdentitySecretDocument,
    status: 201,
  }),
  route({
    method: 'GET',
    path: '/identity-secrets',
    summary: 'List identity secrets',
    document: IdentitySecretsDocument,
    status: 200,
  }),
  route({
    method: 'DELETE',
    path: '/identity-secrets/:kid',
    summary: 'End an identity secret',
    document: RevokeIdentitySecretDocument,
    status: 204,
  }),
  route({
    method: 'GET',
    path: '/identity-key-set',
    summary: 'Retrieve the identity key set',
    document: IdentityKeySetDocument,
    status: 200,
    answer: ({ identityKeySet }) => identityKeySet,
  }),
  route({
    method: 'GET',
    path: '/readers',
    summary: 'List readers',
    document: ReadersDocument,
    status: 200,
  }),
  route({
    method: 'GET',
    path: '/readers/me',
    summary: 'Retrieve the asserted reader',
    document: ViewerDocument,
    status: 200,
  }),
  route({ method: 'GET', path: '/readers/:id', summary: 'Retrieve a reader', document: ReaderDocument, status: 200 }),
  route({
    method: 'POST',
    path: '/readers/:readerId/ban',
    summary: 'Ban a reader',
    document: BanReaderDocument,
    status: 200,
  }),
  route({
    method: 'POST',
    path: '/readers/:readerId/unban',
    summary: 'Unban a reader',
    document: UnbanReaderDocument,
    status: 200,
  }),
]
