import { CreateIdentitySecretDocument, IdentitySecretsDocument } from '../../generated/documents.ts'
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
]
