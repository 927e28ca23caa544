import {
  BanReaderDocument,
  CreateIdentitySecretDocument,
  IdentitySecretsDocument,
  ReaderDocument,
  ReadersDocument,
  UnbanReaderDocument,
} from '../../generated/documents.ts'
import { type Route, route } from '../../rest/route.ts'

export const routes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/identity-secrets',
    summary: 'Make a new identity secret; the answer alone shows it',
    document: CreateIdentitySecretDocument,
    status: 201,
  }),
  route({
    method: 'GET',
    path: '/identity-secrets',
    summary: 'List identity secrets, newest first',
    document: IdentitySecretsDocument,
    status: 200,
  }),
  route({
    method: 'GET',
    path: '/readers',
    summary: 'Readers, newest first, or those that a search finds, or the one with an external id',
    document: ReadersDocument,
    status: 200,
  }),
  route({ method: 'GET', path: '/readers/:id', summary: 'One reader', document: ReaderDocument, status: 200 }),
  route({
    method: 'POST',
    path: '/readers/:readerId/ban',
    summary: 'Bans a reader, in shadow or in the open',
    document: BanReaderDocument,
    status: 200,
  }),
  route({
    method: 'POST',
    path: '/readers/:readerId/unban',
    summary: "Ends a reader's ban",
    document: UnbanReaderDocument,
    status: 200,
  }),
]
